"""A process to be killed: what comes into a folder is streamed out in all four ways.

    source   writeStream.format("hudiformat"), upserts into a table with buckets
    batches  foreachBatch with write_batch, upserts into a table whose keys are looked up
    sink     foreachBatch with a file sink
    files    writeStream.format("hudiformat-files")

Arguments: the folder that the files come into, the folder in which each way has its own.
"""

from __future__ import annotations

import sys

from pyspark.sql import DataFrame, SparkSession

import hudiformat.spark as hudi_spark

COLUMNS = "id string, ts bigint, month string, delay double"


MERGED = {"auto-compaction": "true", "sink.partition-commit.policy.kind": "success-file"}


def stream(spark: SparkSession, coming: str, out: str) -> None:
    """Stream what has come."""
    hudi_spark.register(spark)
    spark.conf.set("spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart", "false")  # see docs/spark.md
    rows = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).parquet(coming)
    buckets = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2", "operation": "upsert"}
    sink = hudi_spark.file_sink(f"{out}/sink", partition_by=["month"], options=MERGED)

    def write(batch: DataFrame, number: int) -> None:
        hudi_spark.write_batch(batch, f"{out}/batches", number, options={"hoodie.index.type": "SIMPLE"})

    def merge(batch: DataFrame, number: int) -> None:
        sink(batch, number)

    ways = {
        "source": rows.writeStream.format("hudiformat").options(**buckets),
        "batches": rows.writeStream.foreachBatch(write),
        "sink": rows.writeStream.foreachBatch(merge),
        "files": rows.writeStream.format("hudiformat-files").options(
            **{**MERGED, "hudiformat.sink.partition.columns": "month"}
        ),
    }
    queries = [
        way.option("checkpointLocation", f"{out}/checkpoint-{name}").trigger(availableNow=True).start(f"{out}/{name}")
        for name, way in ways.items()
    ]
    for query in queries:
        query.awaitTermination()


if __name__ == "__main__":
    stream(SparkSession.builder.getOrCreate(), *sys.argv[1:])
