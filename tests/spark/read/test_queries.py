"""The queries of a table by their names, and conditions in the three forms that ``Table`` takes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
import pytest

import hudiformat as hf
from tests.tables import new_table, rows

pytest.importorskip("pyspark.sql")

import hudiformat.spark as hudi_spark
from hudiformat.spark.read import read

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CONDITIONS: list[Any] = [
    "p = 'x' and v > 1",
    [("p", "=", "x"), ("v", ">", 1)],
    (pc.field("p") == "x") & (pc.field("v") > 1),
]
each_form = pytest.mark.parametrize("condition", CONDITIONS, ids=["text", "tuples", "expression"])


@pytest.fixture
def table(tmp_path: Path) -> hf.Table:
    table = new_table(tmp_path / "t", options={"hoodie.table.cdc.enabled": "true"})
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "x", 2), ("c", 1, "y", 3)))
    table.upsert(rows(("a", 2, "x", 4)))
    return table


def shown(found: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in found.collect())


@each_form
def test_rows_are_read_by_a_condition_in_each_form(spark: SparkSession, table: hf.Table, condition: Any) -> None:
    found = hudi_spark.snapshot(spark, table.path, columns=["k", "v"], filter=condition)
    assert shown(found) == [("a", 4), ("b", 2)]
    assert hudi_spark.count(spark, table.path, condition) == 2
    assert shown(hudi_spark.head(spark, table.path, 1, columns="k", filter=condition)) in ([("a",)], [("b",)])


@each_form
def test_queries_of_a_span_take_a_condition_in_each_form(spark: SparkSession, table: hf.Table, condition: Any) -> None:
    first = table.timeline.completed_writes[0].completion_time
    assert first is not None
    assert shown(hudi_spark.incremental(spark, table.path, first, columns="k", filter=condition)) == [("a",)]
    assert shown(hudi_spark.incremental(spark, table.path, "0", first, columns="v", filter=condition)) == [(2,)]


def test_changes_and_older_rows(spark: SparkSession, table: hf.Table) -> None:
    first, second = table.timeline.completed_writes
    assert shown(hudi_spark.cdc(spark, table.path, "0", columns="op", filter=[("op", "=", "u")])) == [("u",)]
    assert hudi_spark.cdc(spark, table.path, second.completion_time or "").count() == 0
    assert shown(hudi_spark.snapshot(spark, table.path, first, columns=["v"])) == [(1,), (2,), (3,)]
    assert shown(hudi_spark.read_optimized(spark, table.path, columns=["v"])) == [(1,), (2,), (3,)]


def test_rows_are_counted_by_footers_where_no_log_files_are(
    spark: SparkSession, table: hf.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.delete(rows(("b", 3, "x", 2)))
    first = table.timeline.completed_writes[0].completion_time or ""
    by_tasks: list[int] = []
    in_python = read._in_python

    def noting(spark: SparkSession, found: Any, *more: Any) -> DataFrame:
        by_tasks.append(len(found))
        return in_python(spark, found, *more)

    monkeypatch.setattr(read, "_in_python", noting)
    assert hudi_spark.count(spark, table.path) == 2
    assert by_tasks == [1]  # that of partition x; y has no log files
    by_tasks.clear()
    assert hudi_spark.count(spark, table.path, options={"as.of.instant": first}) == 3
    assert by_tasks == []


@pytest.mark.parametrize(
    "options",
    [
        {"hudiformat.spark.native": "false"},
        {"hoodie.datasource.query.type": "read_optimized"},
        {"hudiformat.filter": "v = 3"},
    ],
    ids=lambda one: next(iter(one)),
)
def test_rows_are_counted_as_a_data_frame_where_footers_do_not_tell(
    spark: SparkSession, table: hf.Table, options: dict[str, str]
) -> None:
    assert read.count_by_footers(spark, str(table.path), options) is None
    expected = read.read(spark, table.path, options=options).count()
    assert hudi_spark.count(spark, table.path, options=options) == expected


def test_the_history_and_the_statistics_are_data_frames(spark: SparkSession, table: hf.Table) -> None:
    assert [row.inserted for row in hudi_spark.history(spark, table.path).collect()] == [0, 3]
    assert [row.asDict() for row in hudi_spark.stats(spark, table.path).collect()] == table.stats().to_pylist()


def test_a_number_of_rows_below_zero_is_refused(spark: SparkSession, table: hf.Table) -> None:
    with pytest.raises(hf.OptionError, match="n: expected 0 or more rows, found -1"):
        hudi_spark.head(spark, table.path, -1)


def test_a_condition_that_does_not_fit_is_refused_before_a_job(spark: SparkSession, table: hf.Table) -> None:
    with pytest.raises(hf.SchemaError, match="nowhere"):
        hudi_spark.snapshot(spark, table.path, filter=[("nowhere", "=", 1)])
    with pytest.raises(hf.FilterError, match="expected an expression of pyarrow, text such as"):
        hudi_spark.count(spark, table.path, [])
