"""The data source ``hudiformat`` reads and writes tables on PySpark 4."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat.naming import WriteToken
from hudiformat.options.values import IndexType
from hudiformat.timeline import read_metadata
from tests.effort import LONG
from tests.rows import assert_same_rows
from tests.tables import unpack

pytest.importorskip("pyspark.sql.datasource")

import hudiformat.spark as hudi_spark
from hudiformat.spark.source.source import HudiDataSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("ts", pa.timestamp("us", tz="UTC")),
        pa.field("p", pa.int32()),
        pa.field("info", pa.struct([pa.field("n", pa.int64()), pa.field("on", pa.date32())])),
        pa.field("counts", pa.map_(pa.string(), pa.float64())),
    ]
)


@pytest.fixture(params=["BUCKET", *(["SIMPLE"] if LONG else [])])
def table(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> hf.Table:
    hudi_spark.register(spark)
    return hf.create_table(
        tmp_path / "table",
        name="things",
        schema=SCHEMA,
        record_key=["id"],
        ordering=["ts"],
        partition_by=["p"],
        options={"hoodie.index.type": request.param, "hoodie.bucket.index.num.buckets": "2"},
    )


def things(spark: SparkSession, count: int, *, seconds: int = 0) -> DataFrame:
    return spark.range(0, count, 1, 2).selectExpr(
        "concat('k', id) as id",
        f"timestamp_seconds({seconds}) as ts",
        "cast(id % 2 as int) as p",
        "named_struct('n', id, 'on', date'2024-02-29') as info",
        "map('one', 1.5D) as counts",
    )


def write(rows: DataFrame, table: hf.Table, **options: str) -> None:
    rows.write.format("hudiformat").mode("append").options(**options).save(table.path)


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
    "deleting partitions": ({"operation": "delete_partition"}, "append", "expected one of insert, upsert, bulk_insert"),
    "an unknown operation": ({"operation": "upsret"}, "append", "expected one of insert, upsert, bulk_insert, delete"),
    "an unknown option": ({"hoodie.logfile.max.sise": "1"}, "append", "did you mean 'hoodie.logfile.max.size'"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_done_is_refused_by_name(spark: SparkSession, table: hf.Table, what: str) -> None:
    options, mode, message = REFUSED[what]
    with pytest.raises(Exception, match=message):
        things(spark, 3).write.format("hudiformat").mode(mode).options(**options).save(table.path)
    assert table.timeline.instants == ()


def test_an_unknown_query_is_refused(spark: SparkSession, table: hf.Table) -> None:
    with pytest.raises(Exception, match="expected one of snapshot, read_optimized, incremental, cdc"):
        spark.read.format("hudiformat").option("hoodie.datasource.query.type", "everything").load(table.path).count()


def test_a_read_without_a_path_is_refused(spark: SparkSession, table: hf.Table) -> None:
    with pytest.raises(Exception, match="no path"):
        spark.read.format("hudiformat").load()


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
    with pytest.raises(Exception, match="needs hoodie.datasource.read.begin.instanttime"):
        reader.load(table.path).count()


@pytest.mark.parametrize("sort", ["NONE", "GLOBAL_SORT"])
def test_a_bulk_insert_makes_file_groups_of_its_own(spark: SparkSession, table: hf.Table, sort: str) -> None:
    key = {"hoodie.bulkinsert.sort.mode": sort, "operation": "bulk_insert"}
    write(things(spark, 20), table, **key)
    write(things(spark, 20), table, **key)
    has_buckets = table.context.options.index_type is IndexType.BUCKET
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


def test_a_write_compacts_when_it_is_due(spark: SparkSession, table: hf.Table) -> None:
    inline = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "2"}
    for seconds in range(2):
        write(things(spark, 10, seconds=seconds), table, **inline)
    assert [done.action.value for done in table.timeline.completed] == ["deltacommit", "deltacommit", "commit"]
    assert not any(item.log_files for item in table.file_slices())
    assert table.read_optimized().num_rows == 10


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


def test_partitions_of_the_writer_are_refused(spark: SparkSession, table: hf.Table) -> None:
    with pytest.raises(Exception, match=r"(?i)partition"):
        things(spark, 3).write.format("hudiformat").mode("append").partitionBy("p").save(table.path)


def test_keys_may_be_written_in_capitals(spark: SparkSession, table: hf.Table) -> None:
    write(things(spark, 3), table, **{"Hoodie.Datasource.Write.Operation": "insert"})
    assert operation_of(table) == "INSERT"


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
    assert not [name for name in data if "0-0-0" in name and table.context.options.index_type is IndexType.BUCKET]
    assert not list((Path(table.path) / ".hoodie" / ".temp").glob("*"))


def test_a_task_that_did_not_end_stops_the_commit(spark: SparkSession, table: hf.Table) -> None:
    writer = HudiDataSource({"path": table.path}).writer(things(spark, 1).schema, False)
    message = writer.write(iter(things(spark, 4).toArrow().to_batches()))
    with pytest.raises(hf.DataError, match="1 of 2 tasks wrote nothing"):
        writer.commit([message, None])
    writer.abort([message, None])
    assert table.timeline.instants == ()
    assert not list(Path(table.path).rglob("*.log.*"))


@pytest.mark.parametrize(("method", "module"), [("streamReader", "stream_reader"), ("streamWriter", "stream_writer")])
def test_streams_need_a_newer_pyspark(spark: SparkSession, table: hf.Table, method: str, module: str) -> None:
    source, schema = HudiDataSource({"path": table.path}), things(spark, 1).schema
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, f"hudiformat.spark.{module}", None)
        with pytest.raises(hf.UnsupportedFeatureError, match=r"a stream needs PySpark 4\.[12]; this is 4"):
            getattr(source, method)(schema, *([False] if method == "streamWriter" else []))


def operation_of(table: hf.Table) -> str | None:
    return read_metadata(table.context.storage, table.config, table.timeline.completed[-1]).operation_type
