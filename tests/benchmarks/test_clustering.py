"""Clustering of many small files, and box queries, at sizes at which figures mean nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import box_queries, clustering, sections, spark_job, spark_tables
from benchmarks.java import DEFAULT
from benchmarks.results import Results
from benchmarks.suite import Run
from tests.conformance.hudi import NoHudiError
from tests.effort import LONG, only_long

pytestmark = pytest.mark.unmeasured

COUNT = 2_000


@only_long
@pytest.mark.parametrize("layout", ["Hilbert", *(["as they come"] if LONG else [])])
@pytest.mark.slow
def test_small_files_become_one_in_each_partition(tmp_path: Path, layout: str) -> None:
    clustering.prepare(tmp_path, COUNT)
    found = clustering.cluster(tmp_path, layout, 1)
    assert sorted(found) == ["cpu_seconds", "peak_mb", "seconds"]


def test_ratios_and_memory_are_compared_with_hudi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def took(seconds: float, megabytes: float) -> spark_tables.Found:
        return {name: {"seconds": seconds, "cpu_seconds": 1, "peak_mb": megabytes} for name in spark_job.LAYOUTS}

    monkeypatch.setattr(clustering, "prepare", lambda *_: None)
    monkeypatch.setattr(clustering, "apart", lambda *_: took(2, 10)["linear"])
    monkeypatch.setattr(spark_tables, "by_hudi", lambda *_: took(8, 100))
    run = Run(Results({}), tmp_path, scale=0.002, rounds=1, settings=(DEFAULT,))
    sections.SECTIONS["clustering"](run)
    assert [one.ratio for one in run.results.comparisons] == [4] * 4
    assert {(one.value, one.target) for one in run.results.limits} == {(10, 50)}


def test_without_hudi_there_are_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise NoHudiError("none here")

    monkeypatch.setattr(clustering, "prepare", lambda *_: None)
    monkeypatch.setattr(clustering, "apart", lambda *_: {"seconds": 2.0, "peak_mb": 1.0})
    monkeypatch.setattr(spark_tables, "by_hudi", missing)
    run = Run(Results({}), tmp_path, scale=0.002, rounds=1, settings=(DEFAULT,))
    sections.SECTIONS["clustering"](run)
    assert [one.value for one in run.results.limits] == [2.0] * 4
    assert run.results.missing == {"Hudi on Spark": "none here"}


@only_long
def test_a_curve_reads_less_than_the_order_of_days(tmp_path: Path) -> None:
    found = box_queries.measure(tmp_path, box_queries.flights().slice(0, 20_000), None)
    assert list(found) == ["as they come", *(f"{curve}, hudiformat" for curve in box_queries.CURVES)]
    assert all(size > 0 for _, size in found.values())
