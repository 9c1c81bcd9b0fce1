"""What the functions, the data source and streams do on Spark Connect, in a process without a session of its own.

    python tests/spark/connect_job.py sc://HOST:PORT FOLDER [everything]

Prints JSON: by what was done, the rows of the table afterwards.  Without ``everything`` it writes, reads and streams.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import hudiformat as hf
import hudiformat.spark as hudi_spark

KEYS = {
    "hoodie.table.name": "things",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.index.type": "SIMPLE",
}
BY_TASKS = {"hoodie.index.type": "SIMPLE", "hudiformat.spark.driver.rows": "0"}
WRITER = "hoodie.datasource.write.streaming.checkpoint.identifier"


def main(remote: str, folder: Path, *, everything: bool) -> None:
    """Write, read, change, serve and stream a table."""
    spark = SparkSession.builder.remote(remote).config("spark.sql.shuffle.partitions", "2").getOrCreate()
    path = str(folder / "table")
    df = spark.range(0, 60, 1, 2).selectExpr("concat('k', id) as id", "id as ts", "concat('p', id % 3) as p")
    found: dict[str, Any] = {}

    def count(name: str) -> None:
        found[name] = hudi_spark.read(spark, path).count()

    hudi_spark.write(df, path, options=KEYS)
    count("write")
    hudi_spark.upsert(df.where("ts < 10").selectExpr("id", "ts + 100 as ts", "p"), path, options=BY_TASKS)
    count("upsert")
    found["filter"] = hudi_spark.read(spark, path, columns=["id"], filter="p = 'p1' and ts > 100").count()
    found["verify"] = len(hudi_spark.verify(spark, path))
    if everything:
        hudi_spark.update(spark, path, {"ts": 500}, "ts > 100")
        found["update"] = hudi_spark.read(spark, path, filter="ts = 500").count()
        hudi_spark.merge(df.where("ts = 20"), path, when_matched=[hudi_spark.Delete()])
        count("merge")
        hudi_spark.compact(spark, path, options={"hoodie.compact.inline.max.delta.commits": "1"})
        hudi_spark.insert(df.selectExpr("concat(id, 'x') as id", "ts", "p"), path, options=BY_TASKS)
        count("insert")
        hudi_spark.delete_where(spark, path, "ts = 500")
        count("delete_where")
        hudi_spark.delete(df.where("ts = 21"), path)
        count("delete")
        hudi_spark.cluster(spark, path)
        hudi_spark.clean(spark, path)
        found["verify"] += len(hudi_spark.verify(spark, path))
        hudi_spark.delete_partitions(spark, path, ["p2"])
        count("delete_partitions")
    hudi_spark.register(spark)
    df.write.format("hudiformat").options(**KEYS).mode("append").save(path)
    found["source"] = spark.read.format("hudiformat").load(path).count()
    rows = df.where("ts < 3").selectExpr("concat(id, 'stream') as id", "ts", "p")
    streams(spark, rows, folder, path, by_batches=everything)
    count("streams")
    found["rows"] = hf.open_table(path).snapshot(columns=["id"]).num_rows
    sys.stdout.write(json.dumps(found) + "\n")


def streams(spark: SparkSession, rows: DataFrame, folder: Path, path: str, *, by_batches: bool) -> None:
    """Three rows by the data source, and then *by_batches*, which are asked for again without a name."""
    rows.write.parquet(str(folder / "in"))
    source = spark.readStream.schema(rows.schema).parquet(str(folder / "in"))

    def write(batch: DataFrame, number: int) -> None:
        import hudiformat
        import hudiformat.spark as functions

        try:
            functions.write_batch(batch, path, number)
        except hudiformat.OptionError:
            other = batch.selectExpr("concat(id, 'other') as id", "ts", "p")
            functions.write_batch(other, path, number, options={WRITER: "mine"})

    writers = {"source": source.writeStream.format("hudiformat").option("path", path)}
    if by_batches:
        writers["batches"] = source.writeStream.foreachBatch(write)
    for name, writer in writers.items():
        query = writer.option("checkpointLocation", str(folder / name)).trigger(availableNow=True)
        query.start().awaitTermination()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), everything="everything" in sys.argv)
