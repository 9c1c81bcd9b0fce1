"""Spark's part of the benchmarks, at a size at which figures mean nothing."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks import sections, spark_job, spark_tables
from benchmarks.java import DEFAULT, Setting
from benchmarks.results import Results
from benchmarks.spark_tables import HUDI_ON_SPARK
from benchmarks.suite import Run
from tests.conformance.hudi import NoHudiError
from tests.effort import only_long

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.unmeasured


def small_run(folder: Path, *settings: Setting) -> Run:
    return Run(Results({}), folder, scale=0.0002, rounds=1, settings=settings)


def took(seconds: float, megabytes: float) -> spark_tables.Found:
    works = ("parquet", *sections.SPARK_MEASURES)
    return {work: {"seconds": seconds, "cpu_seconds": 2 * seconds, "peak_mb": megabytes} for work in works}


@only_long
def test_a_table_is_written_and_read(spark: SparkSession, tmp_path: Path) -> None:
    import hudiformat.spark as hudi_spark

    hudi_spark.register(spark)
    spark_tables.prepare(tmp_path, 200)
    job = spark_job.Job(spark, "hudiformat", tmp_path)
    for before, action in job.works().values():
        before()
        action()
    found = spark_job.measure(job.works(), 1, "read")
    assert list(found) == ["read"]
    assert found["read"]["seconds"] > 0


def test_speeds_and_memory_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_tables, "by_hudi", lambda *_: took(6, 900))
    monkeypatch.setattr(spark_tables, "by_hudiformat", lambda *_: took(2, 500))
    run = small_run(tmp_path, DEFAULT)
    sections.spark(run)
    assert {item.ratio for item in run.results.comparisons if item.peer == HUDI_ON_SPARK} == {3}
    assert {item.measure: item.target for item in run.results.comparisons if item.target} == {
        "insert": 4,
        "upsert": 10,
        "read": 5,
    }
    assert [item.ratio for item in run.results.comparisons if item.peer == "Parquet (Spark)"] == [1]
    assert {(item.value, item.target) for item in run.results.limits} == {(500, 900)}


def test_without_hudi_the_reason_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> None:
        raise NoHudiError("there is no Java 17 or 21")

    monkeypatch.setattr(spark_tables, "RealHudi", nowhere)
    run = small_run(tmp_path, DEFAULT)
    sections.spark(run)
    assert run.results.missing == {"Hudi on Spark": "there is no Java 17 or 21"}


def test_without_pyspark_the_reason_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sections, "find_spec", lambda _: None)
    run = small_run(tmp_path, DEFAULT)
    sections.spark(run)
    assert run.results.missing == {"hudiformat on Spark": "there is no PySpark"}


def test_without_java_nothing_is_run(tmp_path: Path) -> None:
    run = small_run(tmp_path)
    sections.spark(run)
    assert run.results.comparisons == []


def test_what_a_job_prints_last_is_what_it_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "job.py"
    script.write_text("import sys\nprint('a warning')\nprint('{\"read\": {\"seconds\": ' + sys.argv[3] + '}}')\n")
    monkeypatch.setattr(spark_job, "__file__", str(script))
    monkeypatch.setattr(spark_tables, "build_package", lambda: tmp_path)  # which takes a minute
    assert spark_tables.by_hudiformat(tmp_path, 4) == {"read": {"seconds": 4}}


def test_the_peak_counts_this_process_and_those_below_it() -> None:
    with spark_job.Peak() as peak:
        held = bytearray(b"x") * 60_000_000
        deadline = time.monotonic() + 20
        while peak.mb < 60 and time.monotonic() < deadline:
            time.sleep(0.01)
    assert len(held) == 60_000_000
    assert peak.mb >= 60
