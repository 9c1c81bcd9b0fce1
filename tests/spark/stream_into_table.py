"""A query of its own process, to be killed: files of a folder are upserted as they come into a table with buckets.

Arguments: the folder, the table, the checkpoint.
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

import hudiformat.spark as hudi_spark

COLUMNS = "id string, ts bigint, month string, delay double"


def main() -> None:
    folder, table, checkpoint = sys.argv[1:]
    builder = SparkSession.builder.master("local[2]")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.driver.bindAddress": "127.0.0.1",
    }.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    hudi_spark.register(spark)
    rows = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).parquet(folder)
    writer = rows.writeStream.format("hudiformat").option("operation", "upsert")
    writer = writer.option("hoodie.index.type", "BUCKET").option("hoodie.bucket.index.num.buckets", "2")
    writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start(table).awaitTermination()


if __name__ == "__main__":
    main()
