"""The data source ``hudiformat`` reads and writes tables on PySpark 4."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import hudiformat as hf
from tests.rows import assert_same_rows

pytest.importorskip("pyspark.sql.datasource")

import hudiformat.spark as hudi_spark

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


@pytest.fixture(params=["BUCKET", "SIMPLE"])
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
    with pytest.raises(Exception, match="id"):
        write(things(spark, 9).selectExpr("nullif(id, 'k7') as id", "ts", "p", "info", "counts"), table)
    assert sorted(path for path in Path(table.path).rglob("*") if path.is_file()) == before


REFUSED = {
    "overwriting": ({}, "overwrite", "mode overwrite"),
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
