"""Changes of a table's schema with real Hudi: its answers are still those that are kept, and it reads our tables.

A long run asks about every change on every kind of table: an hour.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conformance.hudi import RealHudi
from tests.conformance.schema_oracle import Asking
from tests.effort import LONG
from tests.schema_answers import compact, key_of, known_answers, our_answer, our_table
from tests.schema_changes import CHANGES, VARIANTS

ASKED = {
    "i: int32 to int64",
    "a new field of a struct",
    "a missing column",
    "nulls for missing columns: a missing column",
}
NEWEST = VARIANTS[2::3]


@pytest.fixture(scope="module")
def asking(hudi: RealHudi, tmp_path_factory: pytest.TempPathFactory) -> Asking:
    return Asking(hudi, tmp_path_factory.mktemp("changes"))


@pytest.mark.parametrize(("kind", "version"), VARIANTS if LONG else NEWEST[:1])
def test_hudi_answers_as_it_did(asking: Asking, kind: str, version: int) -> None:
    known, key = known_answers(), key_of(kind, version)
    for change in CHANGES:
        if LONG or change.name in ASKED:
            [found] = compact({change.name: {key: asking.answer(change, kind, version)}})[change.name]
            assert {**found, "kinds": None} == known[change.name][key], change.name


@pytest.mark.parametrize(("kind", "version"), VARIANTS if LONG else NEWEST)
def test_hudi_reads_what_we_have_changed(asking: Asking, tmp_path: Path, kind: str, version: int) -> None:
    our_table(tmp_path / "before", kind, version)
    for change in CHANGES:
        if not (LONG or change.short):
            continue
        path = tmp_path / "changed"
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(tmp_path / "before", path)
        ours = our_answer(path, change)
        if ours.refused is None:
            theirs = asking.read(path, change, ours.columns or [])
            assert theirs == ours, change.name
