"""Everything that the functions and the data source do, on a ``local-cluster`` whose executors get the package zipped.

Arguments: a folder for everything, and the archive.  Leaves ``said.json`` in the
folder: the rows after each step, and where the executors found the package.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, functions

import hudiformat.spark as hudi_spark

OPTIONS = {"hudiformat.spark.driver.rows": "0"}  # everything by tasks
FIRST = {
    **OPTIONS,
    "hoodie.table.name": "things",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
}
ROWS = 40
SUM = ROWS * (ROWS - 1) / 2
MERGED = SUM - (ROWS - 2) - (ROWS - 1) + ROWS + ROWS + 1
GONE = MERGED - 2 - 3
LEFT: dict[str, list[float]] = {
    "write": [ROWS, ROWS, SUM],
    "upsert": [ROWS, ROWS + 10, SUM],
    "merge": [ROWS + 2, ROWS + 10 + 2 * 2 + 2 * 3, MERGED],
    "update": [ROWS + 2, ROWS + 20, MERGED],
    "delete_where": [ROWS, ROWS + 16, GONE],
    "create_index": [ROWS, ROWS + 16, GONE],
    "delete": [ROWS - 1, ROWS + 14, GONE - 5],
    "services": [1, 1, 0, ROWS - 1, ROWS + 14, GONE - 5],
    "data source": [ROWS, ROWS + 10, SUM],
    "streams": [ROWS, ROWS, SUM, ROWS],
}
"""What each step says, but for ``delete_partitions``."""
OFTEN = ("write", "upsert", "merge", "update", "delete_where", "delete", "services")
"""The steps that the cluster of ``cluster_job.py`` takes, too; it has a data source of its own."""


def main() -> None:
    folder, archive = Path(sys.argv[1]), sys.argv[2]
    spark = start()
    spark.sparkContext.addPyFile(archive)
    found = spark.range(0, 4, 1, 4).mapInArrow(where_the_package_is, "path string").toArrow()["path"].to_pylist()
    said: dict[str, object] = {"packages": sorted(set(found))}
    said |= {name: step(spark, folder) for name, step in STEPS.items()}
    (folder / "said.json").write_text(json.dumps(said))
    spark.stop()


def start() -> SparkSession:
    builder = SparkSession.builder.master("local-cluster[2,1,1024]")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        "spark.executor.extraJavaOptions": os.environ.get("SPARK_SUBMIT_OPTS", ""),
    }.items():
        builder = builder.config(key, value)
    spark: SparkSession = builder.getOrCreate()
    hudi_spark.register(spark)
    return spark


def where_the_package_is(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import hudiformat

    for _ in batches:
        yield pa.RecordBatch.from_pydict({"path": [str(hudiformat.__file__)]})


def rows(spark: SparkSession, count: int, *, ts: int = 1, first: int = 0) -> DataFrame:
    numbers = spark.range(first, first + count, 1, 2)
    return numbers.selectExpr(
        "concat('k', id) as id", f"cast({ts} as bigint) as ts", "concat('p', id % 2) as p", "cast(id as double) as v"
    )


def state(spark: SparkSession, path: str) -> list[float]:
    """How many rows there are, the sum of their versions, and that of their values."""
    sums = hudi_spark.read(spark, path).agg(functions.count("*"), functions.sum("ts"), functions.sum("v")).first()
    assert sums is not None
    return list(sums)


def by_functions(change: Callable[[SparkSession, str], object]) -> Callable[[SparkSession, Path], list[float]]:
    def step(spark: SparkSession, folder: Path) -> list[float]:
        change(spark, str(folder / "things"))
        return state(spark, str(folder / "things"))

    return step


def merge(spark: SparkSession, path: str) -> object:
    source = rows(spark, 4, ts=3, first=ROWS - 2)
    clauses = [hudi_spark.Update({"v": functions.lit(0.0), "ts": functions.col("source.ts")})]
    return hudi_spark.merge(source, path, when_matched=clauses, when_not_matched=[hudi_spark.Insert()], options=OPTIONS)


def data_source(spark: SparkSession, folder: Path) -> list[float]:
    path = str(folder / "source")
    rows(spark, ROWS).write.format("hudiformat").options(**FIRST).mode("append").save(path)
    rows(spark, 10, ts=2).write.format("hudiformat").options(**OPTIONS, operation="upsert").mode("append").save(path)
    read = spark.read.format("hudiformat").load(path)
    sums = read.agg(functions.count("*"), functions.sum("ts"), functions.sum("v")).first()
    assert sums is not None
    return list(sums)


def streams(spark: SparkSession, folder: Path) -> list[float]:
    rows(spark, ROWS).write.parquet(str(folder / "incoming"))
    stream = spark.readStream.schema("id string, ts bigint, p string, v double").parquet(str(folder / "incoming"))
    for sink in ("hudiformat", "hudiformat-files"):
        options = FIRST if sink == "hudiformat" else {"sink.rolling-policy.file-size": "1MB"}
        query = stream.writeStream.format(sink).options(**options)
        query = query.option("checkpointLocation", str(folder / f"checkpoint-{sink}"))
        query.trigger(availableNow=True).start(str(folder / sink)).awaitTermination(120)
    return [*state(spark, str(folder / "hudiformat")), spark.read.parquet(str(folder / "hudiformat-files")).count()]


def services(spark: SparkSession, folder: Path) -> list[object]:
    path = str(folder / "things")
    compacted = hudi_spark.compact(spark, path, options=OPTIONS)
    clustered = hudi_spark.cluster(
        spark, path, options={**OPTIONS, "hoodie.clustering.plan.strategy.small.file.limit": "1000000000"}
    )
    hudi_spark.clean(spark, path, options=OPTIONS)
    return [len(compacted), len(clustered), len(hudi_spark.verify(spark, path)), *state(spark, path)]


STEPS: dict[str, Callable[[SparkSession, Path], list[float] | list[object]]] = {
    "write": by_functions(lambda spark, path: hudi_spark.write(rows(spark, ROWS), path, options=FIRST)),
    "upsert": by_functions(lambda spark, path: hudi_spark.upsert(rows(spark, 10, ts=2), path, options=OPTIONS)),
    "merge": by_functions(merge),
    "update": by_functions(
        lambda spark, path: hudi_spark.update(spark, path, {"v": functions.lit(1.0)}, "id = 'k1'", options=OPTIONS)
    ),
    "delete_where": by_functions(
        lambda spark, path: hudi_spark.delete_where(spark, path, "id in ('k2', 'k3')", options=OPTIONS)
    ),
    "create_index": by_functions(
        lambda spark, path: hudi_spark.create_index(spark, path, "record_index", options=OPTIONS)
    ),
    "delete": by_functions(lambda spark, path: hudi_spark.delete(rows(spark, 1, first=5), path, options=OPTIONS)),
    "services": services,
    "delete_partitions": by_functions(
        lambda spark, path: hudi_spark.delete_partitions(spark, path, ["p1"], options=OPTIONS)
    ),
    "data source": data_source,
    "streams": streams,
}


if __name__ == "__main__":
    main()
