"""Commits of a table that gets older, at sizes at which figures mean nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

import hudiformat as hf
from benchmarks import commits, report, sections
from benchmarks.results import Results
from benchmarks.suite import Run

pytestmark = pytest.mark.unmeasured

TINY = commits.Workload(10, 40, 3, {}, begins_full=True, most_ms=1)
WRITERS = [commits.OURS, commits.MERGE, commits.APPEND]


@pytest.mark.parametrize("writer", WRITERS)
def test_every_commit_is_timed(tmp_path: Path, writer: str) -> None:
    found = commits.series(writer, TINY, tmp_path / "t", 3)
    assert len(found["ms"]) == 3
    assert found["peak_mb"][0] > 0


def test_all_rows_are_in_the_table(tmp_path: Path) -> None:
    write = commits._ours(TINY, tmp_path / "t")
    for number in range(3):
        write(TINY.batch(number))
    assert hf.open_table(tmp_path / "t").count() == 40
    write = commits._delta(tmp_path / "d", merges=True)
    for number in range(3):
        write(TINY.batch(number))
    assert len(pytest.importorskip("deltalake").DeltaTable(tmp_path / "d").to_pyarrow_table()) == 40


def test_medians_and_growth() -> None:
    assert commits.medians([1.0, 2.0, 9.0]) == [1, 2, 9]
    assert commits.medians([float(number // 10) for number in range(100)]) == list(range(10))
    assert commits.growth([float(number) for number in range(1000)]) == 1
    assert commits.growth([5.0]) == 0


def test_ratios_limits_and_the_series_are_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    took = dict(zip(WRITERS, (10.0, 40.0, 5.0), strict=True))
    asked: list[int] = []

    def apart(writer: str, _name: str, _folder: Path, count: int) -> dict[str, list[float]]:
        asked.append(count)
        return {"ms": [took[writer]] * count, "peak_mb": [100.0]}

    monkeypatch.setattr(commits, "apart", apart)
    run = Run(Results({}), tmp_path, scale=0.01)
    sections.SECTIONS["commits"](run)
    assert [one.ratio for one in run.results.comparisons] == [4, 0.5] * 3
    assert [one.value for one in run.results.limits] == [10, 0] * 3
    assert asked == [10] * 3 + [2] * 6
    assert run.results.as_json()["series"]["100 rows, hudiformat"] == [10] * 10
    assert "| 100 rows, hudiformat" in report.tables(run.results)


def test_without_deltalake_there_are_our_own_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sections, "find_spec", lambda _name: None)
    monkeypatch.setattr(commits, "apart", lambda *_: {"ms": [1.0, 2.0], "peak_mb": [1.0]})
    run = Run(Results({}), tmp_path, scale=0.01)
    sections.SECTIONS["commits"](run)
    assert not run.results.comparisons
    assert run.results.missing == {"deltalake": "it is not installed"}
