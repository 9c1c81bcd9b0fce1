"""Changes of a table's schema: what hudiformat does with each is what Hudi 1.2.0 does, as ``schema_answers.json`` says.

Where Hudi fails on its own bugs, as some do on copy-on-write tables, hudiformat may do better.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.effort import LONG, sample
from tests.schema_answers import compact, key_of, known_answers, our_answer, our_table
from tests.schema_changes import CHANGES, VARIANTS, Change
from tools.schema_page import BETTER, PAGE, REFUSED, with_table

pytestmark = pytest.mark.unmeasured

ANSWERS = known_answers()


def agree(path: Path, change: Change, key: str) -> None:
    expected = {name: found for name, found in ANSWERS[change.name][key].items() if name != "kinds"}
    [found] = compact({change.name: {key: our_answer(path, change)}})[change.name]
    del found["kinds"]
    if change.name in REFUSED:
        assert "refused" in found
    elif problem := expected.get("refused") or expected.get("unreadable"):
        assert ("refused" in found) is (change.name not in BETTER), (problem, found)
    else:
        assert found == expected


@pytest.mark.slow
@pytest.mark.parametrize("change", sample(CHANGES, of=16), ids=lambda change: change.name)
def test_a_change_of_a_new_table_comes_out_as_with_hudi(tmp_path: Path, change: Change) -> None:
    variants = VARIANTS if LONG or change.short else VARIANTS[2::3]  # of each type the newest version
    for kind, version in variants:
        if key_of(kind, version) in ANSWERS[change.name]:
            path = tmp_path / f"{kind}-{version}"
            our_table(path, kind, version)
            agree(path, change, key_of(kind, version))


@pytest.mark.slow
def test_what_is_refused_leaves_every_file_as_it_was(tmp_path: Path) -> None:
    our_table(tmp_path / "table", "MERGE_ON_READ", 9)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    refused = [one for one in CHANGES if "refused" in ANSWERS[one.name]["MOR 9"]]
    assert len(refused) > len(CHANGES) // 5
    for change in refused:
        assert our_answer(tmp_path / "table", change).refused, change.name
        assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before, change.name


def test_the_page_has_the_table_of_all_changes() -> None:
    """``python -m tools.schema_page`` writes it."""
    assert with_table(PAGE.read_text()) == PAGE.read_text()
