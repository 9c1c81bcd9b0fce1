"""The rounds of a load of Lake Loader on Spark, by one engine, in a process of its own.

    python -m benchmarks.lake_loader_job hudiformat|hudi|delta FOLDER upsert|insert PARTITION JARS HEAP

FOLDER has the rows of each round, as :mod:`benchmarks.lake_loader` has written them; PARTITION is a column, or empty;
JARS are Delta's; HEAP is of the JVM, for instance 2g.  Only Spark is imported for Hudi and Delta.  Prints JSON: the
seconds, files and bytes of each round, the most memory over all rounds, and the seconds and the answers of two queries
afterwards.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.spark_job import CORES, SETTINGS, Peak

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KEY, ORDERING, PARTITION, SUMMED = "id", "ts", "p", "v"
CODEC = "zstd"
QUERIES = {"count": "count(1)", "sum": f"sum({SUMMED})"}
_OF_DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.parquet.compression.codec": CODEC,
}


def _keys(partition: str) -> dict[str, str]:
    return {
        "hoodie.table.name": "loaded",
        "hoodie.datasource.write.recordkey.field": KEY,
        "hoodie.datasource.write.precombine.field": ORDERING,
        "hoodie.datasource.write.partitionpath.field": partition,
        "hoodie.parquet.compression.codec": CODEC,
    }


def _write(engine: str, rows: DataFrame, path: str, operation: str, partition: str) -> None:
    if engine == "delta":
        _write_delta(rows, path, operation, partition)
        return
    options = {**_keys(partition), "hoodie.datasource.write.operation": operation}
    if engine == "hudi":
        rows.write.format("hudi").mode("append").options(**options).save(path)
        return
    import hudiformat.spark as hudi_spark

    hudi_spark.write(rows, path, options={key: value for key, value in options.items() if value})


def _write_delta(rows: DataFrame, path: str, operation: str, partition: str) -> None:
    if operation == "insert" or not Path(path).exists():
        rows.write.format("delta").mode("append").partitionBy(*filter(None, [partition])).save(path)
        return
    rows.createOrReplaceTempView("loaded")
    same = " AND ".join(f"t.{name} = s.{name}" for name in filter(None, [KEY, partition]))
    rows.sparkSession.sql(
        f"MERGE INTO delta.`{path}` t USING loaded s ON {same} "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )


def _read(engine: str, spark: SparkSession, path: str, query: str) -> DataFrame:
    if engine != "hudiformat":
        return spark.read.format(engine).load(path)
    import hudiformat.spark as hudi_spark

    return hudi_spark.read(spark, path, columns=[SUMMED] if query == "sum" else [])


def load(spark: SparkSession, engine: str, folder: Path, operation: str, partition: str) -> dict[str, Any]:
    """Write all rounds into a new table, then query it; the table is deleted."""
    target = folder / engine
    rounds: list[dict[str, float]] = []
    with Peak() as peak:
        for inputs in sorted(folder.glob("round-*")):
            # The first round fills the table: Hudi and hudiformat look no keys up for an insert.
            asked = operation if rounds else "insert"
            start = time.perf_counter()
            _write(engine, spark.read.parquet(str(inputs)), str(target), asked, partition)
            seconds = time.perf_counter() - start
            sizes = [one.stat().st_size for one in target.rglob("*") if one.is_file() and one.suffix != ".crc"]
            rounds.append({"seconds": seconds, "files": len(sizes), "bytes": sum(sizes)})
    queries = {}
    for name, text in QUERIES.items():
        taken, answer = [], None
        for _ in range(3):
            start = time.perf_counter()
            rows = _read(engine, spark, str(target), name)
            answer = rows.count() if name == "count" else rows.selectExpr(text).collect()[0][0]
            taken.append(time.perf_counter() - start)
        queries[name] = {"seconds": min(taken), "answer": answer}
    shutil.rmtree(target)
    return {"rounds": rounds, "peak_mb": peak.mb, "queries": queries}


def main(engine: str, folder: str, *given: str) -> None:
    """Print what the load took; the arguments are those of the module."""
    from pyspark.sql import SparkSession

    operation, partition, jars, heap = given
    builder = SparkSession.builder.master(f"local[{CORES}]")
    settings = {
        **SETTINGS,
        "spark.driver.memory": heap,
        **({"spark.driver.extraClassPath": jars, **_OF_DELTA} if engine == "delta" else {}),
    }
    for key, value in settings.items():
        builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    found = load(spark, engine, Path(folder), operation, partition)
    spark.stop()
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
