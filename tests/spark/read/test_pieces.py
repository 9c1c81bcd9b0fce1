"""Queries of the data source, cut into pieces that tasks read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import hudiformat as hf
from tests.effort import only_long
from tests.rows import assert_same_rows
from tests.spark.source.support import things, write
from tests.tables import unpack

pytest.importorskip("pyspark.sql.datasource")

import hudiformat.spark as hudi_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.unmeasured


@only_long
def test_an_earlier_commit_and_base_files_alone_can_be_read(spark: SparkSession, table: hf.Table) -> None:
    write(things(spark, 10), table)
    first = table.timeline.completed[0].time
    write(things(spark, 12, seconds=1), table)
    reader = spark.read.format("hudiformat")
    assert reader.option("as.of.instant", first).load(table.path).count() == 10
    base_files = (
        spark.read.format("hudiformat").option("hoodie.datasource.query.type", "read_optimized").load(table.path)
    )
    assert base_files.count() == table.read_optimized().num_rows


@only_long
def test_what_was_written_since_is_read(spark: SparkSession, table: hf.Table) -> None:
    for seconds in range(3):
        write(things(spark, 2 + seconds, seconds=seconds), table)
    times = [str(done.completion_time) for done in table.timeline.by_completion_time]
    reader = spark.read.format("hudiformat").option("hoodie.datasource.query.type", "incremental")
    reader = reader.option("hoodie.datasource.read.begin.instanttime", times[0])
    found = reader.load(table.path)
    assert_same_rows(found.toArrow(), table.incremental(times[0]), key=("id",))
    assert found.count() == 4
    until = reader.option("hoodie.datasource.read.end.instanttime", times[1]).load(table.path)
    assert_same_rows(until.toArrow(), table.incremental(times[0], times[1]), key=("id",))
    assert until.count() == 3


def test_changes_are_read(spark: SparkSession, tmp_path: Path) -> None:
    hudi_spark.register(spark)
    golden = hf.open_table(unpack("v9-mor-cdc-h120", tmp_path).table)
    reader = spark.read.format("hudiformat").option("hoodie.datasource.query.type", "cdc")
    found = reader.option("hoodie.datasource.read.begin.instanttime", "000").load(golden.path)
    assert found.columns == ["op", "ts_ms", "before", "after"]
    assert sorted(found.toArrow().to_pylist(), key=str) == sorted(golden.cdc("000").to_pylist(), key=str)


def test_changes_of_a_table_that_keeps_none_are_refused(spark: SparkSession, table: hf.Table) -> None:
    reader = spark.read.format("hudiformat").option("hoodie.datasource.query.type", "cdc")
    with pytest.raises(Exception, match="without hoodie.table.cdc.enabled"):
        reader.option("hoodie.datasource.read.begin.instanttime", "000").load(table.path).count()


def test_an_incremental_query_has_to_begin_somewhere(spark: SparkSession, table: hf.Table) -> None:
    reader = spark.read.format("hudiformat").option("hoodie.datasource.query.type", "incremental")
    with pytest.raises(Exception, match="read.begin.instanttime: expected the begin of the span"):
        reader.load(table.path).count()


def test_a_schema_that_the_rows_do_not_fit_is_refused_by_name(spark: SparkSession, table: hf.Table) -> None:
    write(things(spark, 6), table)
    reader = spark.read.format("hudiformat")
    assert reader.schema("id string, p long").load(table.path).count() == 6
    with pytest.raises(Exception, match="DataError: the schema that was given does not fit .* id of string: .*'k"):
        reader.schema("id int, p int").load(table.path).collect()


@only_long
def test_queries_of_one_frame_do_not_filter_one_another_whatever_spark_hands_down(
    spark: SparkSession, table: hf.Table
) -> None:
    write(things(spark, 6), table)
    for flag in ("false", "true"):
        spark.conf.set("spark.sql.python.filterPushdown.enabled", flag)
        loaded = spark.read.format("hudiformat").load(table.path)
        first, last = loaded.where("id = 'k3'"), loaded.where("info.n > 4 and p = 1")
        assert sorted(row["id"] for row in first.union(last).collect()) == ["k3", "k5"]
        assert loaded.count() == 6
    spark.conf.unset("spark.sql.python.filterPushdown.enabled")
