"""The pages of performance and scale are those of the accepted results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks import pages, scale
from benchmarks.java import BEST
from tests.effort import only_long

pytestmark = pytest.mark.unmeasured


def comparison(case: str, measure: str, ratio: float) -> dict[str, Any]:
    return {"case": case, "measure": measure, "peer": BEST.name, "ratio": ratio}


def run(
    *comparisons: dict[str, Any], series: Mapping[str, list[float]] | None = None, machine: str = "a fast one"
) -> dict[str, Any]:
    return {
        "conditions": {"Machine": machine, "Took": "1 s"},
        "comparisons": list(comparisons),
        "limits": [],
        "series": series or {},
    }


def test_the_pages_are_those_of_the_accepted_results() -> None:
    results, sizes, tables = (json.loads(path.read_text()) for path in (pages.ACCEPTED, pages.SIZES, pages.TABLES))
    assert pages.PAGE.read_text() == pages.page(results, sizes["sizes"], tables, pages.Published.accepted())
    assert scale.PAGE.read_text() == scale.page(scale.Shape(), scale.Constants.of(sizes["sizes"]))


def test_a_later_run_replaces_the_cases_that_it_has(tmp_path: Path) -> None:
    runs = [
        run(comparison("mixed", "encode", 1), comparison("wide", "encode", 2), series={"old": [1.004]}),
        run(comparison("mixed", "encode", 3), machine="another"),
    ]
    paths = [tmp_path / f"{number}.json" for number in range(2)]
    for path, one in zip(paths, runs, strict=True):
        path.write_text(json.dumps(one))
    merged = pages.accepted({}, paths)
    assert pages.ratio(merged, "mixed", "encode") == 3
    assert pages.ratio(merged, "wide", "encode") == 2
    assert pages.ratio(merged, "wide", "decode") is None
    assert merged["series"] == {"old": [1.0]}
    assert pages.conditions(merged) == ["- `mixed`: machine: another", "- `wide`: machine: a fast one"]


def test_accepted_results_are_not_those_of_a_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(pages.ROOT)
    with pytest.raises(SystemExit):
        pages.main(["benchmarks/results.json"])
    assert "results.json has the accepted results themselves" in capsys.readouterr().err


def test_each_accepted_case_has_the_conditions_of_one_run() -> None:
    conditions = json.loads(pages.ACCEPTED.read_text())["conditions"]
    assert {type(value) for of_case in conditions.values() for value in of_case.values()} == {str}


def test_tables_are_compared_with_the_other_contenders() -> None:
    row = {"shape": "rows", "step": "all", "seconds": 2.0, "ratio": 0.5, "peak_mb": 10.0, "peer_peak_mb": None}
    written = {"step": "insert", "others": {"pyiceberg": 4.0}}
    memory = [
        {**row, "kind": "COPY_ON_WRITE", "others": {"pyiceberg": 3.0, "hudi-rs": 1.0}},
        {**row, "kind": "MERGE_ON_READ", "others": {"pyiceberg": 3.0, "hudi-rs": 1.0}},
        {**row, "kind": "COPY_ON_WRITE", **written},
    ]
    lines = pages.tables({"memory": memory, "disk": []})
    assert "| than pyiceberg | than hudi-rs |" in lines[0]
    assert lines[2:] == [
        "| rows | all | 0.50 / 0.50 | 1.50 / 1.50 | 0.50 / 0.50 |  | 10 / 10 |  |",
        "| rows | insert | 0.50 | 2.00 |  |  | 10 |  |",
    ]


@only_long
@pytest.mark.slow
def test_a_run_is_accepted_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    places = {"ACCEPTED": "results.json", "PAGE": "performance.md", "IMAGES": ".", "LAKE": "none", "TPCH": "tpch"}
    places |= {"LHBENCH": "lhbench"}
    for name, path in places.items():
        monkeypatch.setattr(pages, name, tmp_path / path)
    given = tmp_path / "run.json"
    given.write_text(
        json.dumps(run(comparison("mixed", "encode, jit", 2.5), series={"100 rows, hudiformat": [3.0, 4.0]}))
    )
    queries = tmp_path / "queries.json"
    query = {"query": 1, "engine": "duckdb", "form": "COPY_ON_WRITE", "ratio": 0.9, "cpu_ratio": 0.81234}
    queries.write_text(json.dumps([query, {**query, "query": 2, "cpu_ratio": 1.0}]))
    steps = tmp_path / "steps.json"
    step = {"shape": "files", "step": "plan", "kind": "COPY_ON_WRITE", "seconds": 0.5, "peer_seconds": 1.0, "ratio": 2}
    step |= {"peak_mb": 10.0, "peer_peak_mb": None, "others": {"pyiceberg": 2.0}}
    steps.write_text(json.dumps([step, {**step, "kind": "MERGE_ON_READ", "seconds": 0.25, "ratio": 4}]))
    assert pages.main(["--lhbench", str(steps), "--conditions", "A slow one"]) == 0
    assert pages.main([str(given), "--tpch", str(queries), "--conditions", "A fast one"]) == 0
    assert pages.main([]) == 0
    text = (tmp_path / "performance.md").read_text()
    assert "| mixed |  | 2.50 x |" in text
    assert "| 100 rows, hudiformat, 2 commits | 3.0 | 3.5 | 4.0 |" in text
    assert "| shape | step | copy-on-write, s | merge-on-read, s | deltalake, s | pyiceberg, s |" in text
    assert "| files | plan | 0.500 | 0.250 | 1.000 | 2.000 | 10 / 10 | 0 |" in text
    assert "before and after; and 10,000 files of one row each. A slow one." in text
    assert "| DuckDB | copy-on-write | 0.90 | 0.81 (Q1) | 1.00 (Q2) | 0.90 |" in text
    drawn = {path.name for path in tmp_path.glob("*.svg")}
    assert drawn == {"shapes.svg", "commits.svg", "growth.svg", "tpch.svg", "lhbench.svg"}


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.002, "2 ms"), (3, "3 s"), (600, "10 min"), (90_000, "25 h")],
)
def test_times_have_a_unit_that_fits(number: float, text: str) -> None:
    assert scale._time(number) == text


@pytest.mark.parametrize(("number", "text"), [(12, "12 bytes"), (3e9, "3 GB"), (5.2e12, "5.2 TB")])
def test_sizes_have_a_unit_that_fits(number: float, text: str) -> None:
    assert scale._size(number) == text
