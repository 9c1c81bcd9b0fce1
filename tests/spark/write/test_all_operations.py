"""Every operation by Spark's tasks leaves the rows that the same write in one process leaves, whatever the index."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import hudiformat as hf
from tests.effort import LONG, only_long
from tests.rows import assert_same_rows

pytest.importorskip("pyspark.sql")
import hudiformat.spark as hudi_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = pa.schema([pa.field("id", pa.string()), pa.field("ts", pa.int64()), pa.field("p", pa.string())])
RING = "ring of buckets"
INDEXES = {
    "SIMPLE": {},
    "BLOOM": {},
    "GLOBAL_SIMPLE": {},
    "GLOBAL_BLOOM": {},
    "INMEMORY": {},
    "BUCKET": {"hoodie.bucket.index.num.buckets": "2"},
    RING: {
        "hoodie.index.type": "BUCKET",
        "hoodie.index.bucket.engine": "CONSISTENT_HASHING",
        "hoodie.bucket.index.num.buckets": "2",
    },
    "RECORD_LEVEL_INDEX": {"hoodie.metadata.record.level.index.enable": "true"},
    "GLOBAL_RECORD_LEVEL_INDEX": {"hoodie.metadata.global.record.level.index.enable": "true"},
}
WAYS = tuple(product(("COPY_ON_WRITE", "MERGE_ON_READ"), ("functions", "data source")))
CASES = [(index, *way) for index in INDEXES for way in WAYS if (index, way[0]) != (RING, "COPY_ON_WRITE")]  # refused
SOME = [
    ("SIMPLE", *WAYS[0]),
    ("BUCKET", *WAYS[3]),
    (RING, *WAYS[2]),
    ("GLOBAL_SIMPLE", *WAYS[2]),
]
"""One for each way in which tasks write."""


@only_long
@pytest.mark.parametrize(("index", "table_type", "way"), CASES if LONG else SOME)
def test_rows_are_those_of_one_process(
    spark: SparkSession, tmp_path: Path, index: str, table_type: str, way: str
) -> None:
    options = {"hoodie.index.type": index, "hoodie.metadata.enable": "true", **INDEXES[index]}
    table, plain = (
        hf.create_table(
            tmp_path / name,
            name="things",
            schema=SCHEMA,
            record_key="id",
            ordering="ts",
            partition_by="p",
            table_type=table_type,
            options=options,
        )
        for name in ("spark", "plain")
    )
    write = _writer(spark, table, way, {**options, "hudiformat.spark.driver.rows": "0"})
    for one in (table, plain):
        one.upsert(things(spark, 0, 90).toArrow())
    steps = [
        ("upsert", things(spark, 60, 60, ts=2)),
        ("insert", things(spark, 200, 30)),
        ("bulk_insert", things(spark, 300, 60)),
        ("delete", things(spark, 50, 20, ts=3)),
        ("insert_overwrite", things(spark, 400, 40).where("p = 'a'")),
        ("insert_overwrite_table", things(spark, 390, 60)),
    ]
    for operation, rows in steps[:-2] if index == RING else steps:  # it refuses to be overwritten
        write(operation, rows)
        getattr(plain, operation)(rows.toArrow())
        assert_same_rows(table.snapshot(columns=SCHEMA.names), plain.snapshot(columns=SCHEMA.names), key=("id",))
    assert table.verify() == []


def things(spark: SparkSession, start: int, count: int, *, ts: int = 1) -> DataFrame:
    """Rows in several tasks, a third of them in the partition ``a``."""
    rows = spark.range(start, start + count, 1, 3)
    return rows.selectExpr("concat('k', id) as id", f"cast({ts} as bigint) as ts", "if(id % 3 = 0, 'a', 'b') as p")


def _writer(
    spark: SparkSession, table: hf.Table, way: str, options: dict[str, str]
) -> Callable[[str, DataFrame], object]:
    if way == "functions":
        return lambda operation, rows: getattr(hudi_spark, operation)(rows, table.path, options=options)
    hudi_spark.register(spark)
    return lambda operation, rows: (
        rows.write.format("hudiformat").mode("append").options(operation=operation, **options).save(table.path)
    )
