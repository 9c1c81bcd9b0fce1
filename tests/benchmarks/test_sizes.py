"""Large sizes, at sizes at which figures mean nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import sizes
from benchmarks.results import Sized
from benchmarks.size_cases import SIZE_CASES, SizeCase
from tests.effort import only_long

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured]

SMALL = {
    "log file": 1,
    "blocks in a file": 1_000,
    "record": 1,
    "columns": 5,
    "keys of 1 MB": 1,
    "log files in a slice": 3,
    "files in partitions of 100": 300,
    "archived instants": 20,
    "partitions of a commit": 3,
    "files of a commit": 10,
}


@pytest.mark.parametrize("case", SIZE_CASES, ids=lambda case: case.name)
def test_every_work_is_done_at_a_small_size(tmp_path: Path, threads: None, case: SizeCase) -> None:
    size = SMALL[case.name]
    assert sizes.run_work(case, "build", tmp_path, size) is None
    for work in case.works:
        found = sizes.run_work(case, work, tmp_path, size)
        assert found is not None
        assert found.seconds > 0


@only_long
def test_each_size_has_its_figures_and_the_largest_its_bounds(tmp_path: Path) -> None:
    case = replace(SIZE_CASES[2], sizes=(1, 2), works={"encode and decode": (("peak_mb", "MB", 1000),)})
    found = sizes.measured(case, tmp_path)
    assert [(one.size, one.unit) for one in found] == [(1, "MB"), (2, "MB")]
    assert list(tmp_path.iterdir()) == []
    assert sizes.limits(case, found)[0].measure == "record, 2 MB, encode and decode: peak_mb"


def test_growth_is_told_of_works_that_take_their_time() -> None:
    case = SIZE_CASES[0]

    def at(size: int, seconds: float) -> list[Sized]:
        return [Sized(case.name, work, size, "GB", seconds, seconds, 1, None, 1) for work in case.works]

    found = sizes.limits(case, [*at(10, 1), *at(100, 12)])
    assert [round(one.value, 6) for one in found] == [20, 20]
    assert sizes.limits(case, [*at(10, 0.001), *at(100, 0.012)]) == []


@only_long
def test_the_command_prints_a_table_and_saves_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved, tables = tmp_path / "out.json", tmp_path / "out.md"
    words = ["--case", "record", "--up-to", "1", "--json", str(saved), "--markdown", str(tables)]
    assert sizes.main(words) == 0
    assert "| encode and decode | 1 MB" in capsys.readouterr().out
    assert json.loads(saved.read_text())["sizes"][0]["size"] == 1
    assert "1 MB" in tables.read_text()


@only_long
def test_a_work_that_fails_says_so(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="record, no such work, 1"):
        sizes._apart("no such work", "record", tmp_path, 1)
