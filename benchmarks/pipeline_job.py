"""A pipeline's writes, reads and small commits on Spark, by one engine, in a process of its own.

    python -m benchmarks.pipeline_job functions|source|hudi|parquet FOLDER ROUNDS

FOLDER has the rows and the tables that :mod:`benchmarks.pipeline` has made.  Only Spark is imported for Hudi and
Parquet.  Prints JSON: by engine and by what was done, the seconds of the best round after one that does not count; of
writes also jobs and writing tasks of one round, and the most memory in MB that the driver, its JVM and Python's workers
had together.  The functions read in turns with Parquet's own reader, in one JVM: else the warmer one would win.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.spark_job import CORES, SETTINGS, Peak

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS, FEW, MANY, MANY_FEW = "rows.parquet", "few.parquet", "many.parquet", "many-few.parquet"
TABLES = {"copy-on-write": "cow", "a tenth with log files": "mor"}
KEYS = {
    "hoodie.table.name": "rows",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.index.type": "SIMPLE",
    "hoodie.metadata.enable": "false",
}
BUCKETED = {
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.partitionpath.field": "flag",
    "hoodie.index.type": "BUCKET",
    "hoodie.bucket.index.num.buckets": "256",
}
"""Instead of the same of KEYS: 512 file groups."""
SMALL, FIRST, INSERT, UPSERT = "upsert of 20,000 rows", "first load by upsert", "insert", "upsert of all rows"
SPREAD = "upsert of 20,000 rows into 512 buckets"
INTO_MANY, CHANGE_MANY, SUM_MANY = "insert into 500 partitions", "upsert of 1 % of them", "count and sum of them"
"""20 rows in each partition; the table is merge-on-read."""
READS = 3
"""Rounds of reads for each of writes."""
QUERIES: dict[str, tuple[str | None, list[str] | None]] = {
    "count": (None, []),
    "count, not told so": (None, None),
    "one column": (None, ["large"]),
    "a partition": ("p = 'p3'", ["large", "p"]),
    "a key": ("id = 'k000123456'", None),
    "all columns": (None, None),
}

Write = Callable[["DataFrame", str, str, Mapping[str, str]], None]


def writer_of(engine: str) -> Write:
    """How *engine* writes rows to a path by an operation."""

    def by_source(rows: DataFrame, path: str, operation: str, keys: Mapping[str, str]) -> None:
        name = "hudi" if engine == "hudi" else "hudiformat"
        options = {**keys, "hoodie.datasource.write.operation": operation}
        rows.write.format(name).mode("append").options(**options).save(path)

    def by_functions(rows: DataFrame, path: str, operation: str, keys: Mapping[str, str]) -> None:
        import hudiformat.spark as hudi_spark

        hudi_spark.write(rows, path, options={**keys, "hoodie.datasource.write.operation": operation})

    def as_parquet(rows: DataFrame, path: str, _operation: str, _keys: Mapping[str, str]) -> None:
        rows.write.partitionBy("p").mode("append").parquet(path)

    return {"functions": by_functions, "parquet": as_parquet}.get(engine, by_source)


def reader_of(engine: str, spark: SparkSession) -> Callable[..., DataFrame]:
    """How *engine* reads a table: its path, and a filter and columns where it takes them."""

    def read(path: str, where: str | None, columns: list[str] | None) -> DataFrame:
        if engine == "functions":
            import hudiformat.spark as hudi_spark

            return hudi_spark.read(spark, path, columns=columns, filter=where)
        if engine == "parquet":
            found = spark.read.parquet(*map(str, sorted(Path(path).glob("*/*.parquet"))))
        else:
            found = spark.read.format("hudi" if engine == "hudi" else "hudiformat").load(path)
        found = found if where is None else found.where(where)
        return found.select(*columns) if columns else found

    return read


def asked(name: str, rows: DataFrame) -> None:
    """Have Spark do what a query asks for."""
    if name.startswith("count"):
        rows.count()
    elif name == "a key":
        rows.collect()
    else:
        rows.write.format("noop").mode("overwrite").save()


class Job:
    """What is measured, in one session."""

    def __init__(self, spark: SparkSession, engine: str, folder: Path, rounds: int, *, reads: int = READS) -> None:
        self._reads = reads
        self._spark, self._engine, self._folder, self._rounds = spark, engine, folder, rounds
        self._target = folder / f"target-{engine}"
        self._groups = count()
        self._readers = (engine, "parquet") if engine == "functions" else (engine,)
        self.found: dict[str, dict[str, Any]] = {name: {} for name in self._readers}

    def measure(self, name: str, before: Callable[[], object], action: Callable[[], object]) -> None:
        """Best seconds, jobs, tasks that wrote, and memory."""
        seconds, jobs, context = [], 0, self._spark.sparkContext
        with Peak() as peak:
            for _ in range(self._rounds + 1):
                before()
                files, group = self._files(), f"group-{next(self._groups)}"
                context.setJobGroup(group, name)
                start = time.perf_counter()
                action()
                seconds.append(time.perf_counter() - start)
                jobs = len(context.statusTracker().getJobIdsForGroup(group))
        new = self._files() - files
        tasks = {match[0] for path in new if (match := re.search(r"\d+-\d+-\d+", path.partition("_")[2]))}
        self.found[self._engine][name] = {
            "seconds": min(seconds[1:]),
            "jobs": jobs,
            "tasks": len(tasks) if self._engine != "parquet" else CORES,
            "peak_mb": peak.mb,
        }

    def _files(self) -> set[str]:
        return {path.name for path in self._target.glob("*/*") if "_" in path.name and path.suffix != ".crc"}

    def writes(self) -> None:
        """First load, insert, upsert of all rows, and upserts of few."""
        rows, few = (self._spark.read.parquet(str(self._folder / name)) for name in (ROWS, FEW))
        by, path = writer_of(self._engine), str(self._target)

        def write(rows: DataFrame, path: str, operation: str, keys: Mapping[str, str] = KEYS) -> None:
            by(rows, path, operation, keys)

        def empty() -> None:
            shutil.rmtree(self._target, ignore_errors=True)

        if self._engine == "parquet":
            self.measure(INSERT, empty, lambda: write(rows, path, "insert"))
            return
        self.measure(FIRST, empty, lambda: write(rows, path, "upsert"))
        self.measure(INSERT, empty, lambda: write(rows, path, "insert"))
        self.measure(UPSERT, bool, lambda: write(rows, path, "upsert"))
        self.measure(SMALL, bool, lambda: write(few, path, "upsert"))
        empty()
        self.measure(SPREAD, bool, lambda: write(few, path, "upsert", KEYS | BUCKETED))
        self._many(empty)

    def _many(self, empty: Callable[[], object]) -> None:
        """A table with many small partitions: it is filled, changed and read."""
        rows, few = (self._spark.read.parquet(str(self._folder / name)) for name in (MANY, MANY_FEW))
        by, path = writer_of(self._engine), str(self._target)
        read = reader_of(self._engine, self._spark)
        keys = KEYS | {"hoodie.datasource.write.table.type": "MERGE_ON_READ"}
        self.measure(INTO_MANY, empty, lambda: by(rows, path, "insert", keys))
        self.measure(CHANGE_MANY, bool, lambda: by(few, path, "upsert", keys))
        self.measure(SUM_MANY, bool, lambda: read(path, None, ["large"]).selectExpr("count(1)", "sum(large)").first())

    def reads(self) -> None:
        """The queries, of both tables."""
        readers = {engine: reader_of(engine, self._spark) for engine in self._readers}
        for table, folder in TABLES.items():
            for name, (where, columns) in QUERIES.items():
                taken: dict[str, list[float]] = {engine: [] for engine in readers}
                for _ in range(self._reads * self._rounds + 1):
                    for engine, read in readers.items():
                        start = time.perf_counter()
                        asked(name, read(str(self._folder / folder), where, columns))
                        taken[engine].append(time.perf_counter() - start)
                for engine, seconds in taken.items():
                    self.found[engine][f"{name}, {table}"] = {"seconds": min(seconds[1:])}


def main(engine: str, folder: str, rounds: str) -> None:
    """Print what everything took."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{CORES}]")
    settings: Mapping[str, str] = SETTINGS
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    if engine in ("functions", "source"):
        import hudiformat.spark as hudi_spark

        hudi_spark.register(spark)
    job = Job(spark, engine, Path(folder), int(rounds))
    job.writes()
    if engine != "parquet":  # whose reads are measured beside the functions
        job.reads()
    spark.stop()
    sys.stdout.write(json.dumps(job.found) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
