"""Tasks of Spark write tables with partial updates and delete markers as one process does."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import hudiformat as hf
from tests.change_data import KINDS, PLACEHOLDER, random_batch, row_of, schema_of, shown, table_of

pytest.importorskip("pyspark.sql")

from pyspark.sql import functions

import hudiformat.spark as hudi_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.unmeasured

BY_TASKS = {"hudiformat.spark.driver.rows": "0"}


def create(path: Path, kind: str, table_type: str, index: str) -> hf.Table:
    return hf.create_table(
        path,
        name="t",
        schema=schema_of(kind),
        record_key="id",
        ordering=[] if kind in ("mysql", "postgres") else "ts",
        table_type=table_type,
        options={**KINDS[kind].options, "hoodie.index.type": index},
    )


def rows_of(kind: str, chance: random.Random) -> tuple[pa.Table, list[tuple[Any, ...]]]:
    rows = random_batch(kind, chance.randrange, 12)
    return table_of(kind, rows), [tuple(row.values()) for row in rows]


def spark_types(kind: str) -> str:
    names = {"string": "string", "int64": "bigint", "int32": "int"}
    return ", ".join(f"{field.name} {names[str(field.type)]}" for field in schema_of(kind))


@pytest.mark.parametrize("kind", ["partial", "postgres", "marker", "dms"])
@pytest.mark.parametrize(("table_type", "index"), [("COPY_ON_WRITE", "SIMPLE"), ("MERGE_ON_READ", "BUCKET")])
def test_tasks_write_what_one_process_writes(
    spark: SparkSession, tmp_path: Path, kind: str, table_type: str, index: str
) -> None:
    ours, by_tasks = (create(tmp_path / name, kind, table_type, index) for name in ("ours", "tasks"))
    chance = random.Random(f"{kind} {table_type}")
    for _ in range(3):
        table, rows = rows_of(kind, chance)
        ours.upsert(table)
        df = spark.createDataFrame(rows, spark_types(kind)).coalesce(1)
        hudi_spark.upsert(df, by_tasks.path, options=BY_TASKS)
        assert shown(kind, by_tasks.snapshot()) == shown(kind, ours.snapshot())


def test_tasks_refuse_to_keep_one_of_rows_that_are_merged(spark: SparkSession, tmp_path: Path) -> None:
    table = create(tmp_path / "t", "partial", "COPY_ON_WRITE", "SIMPLE")
    rows = spark.createDataFrame(rows_of("partial", random.Random(1))[1], spark_types("partial"))
    options = {**BY_TASKS, "hoodie.combine.before.insert": "true"}
    with pytest.raises(hf.UnsupportedFeatureError, match="expected rows that replace each other whole"):
        hudi_spark.bulk_insert(rows, table.path, options=options)
    assert table.count() == 0


def test_marked_rows_do_not_move_to_other_partitions(spark: SparkSession, tmp_path: Path) -> None:
    schema = schema_of("marker")
    table = hf.create_table(
        tmp_path / "t",
        name="t",
        schema=schema,
        record_key="id",
        ordering="ts",
        partition_by="b",
        options={**KINDS["marker"].options, "hoodie.index.type": "GLOBAL_SIMPLE"},
    )
    table.upsert(table_of("marker", [row_of("marker", key, 1, "c", ["x", "there", 1]) for key in range(3)]))
    options = {**BY_TASKS, "hoodie.simple.index.update.partition.path": "true"}
    rows = [row_of("marker", key, 2, "cd"[key], ["y", "here", 2]) for key in (0, 1)]
    df = spark.createDataFrame([tuple(row.values()) for row in rows], spark_types("marker"))
    hudi_spark.upsert(df, table.path, options=options)
    found = shown("marker", table.snapshot())
    assert [(row["id"], row["b"]) for row in found] == [("k0", "here"), ("k2", "there")]


@pytest.mark.parametrize(
    ("table_type", "index"),
    [("COPY_ON_WRITE", "SIMPLE"), ("MERGE_ON_READ", "BUCKET"), ("MERGE_ON_READ", "GLOBAL_SIMPLE")],
)
def test_a_value_that_would_be_taken_for_unset_is_not_set_by_an_update(
    spark: SparkSession, tmp_path: Path, table_type: str, index: str
) -> None:
    options = {"hoodie.index.type": index, "hoodie.simple.index.update.partition.path": "false"}
    path = create(tmp_path / "t", "partial", table_type, index).path
    table = hf.open_table(path, options=options)
    table.upsert(table_of("partial", [row_of("partial", key, 1, "c", ["x", None, key]) for key in range(3)]))
    refused = "update: column a: expected a value other than null, which the table's partial"
    with pytest.raises(hf.DataError, match=refused):
        hudi_spark.update(spark, table.path, {"a": None}, "n > 0", options=options)
    hudi_spark.update(spark, table.path, {"a": "y", "b": None}, "n > 0", options=options)  # b was not set before
    source = spark.createDataFrame(
        [tuple(row_of("partial", 1, 2, "u", ["z", None, 1]).values())], spark_types("partial")
    )
    for clauses in (
        [hf.Update({"a": functions.expr("source.b")})],
        [hf.Update({"n": 1}, "false"), hf.Update({"a": None})],
    ):
        with pytest.raises(hf.DataError, match="Update: column a: expected a value other than null"):
            hudi_spark.merge(source, table.path, when_matched=clauses, options=options)
    named = hf.Update(
        {"a": functions.expr("source.a"), "b": functions.expr("source.b"), "ts": functions.expr("source.ts")}
    )
    hudi_spark.merge(
        source, table.path, when_matched=[hf.Delete("false"), named], when_not_matched=[hf.Insert()], options=options
    )
    found = [(row["a"], row["b"]) for row in shown("partial", table.snapshot())]
    assert found == [("x", None), ("z", None), ("y", None)]


def test_the_placeholder_of_debezium_is_not_set_by_an_update(spark: SparkSession, tmp_path: Path) -> None:
    table = create(tmp_path / "t", "postgres", "MERGE_ON_READ", "SIMPLE")
    rows: list[list[Any]] = [["x", PLACEHOLDER, 0], [None, "y", 1], ["z", "y", 2]]
    table.upsert(table_of("postgres", [row_of("postgres", key, 1, "c", values) for key, values in enumerate(rows)]))
    for condition, column in (("n = 1", "a"), ("n > 0", "b")):
        with pytest.raises(hf.DataError, match=f"update: column {column}: .* than '__debezium_unavailable_value'"):
            hudi_spark.update(spark, table.path, {column: PLACEHOLDER}, condition)
    hudi_spark.update(spark, table.path, {"a": None, "b": PLACEHOLDER}, "n = 0")  # null is a value, b has none
    assert [row["a"] for row in shown("postgres", table.snapshot())] == [None, None, "z"]
