"""Rows are changed and deleted by conditions, in place."""

from __future__ import annotations

from datetime import datetime, time, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import hudiformat as hf
from tests.effort import LONG, only_long
from tests.tables import content, make_partition, new_table, rows

pytest.importorskip("pyspark.sql")

from pyspark.sql import functions

import hudiformat.spark as hudi_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KINDS = [
    ("COPY_ON_WRITE", {"hoodie.index.type": "SIMPLE"}),
    ("MERGE_ON_READ", {"hoodie.index.type": "SIMPLE"}),
    ("MERGE_ON_READ", {"hoodie.index.type": "GLOBAL_SIMPLE"}),
    ("MERGE_ON_READ", {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}),
]
each_kind = pytest.mark.parametrize(("table_type", "options"), KINDS if LONG else [KINDS[0], KINDS[3]])


def filled(path: Path, table_type: str, options: dict[str, str]) -> hf.Table:
    table = new_table(path, table_type=table_type, options=options)
    table.upsert(rows(*((f"k{number}", 1, "abc"[number % 3], number) for number in range(12))))
    table.upsert(rows(("k0", 2, "a", 100)))
    return table


@each_kind
def test_rows_for_which_a_condition_holds_get_other_values(
    spark: SparkSession, tmp_path: Path, table_type: str, options: dict[str, str]
) -> None:
    table = filled(tmp_path / "t", table_type, options)
    before = content(table)
    values = {"v": functions.col("v") + 1, "ts": 7}
    commit = hudi_spark.update(spark, table.path, values, "p = 'a' and v > 3 or k = 'k1'", options=options)
    assert sum(stat.num_update_writes or 0 for stat in commit.stats) == 4
    changed = {"k0", "k6", "k9", "k1"}
    assert content(table) == sorted(
        ((k, 7, p, v + 1) if k in changed else (k, ts, p, v) for k, ts, p, v in before), key=repr
    )
    assert {stat.partition_path for stat in commit.stats} == {"a", "b"}


@each_kind
def test_rows_for_which_a_condition_holds_are_deleted(
    spark: SparkSession, tmp_path: Path, table_type: str, options: dict[str, str]
) -> None:
    table = filled(tmp_path / "t", table_type, options)
    before = content(table)
    commit = hudi_spark.delete_where(spark, table.path, "p = 'b' and abs(v) >= 4", options=options)
    assert commit.num_deletes == 3
    assert content(table) == [row for row in before if not (row[2] == "b" and row[3] >= 4)]
    hudi_spark.delete_where(spark, table.path, "p = 'z'", options=options)
    hudi_spark.delete_where(spark, table.path, "true", options=options)
    assert content(table) == []


@each_kind
def test_conditions_may_be_about_meta_fields(
    spark: SparkSession, tmp_path: Path, table_type: str, options: dict[str, str]
) -> None:
    table = filled(tmp_path / "t", table_type, options)
    newest = table.timeline.completed[-1].time
    hudi_spark.update(spark, table.path, {"v": 7}, f"_hoodie_commit_time = '{newest}'", options=options)
    assert ("k0", 2, "a", 7) in content(table)
    condition = "_hoodie_record_key in ('k1', 'k0') and upper(_hoodie_partition_path) = 'B' or v = 11"
    hudi_spark.delete_where(spark, table.path, condition, options=options)
    assert {row[0] for row in content(table)} == {f"k{number}" for number in range(12)} - {"k1", "k11"}


def test_all_rows_are_updated_without_a_condition_and_texts_are_values(spark: SparkSession, tmp_path: Path) -> None:
    table = filled(tmp_path / "t", *KINDS[1])
    hudi_spark.update(spark, table.path, {"v": None, "ts": functions.expr("ts + length(k)")})
    assert {(ts, v) for _, ts, _, v in content(table)} == {(3, None), (4, None)}


NO_TYPE_IN_SPARK = {
    "at": (pa.timestamp("ms", "UTC"), datetime(2024, 1, 1, 12, tzinfo=timezone.utc)),
    "local": (pa.timestamp("ms"), datetime(2024, 1, 1, 12)),
    "fixed": (pa.binary(2), b"ab"),
    "t": (pa.time64("us"), time(1, 2, 3)),
    "li": (pa.list_(pa.field("element", pa.struct([("t", pa.time32("ms"))]))), [{"t": time(1)}, None]),
}


