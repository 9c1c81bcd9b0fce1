"""Files for a stream to find, and what a sink has made of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


DAYS = ["2024-05-06", "it's"]
START = datetime(2024, 5, 6, tzinfo=timezone.utc)


def add_file(folder: Path, number: int) -> None:
    """Ten rows of each day, an hour later than those of the file before; the file source goes by modification time."""
    folder.mkdir(exist_ok=True)
    ids = range(100 * number, 100 * number + 20)
    moments = [START + timedelta(hours=number)] * 20
    table = pa.table({"id": ids, "day": [DAYS[i % 2] for i in ids], "at": pa.array(moments, pa.timestamp("us", "UTC"))})
    pq.write_table(table, folder / f"{number:03}.parquet", row_group_size=5)
    os.utime(folder / f"{number:03}.parquet", (1_700_000_000 + number, 1_700_000_000 + number))


def run(spark: SparkSession, folder: Path, sink: Callable[..., Any], *, tasks: int = 3) -> None:
    """One query over the files of *folder*, a batch for each file."""
    source = spark.readStream.schema("id bigint, day string, at timestamp").option("maxFilesPerTrigger", 1)
    writer = source.parquet(str(folder)).repartition(tasks).writeStream.foreachBatch(sink)
    writer = writer.option("checkpointLocation", str(folder.parent / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()
