"""Small upserts, the cost of indexes and the point query, at sizes at which figures mean nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.parquet as pq
import pytest

import hudiformat as hf
from benchmarks import indexes, sections, spark_job, spark_tables
from benchmarks.java import DEFAULT
from benchmarks.results import Results
from benchmarks.spark_tables import HUDI_ON_SPARK
from benchmarks.suite import Run
from tests.conformance.hudi import NoHudiError
from tests.effort import only_long

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured]
COUNT = 2 * indexes.UPSERTED


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("indexes")
    indexes.prepare(folder, COUNT, 1)
    return folder


def test_rows_follow_from_their_numbers() -> None:
    rows = indexes.rows_of(np.arange(1000), 1)
    assert len(set(rows["id"].to_pylist())) == 1000
    assert rows.equals(indexes.rows_of(np.arange(1000), 1))
    assert rows["id"].equals(indexes.rows_of(np.arange(1000), 2)["id"])


@pytest.mark.parametrize("index", indexes.INDEXES)
def test_batches_are_rows_that_the_table_has(prepared: Path, threads: None, index: str) -> None:
    assert pq.read_table(prepared / "batch-1.parquet").num_rows == indexes.UPSERTED
    found = indexes.main("upserts", str(prepared), index, "1")
    assert found["seconds"] > 0
    assert hf.open_table(prepared / "table").snapshot(columns=["id"]).num_rows == COUNT


def test_the_cost_is_that_of_three_writes(tmp_path: Path, threads: None) -> None:
    assert list(indexes.main("cost", str(tmp_path), str(COUNT), "1")) == [
        "bulk insert of 2,000", "upsert of 200", "upsert of 1,000",
    ]  # fmt: skip


@only_long
def test_spark_upserts_the_batches(spark: SparkSession, prepared: Path) -> None:
    works = spark_job.small(spark, "hudiformat", prepared)
    assert tuple(works) == indexes.INDEXES
    for before, action in works.values():
        before()
        action()
    for index in works:
        table = hf.open_table(prepared / f"hudiformat-{index}")
        assert table.snapshot(columns=["large"])["large"].to_pylist().count(2) == indexes.UPSERTED


@only_long
def test_all_of_it_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def took(seconds: float) -> dict[str, dict[str, float]]:
        return {name: {"seconds": seconds, "cpu_seconds": 1, "peak_mb": 10} for name in indexes.INDEXES}

    monkeypatch.setattr(spark_tables, "by_hudi", lambda *_: took(6))
    monkeypatch.setattr(spark_tables, "by_hudiformat", lambda *_: took(2))
    monkeypatch.setattr(indexes, "apart", lambda what, *_: {"an upsert": 9.0} if what == "cost" else took(1)["SIMPLE"])
    run = Run(Results({}), tmp_path, scale=0.0002, rounds=1, settings=(DEFAULT,))
    sections.SECTIONS["indexes"](run)
    assert sorted(item.ratio for item in run.results.comparisons if item.target == 3) == [3, 3, 3, 6, 6, 6]
    assert sum(item.measure.endswith(", work") for item in run.results.comparisons) == 6
    assert all(item.peer == HUDI_ON_SPARK for item in run.results.comparisons)
    limits = {(item.measure, item.value, item.target) for item in run.results.limits}
    assert ("an upsert, more with Hudi's default indexes", 9, 25) in limits
    assert ("files opened by a query by key, of 200", 1, 1) in limits


@only_long
def test_without_hudi_there_are_times_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(*_: object) -> None:
        raise NoHudiError("there is no Java 17 or 21")

    monkeypatch.setattr(spark_tables, "RealHudi", nowhere)
    monkeypatch.setattr(spark_tables, "by_hudiformat", lambda *_: {})
    monkeypatch.setattr(indexes, "apart", lambda what, *_: {} if what == "cost" else {"seconds": 1.0})
    run = Run(Results({}), tmp_path, scale=0.0002, rounds=1, settings=(DEFAULT,))
    sections.SECTIONS["indexes"](run)
    assert run.results.comparisons == []
    assert run.results.missing == {"Hudi on Spark": "there is no Java 17 or 21"}
    assert "1,000 into 2,000, BLOOM, one process" in {item.measure for item in run.results.limits}


@only_long
def test_what_a_process_prints_last_is_what_it_found(prepared: Path) -> None:
    assert json.dumps(indexes.apart("upserts", prepared, "SIMPLE", 1)).startswith('{"seconds"')
