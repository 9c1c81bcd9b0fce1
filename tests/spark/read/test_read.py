"""What is picked when a table is read: moments, columns, rows, queries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import hudiformat as hf
from tests.rows import assert_same_rows
from tests.spark.read.test_native import as_spark_has, readers
from tests.tables import SCHEMA, new_table, rows, unpack

pytest.importorskip("pyspark.sql")

from pyspark.errors import PySparkException

import hudiformat.spark as hudi_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def filled(spark: SparkSession, tmp_path: Path) -> hf.Table:
    """Three partitions with a base file each, of which one has a log file too."""
    table = new_table(tmp_path / "t", options={"hoodie.index.type": "SIMPLE"})
    table.bulk_insert(rows(*((f"k{number}", 1, "abc"[number % 3], number) for number in range(30))))
    table.upsert(rows(("k0", 2, "a", 100)))
    return table


def files(frame: DataFrame) -> int:
    """How many files Spark's own reader has been given."""
    return len(frame.inputFiles())


def test_slices_with_log_files_are_merged_and_the_others_are_spark_s(spark: SparkSession, filled: hf.Table) -> None:
    found = hudi_spark.read(spark, filled.path)
    assert readers(found) == {"Spark", "Python"}
    assert files(found) == 2
    assert_same_rows(found.toArrow(), as_spark_has(filled.snapshot()))
    assert found.columns == filled.snapshot().column_names
    assert found.count() == 30
    filled.compact()
    assert readers(hudi_spark.read(spark, filled.path)) == {"Spark"}


@pytest.mark.parametrize(
    ("condition", "count", "files_of_spark"),
    [
        ("p = 'b'", 10, 1),
        ("p = 'a'", 10, 0),
        ("v = 100", 1, 0),
        ("V = 1", 1, 1),
        ("k in ('k1', 'k2')", 2, 2),
        ("p = 'b' and abs(v) > 20", 3, 1),
        ("p = 'z'", 0, 0),
        ("upper(p) = 'C'", 10, 2),
    ],
)
def test_a_filter_prunes_files_and_finds_spark_s_rows(
    spark: SparkSession, filled: hf.Table, condition: str, count: int, files_of_spark: int
) -> None:
    found = hudi_spark.read(spark, filled.path, filter=condition)
    assert files(found) == files_of_spark
    everything = hudi_spark.read(spark, filled.path).where(condition)
    assert found.count() == count == everything.count()
    picked = hudi_spark.read(spark, filled.path, columns=["ts"], filter=condition)
    assert picked.columns == ["ts"]
    assert picked.count() == count


def test_queries_of_the_same_table_do_not_mix(spark: SparkSession, filled: hf.Table) -> None:
    first = hudi_spark.read(spark, filled.path, filter="p = 'a'")
    second = hudi_spark.read(spark, filled.path, filter="p = 'b' or v = 100")
    assert first.union(second).count() == 21
    assert first.join(second, "k").count() == 1


def test_columns_come_in_their_order(spark: SparkSession, filled: hf.Table) -> None:
    found = hudi_spark.read(spark, filled.path, columns=["v", "_hoodie_record_key", "k"])
    assert_same_rows(found.toArrow(), as_spark_has(filled.snapshot(columns=["v", "_hoodie_record_key", "k"])))
    assert found.columns == ["v", "_hoodie_record_key", "k"]
    with pytest.raises(hf.SchemaError, match="no column 'nope'"):
        hudi_spark.read(spark, filled.path, columns=["nope"])


@pytest.mark.parametrize(
    ("condition", "count"), [(None, 30), ("p = 'a'", 10), ("v = 100", 1), ("p = 'z'", 0), ("upper(p) = 'C'", 10)]
)
def test_no_columns_are_enough_to_count_rows(
    spark: SparkSession, filled: hf.Table, condition: str | None, count: int
) -> None:
    found = hudi_spark.read(spark, filled.path, columns=[], filter=condition)
    assert found.columns == []
    assert found.count() == count
    options = {"hudiformat.columns": "v", "hudiformat.spark.native": "false"}
    assert hudi_spark.read(spark, filled.path, columns=[], filter=condition, options=options).count() == count


@pytest.mark.parametrize("query", ["snapshot", "incremental", "cdc"])
def test_rows_of_each_query_are_counted_without_columns(spark: SparkSession, tmp_path: Path, query: str) -> None:
    golden = hf.open_table(unpack("v9-mor-cdc-h120", tmp_path).table)
    begin = {} if query == "snapshot" else {"hoodie.datasource.read.begin.instanttime": "000"}
    every = hudi_spark.read(spark, golden.path, query=query, options=begin).count()
    assert hudi_spark.read(spark, golden.path, query=query, columns=[], options=begin).count() == every > 0


