"""Data frames are written by functions: one commit each, or nothing at all."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import hudiformat as hf

pytestmark = pytest.mark.unmeasured

pyspark_sql = pytest.importorskip("pyspark.sql")

import hudiformat.spark as hudi_spark
from hudiformat.schema.evolution import PARTIAL_SCHEMA
from tests.rows import assert_same_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string()),
        pa.field("ts", pa.int64()),
        pa.field("p", pa.string()),
        pa.field("at", pa.timestamp("us", tz="UTC")),
        pa.field("tags", pa.list_(pa.string())),
        pa.field("price", pa.decimal128(12, 2)),
    ]
)
MOMENT = {"type": "long", "logicalType": "timestamp-micros"}
BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "3"}


@pytest.fixture(params=["BUCKET", "SIMPLE"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> hf.Table:
    return hf.create_table(
        tmp_path / "table",
        name="things",
        schema=SCHEMA,
        record_key=["id"],
        ordering=["ts"],
        partition_by=["p"],
        options=BUCKETS if request.param == "BUCKET" else {},
    )


def things(spark: SparkSession, count: int, *, ts: int = 1, start: int = 0) -> DataFrame:
    return spark.range(start, start + count, 1, 3).selectExpr(
        "concat('k', id) as id",
        f"cast({ts} as bigint) as ts",
        "concat('p', id % 2) as p",
        "timestamp_seconds(id) as at",
        "array(concat('a', id), null) as tags",
        "cast(id as decimal(12, 2)) as price",
    )


def files(table: hf.Table) -> dict[str, bytes]:
    root = Path(table.path)
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_inserted_rows_are_all_there(spark: SparkSession, table: hf.Table) -> None:
    commit = hudi_spark.insert(things(spark, 100), table.path)
    assert (commit.action, commit.num_writes, commit.num_deletes) == ("deltacommit", 100, 0)
    expected = pa.table(things(spark, 100).toArrow(), schema=SCHEMA)
    assert_same_rows(table.snapshot(columns=SCHEMA.names), expected, key=("id",))


@pytest.mark.parametrize("by", [[], ["p", "n"]])
def test_an_insert_is_counted_whatever_its_partitions(spark: SparkSession, tmp_path: Path, by: list[str]) -> None:
    schema = pa.schema([pa.field("id", pa.string()), pa.field("p", pa.string()), pa.field("n", pa.int64())])
    options = {"hoodie.copyonwrite.record.size.estimate": "1000", "hoodie.parquet.max.file.size": "20000"}
    made = {name: hf.create_table(tmp_path / name, name="t", schema=schema, record_key=["id"], partition_by=by,
                                  table_type="COPY_ON_WRITE") for name in ("spark", "plain")}  # fmt: skip
    rows = spark.range(0, 90, 1, 3).selectExpr(
        "concat('k', id) as id", "element_at(array('a b', '', null), cast(id % 3 + 1 as int)) as p", "int(id % 2) as n"
    )
    commit = hudi_spark.insert(rows, made["spark"].path, options=options)
    assert commit.num_writes == 90
    hf.open_table(made["plain"].path, options=options).insert(rows.toArrow())
    columns = ["_hoodie_partition_path", *schema.names]
    assert_same_rows(made["spark"].snapshot(columns=columns), made["plain"].snapshot(columns=columns), key=("id",))
    groups = {name: sorted(one.partition_path for one in table.file_slices()) for name, table in made.items()}
    assert groups["spark"] == groups["plain"]
    assert len(groups["spark"]) == (5 if not by else 2 * (1 + 2))  # 20 rows to a file group


def test_rows_take_the_place_of_others(spark: SparkSession, table: hf.Table) -> None:
    hudi_spark.insert(things(spark, 10), table.path)
    commit = hudi_spark.insert_overwrite(things(spark, 4, start=20).where("p = 'p0'"), table.path)
    assert (commit.action, commit.num_writes) == ("replacecommit", 2)
    ids = table.snapshot(columns=["id"])["id"].to_pylist()
    assert sorted(ids) == ["k1", "k20", "k22", "k3", "k5", "k7", "k9"]
    hudi_spark.insert_overwrite_table(things(spark, 3, start=30), table.path)
    assert sorted(table.snapshot(columns=["id"])["id"].to_pylist()) == ["k30", "k31", "k32"]


def test_the_higher_ordering_value_wins_whatever_comes_last(spark: SparkSession, table: hf.Table) -> None:
    hudi_spark.upsert(things(spark, 10, ts=5), table.path)
    hudi_spark.upsert(
        things(spark, 10, ts=3).selectExpr("id", "ts", "p", "at", "tags", "cast(price + 1 as decimal(12, 2)) as price"),
        table.path,
    )
    hudi_spark.upsert(things(spark, 4, ts=9, start=8), table.path)
    found = {row["id"]: row["ts"] for row in table.snapshot(columns=["id", "ts"]).to_pylist()}
    assert found == {**{f"k{i}": 5 for i in range(8)}, **{f"k{i}": 9 for i in range(8, 12)}}


def test_one_row_of_several_with_one_key_is_written(spark: SparkSession, table: hf.Table) -> None:
    doubled = things(spark, 50, ts=1).unionByName(things(spark, 50, ts=2)).unionByName(things(spark, 50, ts=0))
    commit = hudi_spark.upsert(doubled, table.path)
    assert commit.num_writes == 50
    assert set(table.snapshot(columns=["ts"])["ts"].to_pylist()) == {2}


def test_some_columns_of_rows_that_are_there_are_updated(spark: SparkSession, tmp_path: Path) -> None:
    hf.create_table(
        tmp_path / "t", name="things", schema=SCHEMA, record_key=["id"], ordering=["ts"], partition_by=["p"]
    )
    hudi_spark.insert(things(spark, 4), str(tmp_path / "t"))
    fields = [{"name": "ts", "type": ["null", "long"]}, {"name": "at", "type": ["null", MOMENT]}]
    schema = json.dumps({"type": "record", "name": "things_record", "fields": fields})
    changed = things(spark, 2, ts=2, start=3).selectExpr("id", "ts", "p", "timestamp_seconds(0) as at")
    hudi_spark.upsert(changed, str(tmp_path / "t"), options={PARTIAL_SCHEMA: schema})
    found = hf.open_table(tmp_path / "t").snapshot(columns=["id", "ts", "price"]).to_pylist()
    assert {row["id"]: (row["ts"], row["price"]) for row in found} == {
        **{f"k{i}": (1, Decimal(i)) for i in range(3)},
        "k3": (2, Decimal(3)),
        "k4": (2, None),
    }


def test_deleted_rows_are_gone_whatever_their_ordering_value(spark: SparkSession, table: hf.Table) -> None:
    hudi_spark.insert(things(spark, 10, ts=100), table.path)
    commit = hudi_spark.delete(things(spark, 4).select("p", "id"), table.path)
    assert commit.num_deletes == 4
    assert sorted(table.snapshot(columns=["id"])["id"].to_pylist()) == [f"k{i}" for i in range(4, 10)]


def test_an_earlier_commit_can_still_be_read(spark: SparkSession, table: hf.Table) -> None:
    first = hudi_spark.insert(things(spark, 10), table.path)
    hudi_spark.delete(things(spark, 10).select("p", "id"), table.path)
    assert table.snapshot(as_of=first.instant).num_rows == 10
    assert table.snapshot().num_rows == 0


def test_no_rows_are_a_commit_too(spark: SparkSession, table: hf.Table) -> None:
    commit = hudi_spark.upsert(things(spark, 10).where("false"), table.path)
    assert commit.stats == ()
    assert [instant.time for instant in table.timeline.completed] == [commit.instant]


def test_a_partition_value_that_is_null_goes_to_hives_default_partition(spark: SparkSession, table: hf.Table) -> None:
    rows = things(spark, 2).selectExpr("id", "ts", "cast(null as string) as p", "at", "tags", "price")
    hudi_spark.insert(rows, table.path)
    assert {item.partition_path for item in table.file_slices()} == {"__HIVE_DEFAULT_PARTITION__"}


def test_the_sessions_time_zone_does_not_change_timestamps(spark: SparkSession, table: hf.Table) -> None:
    rows = things(spark, 3)
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        hudi_spark.insert(rows, table.path)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    found = table.snapshot(columns=["at"])["at"].cast(pa.int64()).to_pylist()
    assert sorted(found) == [0, 1_000_000, 2_000_000]


def test_each_task_has_its_own_write_token(spark: SparkSession, table: hf.Table) -> None:
    commit = hudi_spark.insert(things(spark, 100), table.path)
    assert all(stat.path is not None and "0-0-0" not in stat.path for stat in commit.stats)


BAD_ROWS = {
    "no record key": ("ts; p; at; tags; price", hf.DataError, "'id'.*missing"),
    "a record key that is null": (
        "nullif(id, 'k3') as id; ts; p; at; tags; price",
        hf.DataError,
        "id: null or empty in 1",
    ),
    "a map with numbers for keys": ("id; ts; p; at; tags; map(1, 2) as price", hf.SchemaError, "price.*string keys"),
    "an interval": ("id; ts; p; at; tags; interval 1 day as price", hf.SchemaError, "'price'.*interval day"),
    "a column of another type": ("id; ts; p; at; 'x' as tags; price", hf.SchemaError, "tags"),
    "a new column that is required": ("*; 1 as more", hf.SchemaError, "column more of type int is new and required"),
    "a column that is missing": ("id; ts; p; at; price", hf.SchemaError, "lack columns of the table: tags"),
}


@pytest.mark.parametrize("what", BAD_ROWS)
def test_bad_rows_are_refused_and_leave_the_table_as_it_was(spark: SparkSession, table: hf.Table, what: str) -> None:
    columns, error, message = BAD_ROWS[what]
    hudi_spark.insert(things(spark, 10), table.path)
    before = files(table)
    with pytest.raises(error, match=message):
        hudi_spark.upsert(things(spark, 10).selectExpr(*columns.split("; ")), table.path)
    assert files(table) == before


def test_a_job_that_fails_leaves_the_table_as_it_was(spark: SparkSession, table: hf.Table) -> None:
    hudi_spark.insert(things(spark, 10), table.path)
    before = files(table)
    broken = things(spark, 10).selectExpr(
        "id", "ts", "p", "at", "tags", "cast(raise_error('broken') as decimal(12, 2)) as price"
    )
    with pytest.raises(Exception, match="broken"):
        hudi_spark.upsert(broken, table.path)
    assert files(table) == before


def test_a_path_without_a_table_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(hf.NotATableError, match="is not a Hudi table"):
        hudi_spark.insert(things(spark, 1), str(tmp_path))
