"""The pipeline: streams that go on where they were stopped, however that was.

files arrive -> clean -> the table orders, merge-on-read -> its changes -> the table totals, copy-on-write
                      -> plain files, by day                            -> compactions of orders
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr

import hudiformat.spark
from hudiformat.spark import Insert, Update, merge

ARRIVING = "order_id string, placed timestamp, updated timestamp, status string, amount decimal(12, 2)"
TOTALS = "day string, orders bigint, cancelled bigint, amount decimal(22, 2)"
ORDERS_TABLE = {
    "hoodie.table.name": "orders",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.recordkey.field": "order_id",
    "hoodie.datasource.write.partitionpath.field": "day",
    "hoodie.table.ordering.fields": "updated",
    "hoodie.index.type": "BUCKET",
    "hoodie.bucket.index.num.buckets": "4",
    # The stream and the compactions write side by side.
    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
}
TOTALS_TABLE = {"hoodie.table.name": "totals", "hoodie.datasource.write.recordkey.field": "day"}
FILES = {
    "hudiformat.sink.partition.columns": "day",
    "auto-compaction": "true",
    "sink.partition-commit.policy.kind": "success-file",
}


def run(spark: SparkSession, folder: str, *, once: bool = False) -> None:
    """Take what has arrived in *folder*/arriving, and unless *once* what arrives from now on."""
    hudiformat.spark.register(spark)
    # Killed while it writes the first offset, Spark leaves a temporary file, which Spark 4.1 refuses.
    spark.conf.set("spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart", "false")
    orders, totals = f"{folder}/orders", f"{folder}/totals"
    clean = cleaned(spark.readStream.schema(ARRIVING).option("maxFilesPerTrigger", 10).json(f"{folder}/arriving"))
    for path, schema, options in ((orders, clean.schema, ORDERS_TABLE), (totals, TOTALS, TOTALS_TABLE)):
        hudiformat.spark.write(spark.createDataFrame([], schema), path, mode="ignore", options=options)
    changes = spark.readStream.format("hudiformat").load(orders)
    arriving = {
        "orders": clean.writeStream.format("hudiformat").options(path=orders, **ORDERS_TABLE),
        "files": clean.writeStream.format("hudiformat-files").options(path=f"{folder}/files", **FILES),
    }
    following = {
        "totals": changes.writeStream.foreachBatch(lambda changed, _: summarize(changed, orders, totals)),
        "compactions": changes.writeStream.foreachBatch(lambda changed, _: compact(changed, orders)),
    }
    for streams in (arriving, following):
        for name, stream in streams.items():
            named = stream.queryName(name).option("checkpointLocation", f"{folder}/checkpoints/{name}")
            (named.trigger(availableNow=True) if once else named.trigger(processingTime="10 seconds")).start()
        while once and spark.streams.active:
            spark.streams.active[0].awaitTermination()
    spark.streams.awaitAnyTermination()  # raises what stopped one


def cleaned(rows: DataFrame) -> DataFrame:
    """The rows that are orders, with the partition that they belong to."""
    orders = rows.where("order_id is not null and placed is not null and amount >= 0")
    return orders.selectExpr("order_id", "updated", "lower(trim(status)) status", "amount", "string(date(placed)) day")


def summarize(changed: DataFrame, orders: str, totals: str) -> None:
    """Compute the totals of the days that have changed anew: a batch that comes again does no harm."""
    days = ", ".join(f"'{row.day}'" for row in changed.select("day").distinct().collect())
    now = hudiformat.spark.read(changed.sparkSession, orders, filter=f"day in ({days or 'null'})").groupBy("day")
    sums = now.agg(
        expr("count(*) orders"), expr("count_if(status = 'cancelled') cancelled"), expr("sum(amount) amount")
    )
    merge(sums, totals, when_matched=[Update()], when_not_matched=[Insert()])


def compact(changed: DataFrame, orders: str) -> None:
    """Merge the log files of the orders into base files, by tasks."""
    hudiformat.spark.compact(changed.sparkSession, orders, options=ORDERS_TABLE)
