"""A table and rows for the tests of the data source."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

import hudiformat as hf

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
