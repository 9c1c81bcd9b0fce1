"""The data source ``hudiformat`` reads and writes tables on PySpark 4."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import hudiformat as hf
from hudiformat.naming.file_names import WriteToken
from hudiformat.table.options.values import IndexType
from tests.rows import assert_same_rows
from tests.spark.source.support import SCHEMA, things, write

pytest.importorskip("pyspark.sql.datasource")

import hudiformat.spark as hudi_spark
from hudiformat.spark.source.source import HudiDataSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_what_is_written_is_read_back(spark: SparkSession, table: hf.Table) -> None:
    write(things(spark, 20), table)
    found = spark.read.format("hudiformat").load(table.path)
    assert found.columns == ["_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key",
                             "_hoodie_partition_path", "_hoodie_file_name", *SCHEMA.names]  # fmt: skip
    assert not found.schema["id"].nullable
    assert_same_rows(found.select(*SCHEMA.names).toArrow(), things(spark, 20).toArrow(), key=("id",))
    assert_same_rows(found.toArrow(), table.snapshot(), key=("id",))


def test_a_write_is_one_commit_of_the_operation_that_was_asked_for(spark: SparkSession, table: hf.Table) -> None:
    write(things(spark, 10, seconds=5), table, operation="insert")
    write(things(spark, 10, seconds=3), table, operation="upsert")
    write(things(spark, 4).select("id", "p"), table, operation="delete")
    assert len(table.timeline.completed) == 3
    rows = spark.read.format("hudiformat").load(table.path).selectExpr("id", "unix_seconds(ts) as ts").collect()
    assert {row["id"]: row["ts"] for row in rows} == {f"k{i}": 5 for i in range(4, 10)}


def test_overwriting_puts_rows_in_place_of_others_in_one_commit(spark: SparkSession, table: hf.Table) -> None:
    write(things(spark, 10), table)
    one_partition = things(spark, 4, seconds=7).where("p = 0")
    rows = one_partition.write.format("hudiformat").mode("overwrite")
    rows.option("operation", "insert_overwrite").save(table.path)
    expected = {f"k{i}": 0 for i in range(1, 10, 2)} | {"k0": 7, "k2": 7}
    found = table.snapshot(columns=["id", "ts"]).to_pylist()
    assert {row["id"]: int(row["ts"].timestamp()) for row in found} == expected
    one_partition.write.format("hudiformat").mode("overwrite").save(table.path)
    assert sorted(table.snapshot(columns=["id"])["id"].to_pylist()) == ["k0", "k2"]
    assert [done.action.value for done in table.timeline.completed] == ["deltacommit", *["replacecommit"] * 2]


def test_a_schema_that_names_some_columns_reads_those(spark: SparkSession, table: hf.Table) -> None:
    write(things(spark, 3), table)
    found = spark.read.format("hudiformat").schema("p int, id string").load(table.path)
    assert sorted(map(tuple, found.collect())) == [(0, "k0"), (0, "k2"), (1, "k1")]


def test_no_rows_are_a_commit_too(spark: SparkSession, table: hf.Table) -> None:
    write(things(spark, 3).where("false"), table)
    assert len(table.timeline.completed) == 1
    assert spark.read.format("hudiformat").load(table.path).count() == 0


def test_a_key_that_is_null_stops_the_write_and_leaves_nothing(spark: SparkSession, table: hf.Table) -> None:
    write(things(spark, 3), table)
    before = sorted(path for path in Path(table.path).rglob("*") if path.is_file())
    bad = things(spark, 9).selectExpr("nullif(id, 'k7') as id", "ts", "p", "info", "counts")
    with pytest.raises(Exception, match="id"):
        write(bad.coalesce(1), table)  # of several tasks one could go on in Python when Spark has given it up
    assert sorted(path for path in Path(table.path).rglob("*") if path.is_file()) == before


REFUSED = {
    "overwriting by an upsert": ({"operation": "upsert"}, "overwrite", "mode overwrite: expected .* found upsert"),
    "columns alone": ({"operation": "alter_schema"}, "append", "expected one of insert, upsert, bulk_insert"),
    "an unknown operation": ({"operation": "upsret"}, "append", "expected one of insert, upsert, bulk_insert, delete"),
    "an unknown option": ({"hoodie.logfile.max.sise": "1"}, "append", "did you mean 'hoodie.logfile.max.size'"),
}


@pytest.mark.all_sets
@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_done_is_refused_by_name(spark: SparkSession, table: hf.Table, what: str) -> None:
    options, mode, message = REFUSED[what]
    with pytest.raises(Exception, match=message):
        things(spark, 3).write.format("hudiformat").mode(mode).options(**options).save(table.path)
    assert table.timeline.instants == ()


@pytest.mark.parametrize("sort", ["NONE", "GLOBAL_SORT"])
def test_a_bulk_insert_makes_file_groups_of_its_own(spark: SparkSession, table: hf.Table, sort: str) -> None:
    key = {"hoodie.bulkinsert.sort.mode": sort, "operation": "bulk_insert"}
    write(things(spark, 20), table, **key)
    write(things(spark, 20), table, **key)
    has_buckets = table._context.options.index_type is IndexType.BUCKET
    assert table.snapshot().num_rows == (20 if has_buckets else 40)
    slices = table.file_slices()
    tasks = 2 if sort == "NONE" else 1  # a sorted one is written by the commit
    assert len(slices) == (2 * 2 if has_buckets else 2 * 2 * tasks)


def test_a_copy_on_write_table_is_appended_to(spark: SparkSession, tmp_path: Path) -> None:
    hudi_spark.register(spark)
    table = hf.create_table(
        tmp_path / "cow",
        name="things",
        schema=SCHEMA,
        record_key=["id"],
        ordering=["ts"],
        partition_by=["p"],
        table_type="COPY_ON_WRITE",
    )
    write(things(spark, 10), table)
    write(things(spark, 15, seconds=2), table)
    assert {item.base_file is not None and not item.log_files for item in table.file_slices()} == {True}
    assert len(table.file_slices()) == 2  # the new rows went to the small files
    found = spark.read.format("hudiformat").load(table.path)
    assert {(row["id"], row["ts"].timestamp()) for row in found.collect()} == {(f"k{i}", 2.0) for i in range(15)}


def test_a_write_beside_other_writers_leaves_no_heartbeat_and_no_lock(spark: SparkSession, table: hf.Table) -> None:
    shared = {"hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL"}
    write(things(spark, 10), table, operation="bulk_insert", **shared)
    write(things(spark, 15, seconds=2), table, **shared)
    assert table.snapshot().num_rows == 15
    folder = Path(table.path) / ".hoodie"
    assert not list((folder / ".heartbeat").iterdir())
    assert not (folder / "lock").exists()


def test_a_write_compacts_when_it_is_due(spark: SparkSession, table: hf.Table) -> None:
    inline = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "2"}
    for seconds in range(2):
        write(things(spark, 10, seconds=seconds), table, **inline)
    assert [done.action.value for done in table.timeline.completed] == ["deltacommit", "deltacommit", "commit"]
    assert not any(item.log_files for item in table.file_slices())
    assert table.read_optimized().num_rows == 10


def test_partitions_of_the_writer_are_refused(spark: SparkSession, table: hf.Table) -> None:
    with pytest.raises(Exception, match=r"(?i)partition"):
        things(spark, 3).write.format("hudiformat").mode("append").partitionBy("p").save(table.path)


def test_files_of_attempts_that_failed_are_taken_away(spark: SparkSession, table: hf.Table) -> None:
    """The commit keeps the files of the attempt whose message came; what others have written goes."""
    writer = HudiDataSource({"path": table.path}).writer(things(spark, 1).schema, False)
    rows = things(spark, 4).toArrow().to_batches()
    writer.write(iter(rows))  # an attempt that is lost before it has told anybody
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hudiformat.spark.source.source.write_token", lambda: WriteToken(0, 0, 1))
        message = writer.write(iter(rows))
    writer.commit([message])
    assert table.snapshot().num_rows == 4
    data = [path.name for path in Path(table.path).rglob("*k*") if ".log." in path.name or path.suffix == ".parquet"]
    assert not [name for name in data if "0-0-0" in name and table._context.options.index_type is IndexType.BUCKET]
    assert not list((Path(table.path) / ".hoodie" / ".temp").glob("*"))


def test_a_task_that_did_not_end_stops_the_commit(spark: SparkSession, table: hf.Table) -> None:
    writer = HudiDataSource({"path": table.path}).writer(things(spark, 1).schema, False)
    message = writer.write(iter(things(spark, 4).toArrow().to_batches()))
    with pytest.raises(hf.DataError, match="1 of 2 tasks wrote nothing"):
        writer.commit([message, None])
    writer.abort([message, None])
    assert table.timeline.instants == ()
    assert not list(Path(table.path).rglob("*.log.*"))


@pytest.mark.all_sets
@pytest.mark.parametrize(("method", "module"), [("streamReader", "stream_reader"), ("streamWriter", "stream_writer")])
def test_streams_need_a_newer_pyspark(spark: SparkSession, table: hf.Table, method: str, module: str) -> None:
    source, schema = HudiDataSource({"path": table.path}), things(spark, 1).schema
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, f"hudiformat.spark.source.{module}", None)
        with pytest.raises(
            hf.UnsupportedFeatureError, match=r"expected PySpark 4\.[12] or later for .* a stream, found 4"
        ):
            getattr(source, method)(schema, *([False] if method == "streamWriter" else []))
