"""A query of its own process, to be killed: files of a folder stream into a table.

Arguments: the folder, the table, the checkpoint.
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

import hudiformat.spark as hudi_spark


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
    rows = spark.readStream.schema("id string, ts bigint").option("maxFilesPerTrigger", 1).parquet(folder)
    writer = (
        rows.writeStream.format("hudiformat").option("operation", "insert").option("checkpointLocation", checkpoint)
    )
    writer.trigger(availableNow=True).start(table).awaitTermination()


if __name__ == "__main__":
    main()