@only_long
@pytest.mark.parametrize(
    ("table_type", "options", "by_source"),
    [(*kind, by_source) for kind in KINDS for by_source in (False, True)][:: 1 if LONG else 3],
)
def test_columns_of_types_that_spark_lacks_stay_as_they_are(
    spark: SparkSession, tmp_path: Path, table_type: str, options: dict[str, str], *, by_source: bool
) -> None:
    hudi_spark.register(spark)
    kinds = {name: kind for name, (kind, _) in NO_TYPE_IN_SPARK.items()}
    schema = pa.schema({"k": pa.string(), "ts": pa.int64(), "p": pa.string(), "v": pa.int64(), **kinds})
    table = new_table(tmp_path / "t", schema=schema, table_type=table_type, options=options)
    values = {name: value for name, (_, value) in NO_TYPE_IN_SPARK.items()}
    wide = [{"k": f"k{number}", "ts": 1, "p": "ab"[number % 2], "v": number, **values} for number in range(6)]
    table.insert(pa.Table.from_pylist(wide, schema))
    before = table.snapshot(columns=schema.names).sort_by("k").to_pylist()
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        hudi_spark.update(spark, table.path, {"v": 9}, "v = 1", options=options)
        hudi_spark.delete_where(spark, table.path, "v = 2", options=options)
        source = spark.createDataFrame([("k3", 2, "b", 9)], "k string, ts long, p string, v long")
        hudi_spark.merge(source, table.path, when_matched=[hudi_spark.Update()], options=options)
        found = hudi_spark.read(spark, table.path, columns=schema.names, filter="k = 'k4'")
        found = found.withColumn("v", functions.lit(9))
        if by_source:
            found.write.format("hudiformat").mode("append").options(**options).save(table.path)
        else:
            hudi_spark.upsert(found, table.path, options=options)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    new = {"k1": {"v": 9}, "k3": {"v": 9, "ts": 2}, "k4": {"v": 9}}
    expected = [row | new.get(row["k"], {}) for row in before if row["k"] != "k2"]
    assert hf.open_table(table.path).snapshot(columns=schema.names).sort_by("k").to_pylist() == expected


def test_key_columns_and_unknown_ones_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    table = filled(tmp_path / "t", *KINDS[1])
    before = content(table)
    with pytest.raises(hf.SchemaError, match="'k' is of the record key or partition path, which a row keeps"):
        hudi_spark.update(spark, table.path, {"k": "x"}, "v = 1")
    with pytest.raises(hf.SchemaError, match=r"update: no column 'w'; the columns are k, ts, p, v"):
        hudi_spark.update(spark, table.path, {"w": 1})
    with pytest.raises(Exception, match="nope"):
        hudi_spark.delete_where(spark, table.path, "nope = 1")
    assert content(table) == before
    assert not table.timeline.pending


def test_partitions_are_deleted_without_reading_a_file(spark: SparkSession, tmp_path: Path) -> None:
    table = filled(tmp_path / "t", *KINDS[0])
    hudi_spark.delete_partitions(spark, table.path, ["a", "c"])
    assert {row[2] for row in content(table)} == {"b"}


@each_kind
@pytest.mark.parametrize("value", ["q=1", "a%2Fb"])
def test_rows_stay_in_their_partition_from_whose_path_hudi_reads_another_value(
    spark: SparkSession, tmp_path: Path, table_type: str, options: dict[str, str], value: str
) -> None:
    table = new_table(tmp_path / "t", table_type=table_type, options=options)
    make_partition(tmp_path / "t", value)
    table.insert(rows(("a", 1, value, 1), ("b", 2, value, 2), ("c", 3, value, 3)))
    [partition] = table.partitions()
    assert table.snapshot()["p"][0].as_py() == value
    hudi_spark.update(spark, table.path, {"v": 9}, f"k = 'a' and p = '{value}'", options=options)
    hudi_spark.delete_where(spark, table.path, f"v = 3 and p = '{value}'", options=options)
    table.update({"v": 8}, where="k = 'b'")
    table.update({"ts": 5}, where="k = 'a'")
    found = table.snapshot(columns=["k", "v", "_hoodie_partition_path"]).sort_by("k").to_pylist()
    assert [tuple(row.values()) for row in found] == [("a", 9, partition), ("b", 8, partition)]
    assert table.verify(keys=True) == []


@each_kind
def test_a_condition_may_be_tuples_or_an_expression(
    spark: SparkSession, tmp_path: Path, table_type: str, options: dict[str, str]
) -> None:
    table = filled(tmp_path / "t", table_type, options)
    hudi_spark.update(spark, table.path, {"v": 70}, [("p", "=", "a"), ("v", ">", 3)], options=options)
    assert [row[0] for row in content(table) if row[3] == 70] == ["k0", "k6", "k9"]
    meta = pc.field("_hoodie_record_key").isin(["k6", "k1"]) & (pc.field("v") == 70)
    assert hudi_spark.delete_where(spark, table.path, meta, options=options).num_deletes == 1
    assert [row[0] for row in content(table) if row[3] == 70] == ["k0", "k9"]
