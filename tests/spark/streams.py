"""Streams into tables and out of them, and files for them to find."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

import hudiformat as hf

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = pa.schema([pa.field("id", pa.string()), pa.field("ts", pa.int64())])


def new_table(path: Path, **options: str) -> hf.Table:
    return hf.create_table(path, name="t", schema=SCHEMA, record_key=["id"], ordering=["ts"], options=options)


def rows(start: int, count: int, *, ts: int = 1) -> pa.Table:
    ids = [f"k{number}" for number in range(start, start + count)]
    return pa.table({"id": ids, "ts": [ts] * count}, schema=SCHEMA)


def add_file(folder: Path, number: int, data: pa.Table) -> None:
    """A file for the stream to find; the file source goes by modification time."""
    folder.mkdir(exist_ok=True)
    pq.write_table(data, folder / f"{number:03}.parquet")
    os.utime(folder / f"{number:03}.parquet", (1_700_000_000 + number, 1_700_000_000 + number))


def stream_in(
    spark: SparkSession, folder: Path, table: hf.Table, *, checkpoint: str = "checkpoint", **options: str
) -> None:
    """One query over the files of *folder*, a batch for each file."""
    source = spark.readStream.schema("id string, ts bigint").option("maxFilesPerTrigger", 1).parquet(str(folder))
    writer = source.writeStream.format("hudiformat").options(**{"operation": "insert", **options})
    writer = writer.option("checkpointLocation", str(folder.parent / checkpoint))
    writer.trigger(availableNow=True).start(table.path).awaitTermination()


def forget_commit(folder: Path, batch: int) -> None:
    """What is left when a query is killed between the table's commit of a batch and Spark's."""
    for path in (folder.parent / "checkpoint" / "commits").glob(f"*{batch}*"):
        path.unlink()


def ids(table: hf.Table) -> list[str]:
    return sorted(table.snapshot(columns=["id"])["id"].to_pylist())


def staged(table: hf.Table) -> list[Path]:
    return list((Path(table.path) / ".hoodie" / ".temp").glob("*"))


def stream_out(spark: SparkSession, table: hf.Table, checkpoint: Path, **options: str) -> list[list[dict[str, Any]]]:
    """The batches of one query over *table* until there is no more."""
    batches: list[list[dict[str, Any]]] = []

    def keep(df: DataFrame, _batch: int) -> None:
        batches.append(df.toArrow().to_pylist())

    source = spark.readStream.format("hudiformat").options(**options).load(table.path)
    writer = source.writeStream.foreachBatch(keep).option("checkpointLocation", str(checkpoint))
    writer.trigger(availableNow=True).start().awaitTermination()
    return batches
