"""Writes and reads of a table by Spark, by hudiformat's layer or by Hudi's own, in a process of its own.

    python -m benchmarks.spark_job hudiformat|hudi FOLDER ROUNDS [WORK]
    python -m benchmarks.spark_job whole TABLE ROUNDS
    python -m benchmarks.spark_job small-hudiformat|small-hudi FOLDER ROUNDS
    python -m benchmarks.spark_job cluster FOLDER ROUNDS

FOLDER is what :func:`benchmarks.spark_tables.prepare` has made; of TABLE Hudi reads all rows, for nothing; the third
makes the small upserts of :mod:`benchmarks.indexes`, whose tables and batches are in FOLDER, and with the last Hudi
clusters the table of :mod:`benchmarks.clustering`.  Only Spark is imported for Hudi, which runs on the PySpark and in
the environment of its own.  Prints JSON: by what was done, the seconds of the best round, on the clock and of the
processors, and the most memory in MB that the driver, its JVM and Python's workers had together.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CORES, HEAP = 2, "2g"
SETTINGS = {
    "spark.driver.memory": HEAP,
    "spark.driver.extraJavaOptions": "-Djol.skipHotspotSAAttach=true",  # Hudi's; the JVM's own flags are its defaults
    "spark.sql.shuffle.partitions": str(CORES),
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
INPUT, UPSERTED, READ = "rows.parquet", "upserted", "read"
KEY, ORDERING, PARTITION, SUMMED = "id", "large", "city", "small"
ONLY_FILES = {"hoodie.metadata.enable": "false"}
BUCKETS = {**ONLY_FILES, "hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}
INDEXED = {"hoodie.metadata.enable": "true", "hoodie.metadata.record.index.enable": "true"}
SMALL_UPSERTS = {**INDEXED, "hoodie.compact.inline.max.delta.commits": "1000"}
"""No compaction runs in between: Hudi's data source has it on by itself."""
SIMPLE = {**ONLY_FILES, "hoodie.index.type": "SIMPLE"}

WHOLE, SMALL, CLUSTER = "whole", "small-", "cluster"
CLUSTERED = "small files"
"""The table that is clustered, in its folder."""
ORDER = "number_0,number_1"
LAYOUTS = {"as they come": None, "linear": "linear", "z-order": "z-order", "Hilbert": "hilbert"}
"""How the rows of the clustered files are ordered, and Hudi's word for it."""

Works = dict[str, tuple[Callable[[], object], Callable[[], object]]]
"""By name, what comes before and is not timed, and what is."""

Writer = Callable[["DataFrame", str, str, Mapping[str, str]], None]
"""Takes rows, a path, an operation and options."""


