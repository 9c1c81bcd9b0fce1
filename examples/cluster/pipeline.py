"""The stream, and the compactions beside it: two processes that share a lock in the metastore.

changes arrive on HDFS -> the table trips, merge-on-read -> its names in the metastore: trips, trips_ro and trips_rt
                                       ^ compactions
"""

from __future__ import annotations

from pyspark.sql import SparkSession

import hudiformat as hf
import hudiformat.spark

CHANGES = "trip string, city string, fare double, at timestamp, _hoodie_is_deleted boolean"


def options_of(metastore: str, database: str) -> dict[str, str]:
    """The options of all writers of the table: *metastore* is a URI such as ``thrift://host:9083``."""
    sync, lock = "hoodie.datasource.hive_sync.", "hoodie.write.lock."
    return {
        "hoodie.table.name": "trips",
        "hoodie.datasource.write.table.type": "MERGE_ON_READ",
        "hoodie.datasource.write.recordkey.field": "trip",
        "hoodie.datasource.write.partitionpath.field": "city",
        "hoodie.table.ordering.fields": "at",
        # After each commit the metastore is told.
        f"{sync}enable": "true",
        f"{sync}mode": "hms",
        f"{sync}metastore.uris": metastore,
        f"{sync}database": database,
        f"{sync}support_timestamp": "true",
        # The stream and the compactions write side by side.
        "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
        "hoodie.write.num.retries.on.conflict.failures": "10",
        f"{lock}provider": "org.apache.hudi.hive.transaction.lock.HiveMetastoreBasedLockProvider",
        f"{lock}hivemetastore.uris": metastore,
        f"{lock}hivemetastore.database": database,
        f"{lock}hivemetastore.table": "trips",
        f"{lock}client.wait_time_ms_between_retry": "200",
    }


def run(spark: SparkSession, folder: str, options: dict[str, str], *, every: float | None) -> None:
    """Take the changes in *folder*/arriving; with *every*, go on, in batches that are so many seconds apart."""
    hudiformat.spark.register(spark)
    changes = spark.readStream.schema(CHANGES).option("maxFilesPerTrigger", 1).json(f"{folder}/arriving")
    empty = spark.createDataFrame([], changes.schema)
    hudiformat.spark.write(empty, f"{folder}/trips", mode="ignore", options=options)
    stream = changes.writeStream.format("hudiformat").options(path=f"{folder}/trips", **options)
    stream = stream.option("checkpointLocation", f"{folder}/checkpoint")
    triggered = (
        stream.trigger(availableNow=True) if every is None else stream.trigger(processingTime=f"{every} seconds")
    )
    triggered.start().awaitTermination()


def compact(folder: str, options: dict[str, str]) -> list[str]:
    """Merge the log files into base files, in this process; return the instants of the compactions."""
    return [one.instant for one in hf.open_table(f"{folder}/trips", options=options).compact()]