def test_a_moment_before(spark: SparkSession, filled: hf.Table) -> None:
    first = filled.timeline.completed[0].time
    found = hudi_spark.read(spark, filled.path, as_of=first)
    assert readers(found) == {"Spark"}
    assert_same_rows(found.toArrow(), as_spark_has(filled.snapshot(first)))


def test_incremental_queries_and_changes(spark: SparkSession, tmp_path: Path) -> None:
    golden = hf.open_table(unpack("v9-mor-cdc-h120", tmp_path).table)
    begin = {"hoodie.datasource.read.begin.instanttime": "000"}
    written = hudi_spark.read(spark, golden.path, query="incremental", options=begin)
    assert_same_rows(written.toArrow(), as_spark_has(golden.incremental("000")))
    changes = hudi_spark.read(spark, golden.path, query="cdc", columns=["op"], filter="ts_ms > '0'", options=begin)
    assert sorted(row[0] for row in changes.collect()) == sorted(golden.cdc("000")["op"].to_pylist())
    with pytest.raises(hf.OptionError, match="read.begin.instanttime: expected the begin of the span"):
        hudi_spark.read(spark, golden.path, query="incremental")


def test_options_may_say_what_arguments_say(spark: SparkSession, filled: hf.Table) -> None:
    first = filled.timeline.completed[0].time
    begin = {
        "hoodie.datasource.query.type": "incremental",
        "hoodie.datasource.read.begin.instanttime": str(filled.timeline.completed[0].completion_time),
    }
    assert [row["v"] for row in hudi_spark.read(spark, filled.path, options=begin).collect()] == [100]
    assert hudi_spark.read(spark, filled.path, query="snapshot", options=begin).count() == 30
    some = {"hudiformat.filter": "abs(v) >= 29", "hudiformat.columns": "v", "as.of.instant": first}
    assert [row["v"] for row in hudi_spark.read(spark, filled.path, options=some).collect()] == [29]
    assert [row["v"] for row in hudi_spark.read(spark, filled.path, filter="v = 0", options=some).collect()] == [0]


def test_an_empty_table(spark: SparkSession, tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    assert hudi_spark.read(spark, table.path).count() == 0
    assert hudi_spark.read(spark, table.path, filter="v > 1", columns=["k"]).columns == ["k"]


def test_times_in_filters_are_in_the_session_s_zone(spark: SparkSession, tmp_path: Path) -> None:
    import pyarrow as pa

    schema = pa.schema([("k", pa.string()), ("ts", pa.timestamp("us", "UTC")), ("p", pa.string())])
    table = new_table(tmp_path / "t", schema=schema, table_type="COPY_ON_WRITE")
    from datetime import datetime, timezone

    table.insert(rows(("1", datetime(2024, 1, 1, 12, tzinfo=timezone.utc), "a"), schema=schema))
    for zone in ("America/New_York", "Asia/Tokyo", "GMT+3"):
        spark.conf.set("spark.sql.session.timeZone", zone)
        for condition in ("ts > '2024-01-01 08:00:00'", "ts <= timestamp'2024-01-01 14:00:00'"):
            expected = hudi_spark.read(spark, table.path).where(condition).count()
            assert hudi_spark.read(spark, table.path, filter=condition).count() == expected, (zone, condition)
    spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_the_data_source_takes_the_same_as_options(spark: SparkSession, filled: hf.Table) -> None:
    hudi_spark.register(spark)
    source = spark.read.format("hudiformat")
    picked = source.option("hudiformat.columns", "v, k").option("hudiformat.filter", "p = 'b' and v > 20")
    found = picked.load(filled.path)
    assert found.columns == ["v", "k"]
    assert found.rdd.getNumPartitions() == 1
    assert sorted(row["v"] for row in found.collect()) == [22, 25, 28]
    with pytest.raises(Exception, match="ABS"):
        source.option("hudiformat.filter", "abs(v) = 1").load(filled.path).count()
    with pytest.raises(Exception, match="no column 'nope'"):
        source.option("hudiformat.columns", "nope").load(filled.path).count()


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_a_required_partition_column_that_is_null(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    schema = SCHEMA.set(2, pa.field("p", pa.string(), nullable=False))
    table = new_table(tmp_path / "t", schema=schema, table_type=kind, options={"hoodie.index.type": "SIMPLE"})
    table.insert(rows(("a", 1, "", 1), ("b", 1, "x", 1), schema=schema))
    with pytest.raises(PySparkException, match=r"column p is required, and its partition path gives null in 1 rows"):
        hudi_spark.read(spark, table.path).collect()
    table.evolve(nullable="p")
    found = hudi_spark.read(spark, table.path)
    assert sorted((row.k, row.p) for row in found.collect()) == [("a", None), ("b", "x")]
    assert [row.k for row in found.where("p is null").collect()] == ["a"]