class Peak(threading.Thread):
    """The most memory that this process and all below it take, looked at four times a second.  A context manager."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.mb = 0.0
        self._done = threading.Event()

    def __enter__(self) -> Peak:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self.join()

    def run(self) -> None:
        """Look until the context is left."""
        while not self._done.wait(0.25):
            self.mb = max(self.mb, sum(map(_own_mb, _family())))


def _family() -> list[int]:
    """The ids of this process and of all that it has started, and they."""
    found = [int(Path("/proc/self").resolve().name)]
    for process in found:
        with suppress(OSError):
            for children in Path(f"/proc/{process}/task").glob("*/children"):
                found += map(int, children.read_text().split())
    return found


def _cpu_seconds() -> float:
    """What this process and all below it have computed, those too that have ended."""
    ticks = 0
    for process in _family():
        with suppress(OSError):
            words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, words[11:15]))  # its own, and of those it has waited for: user, system
    return ticks / os.sysconf("SC_CLK_TCK")


def _own_mb(process: int) -> float:
    """What a process has in memory; what it shares with others is shared out."""
    with suppress(OSError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    return 0.0


def _by_hudi(rows: DataFrame, path: str, operation: str, options: Mapping[str, str]) -> None:
    writer = rows.write.format("hudi").mode("append").options(**options)
    for key, value in {
        "hoodie.table.name": "rows",
        "hoodie.datasource.write.table.type": "MERGE_ON_READ",
        "hoodie.datasource.write.operation": operation,
        "hoodie.datasource.write.recordkey.field": KEY,
        "hoodie.datasource.write.partitionpath.field": PARTITION,
        "hoodie.table.ordering.fields": ORDERING,
    }.items():
        writer = writer.option(key, value)
    writer.save(path)


def _by_hudiformat(rows: DataFrame, path: str, operation: str, options: Mapping[str, str]) -> None:
    import hudiformat as hf
    import hudiformat.spark as hudi_spark
    from hudiformat.spark.write.schema import arrow_schema

    if not Path(path).exists():
        schema = arrow_schema(rows.schema)
        hf.create_table(
            path, name="rows", schema=schema, record_key=[KEY], ordering=[ORDERING], partition_by=[PARTITION]
        )
    getattr(hudi_spark, operation)(rows, path, options=dict(options))


WRITERS: dict[str, Writer] = {"hudi": _by_hudi, "hudiformat": _by_hudiformat}


class Job:
    """What is measured, in one session of Spark."""

    def __init__(self, spark: SparkSession, engine: str, folder: Path) -> None:
        self._spark = spark
        self._engine = engine
        self._folder = folder
        self._target = str(folder / "target")
        self._rows = spark.read.parquet(str(folder / INPUT))
        self._count = self._rows.count()

    def works(self) -> Works:
        """What is measured."""
        return {
            "parquet": (self._empty, self._write_parquet),
            "insert": (self._empty, lambda: self._write("insert", SIMPLE)),
            "upsert": (self._copy, lambda: self._write("upsert", BUCKETS)),
            "read": (bool, lambda: self._read(pruned=True)),
            "read, not told what": (bool, lambda: self._read(pruned=False)),
        }

    def _empty(self) -> None:
        shutil.rmtree(self._target, ignore_errors=True)

    def _copy(self) -> None:
        self._empty()
        shutil.copytree(self._folder / UPSERTED, self._target)

    def _write_parquet(self) -> None:
        self._rows.write.partitionBy(PARTITION).parquet(self._target)

    def _write(self, operation: str, options: Mapping[str, str]) -> None:
        WRITERS[self._engine](self._rows, self._target, operation, options)

    def _read(self, *, pruned: bool) -> None:
        """Count and sum.  A data source in Python is not told which columns are asked for, except by a schema."""
        reader = self._spark.read.format(self._engine).options(**ONLY_FILES)
        if pruned and self._engine == "hudiformat":
            reader = reader.schema(f"{SUMMED} int")
        rows = reader.load(str(self._folder / READ))
        found = rows.selectExpr("count(1)", f"sum({SUMMED})").first()
        assert found is not None
        assert found[0] == self._count


def whole(spark: SparkSession, table: str) -> Works:
    """Reading all of a table with Hudi."""
    rows = spark.read.format("hudi").load(table)
    return {"read": (bool, lambda: rows.write.format("noop").mode("overwrite").save())}


def small(spark: SparkSession, engine: str, folder: Path) -> Works:
    """An upsert of a batch, by several indexes; each round another batch, into one copy of the table for each index."""
    works: Works = {}
    for index in ("RECORD_INDEX", "SIMPLE", "BLOOM"):
        path, numbers, options = folder / f"{engine}-{index}", count(), {**SMALL_UPSERTS, "hoodie.index.type": index}
        rows: list[DataFrame] = []

        def before(path: Path = path, numbers: Iterator[int] = numbers, rows: list[DataFrame] = rows) -> None:
            if not path.exists():
                shutil.copytree(folder / "table", path)
            rows[:] = [spark.read.parquet(str(folder / f"batch-{next(numbers)}.parquet"))]

        def action(path: Path = path, options: Mapping[str, str] = options, rows: list[DataFrame] = rows) -> None:
            WRITERS[engine](rows[0], str(path), "upsert", options)

        works[index] = before, action
    return works


def clusterings(spark: SparkSession, folder: Path) -> Works:
    """Clustering a copy of the table with Hudi, in each layout."""
    works: Works = {}
    for layout, strategy in LAYOUTS.items():
        path = folder / "copy"
        order = "" if strategy is None else f", order => '{ORDER}', order_strategy => '{strategy}'"

        def before(path: Path = path) -> None:
            shutil.rmtree(path, ignore_errors=True)
            shutil.copytree(folder / CLUSTERED, path)

        def action(path: Path = path, order: str = order) -> None:
            found = spark.sql(f"call run_clustering(path => '{path}'{order})").collect()
            assert len(found) == 1

        works[layout] = before, action
    return works


def measure(works: Works, rounds: int, only: str | None = None) -> dict[str, dict[str, float]]:
    """Each work, after one round that does not count."""
    found = {}
    for name, (before, action) in works.items():
        if only not in (None, name):
            continue
        seconds, cpu = [], []
        with Peak() as peak:
            for _ in range(rounds + 1):
                before()
                start, computed = time.perf_counter(), _cpu_seconds()
                action()
                seconds.append(time.perf_counter() - start)
                cpu.append(_cpu_seconds() - computed)
        found[name] = {"seconds": min(seconds[1:]), "cpu_seconds": min(cpu[1:]), "peak_mb": peak.mb}
    return found


def main(engine: str, folder: str, rounds: str, only: str | None = None) -> None:
    """Print what each work took, or *only* one."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{CORES}]")
    for key, value in SETTINGS.items():
        builder.config(key, value)
    if engine == CLUSTER:
        builder.config("spark.sql.extensions", "org.apache.spark.sql.hudi.HoodieSparkSessionExtension")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    if engine in ("hudiformat", f"{SMALL}hudiformat"):
        import hudiformat.spark as hudi_spark

        hudi_spark.register(spark)
    if engine == CLUSTER:
        works = clusterings(spark, Path(folder))
    elif engine == WHOLE:
        works = whole(spark, folder)
    elif engine.startswith(SMALL):
        works = small(spark, engine.removeprefix(SMALL), Path(folder))
    else:
        works = Job(spark, engine, Path(folder)).works()
    found = measure(works, int(rounds), only)
    spark.stop()
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
