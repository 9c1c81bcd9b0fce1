"""TPC-H at a size at which figures mean nothing: equal answers are what counts."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

pytest.importorskip("datafusion", reason="the extra bench is not installed")

from benchmarks import tpch
from tests.effort import LONG

pytestmark = pytest.mark.unmeasured


def test_there_are_22_queries() -> None:
    found = tpch.queries()
    assert list(found) == list(range(1, 23))
    assert all(text.startswith(("SELECT", "WITH")) and ";" not in text for text in found.values())


@pytest.mark.slow
def test_all_tables_give_the_answers_of_plain_parquet(tmp_path: Path) -> None:
    if not (Path(sys.executable).with_name("tpchgen-cli").exists() or shutil.which("tpchgen-cli")):
        pytest.skip("tpchgen-cli is not installed: it is in the extra bench")
    saved = tmp_path / "found.json"
    scale = "0.01" if LONG else "0.001"
    assert tpch.main(["--scale", scale, "--rounds", "1", "--place", str(tmp_path), "--json", str(saved)]) == 0
    found = json.loads(saved.read_text())
    assert {(one["engine"], one["form"]) for one in found} == {
        (engine, form) for engine, forms in tpch.FORMS.items() for form in forms
    }
    assert len(found) == 22 * 8
    assert list(tmp_path.iterdir()) == [saved]
