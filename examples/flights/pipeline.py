"""The pipeline: each month inserts the schedule, upserts reports as they arrive, and deletes cancelled flights.

Reports arrive late and out of order: one departure in twenty is reported only after the aircraft has arrived.  The
table orders by event time, so these late reports must not change a row.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import sum as sum_

import hudiformat as hf
import hudiformat.spark
from examples.flights import reports

DEFAULT_PATH = "build/flights"

OPTIONS = {
    "hoodie.index.type": "BUCKET",
    "hoodie.bucket.index.num.buckets": "2",
    # Small, so that the demo rolls log files over; Hudi's defaults are 256 MB and 1 GB.
    "hoodie.logfile.data.block.max.size": str(256 * 1024),
    "hoodie.logfile.max.size": str(1024 * 1024),
}


def run(path: str, *, months: int = 12) -> bool:
    """Build the table at *path*, and return whether every row is as expected."""
    spark = start_spark()
    # With cache() Spark plans each write for seconds; a checkpoint has no plan behind it.
    flights = reports.load_flights(spark).where(f"month <= '2013-{months:02d}'").localCheckpoint()
    create(path)
    for number in range(1, months + 1):
        name, began = f"2013-{number:02d}", time.perf_counter()
        commits = write_month(path, flights.where(f"month = '{name}'"))
        rows = sum(commit.num_writes + commit.num_deletes for commit in commits)
        print(f"{name}: {rows:,} rows in {len(commits)} commits, {time.perf_counter() - began:.1f} s", flush=True)
    print("reading the table back and comparing ...", flush=True)
    differing = count_differing(spark, path, flights)
    slices = hf.open_table(path).file_slices()
    print(f"{len(slices)} file groups, {sum(len(one.log_files) for one in slices)} log files")
    print(f"rows that differ from plain Spark: {differing}")
    return differing == 0


def start_spark() -> SparkSession:
    """Return a local session with two threads whose workers use the running Python interpreter."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return (
        SparkSession.builder.appName("hudiformat flights")
        .master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "2g")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "4")
        .getOrCreate()
    )


def create(path: str) -> None:
    """Create an empty table at *path*, replacing an existing table."""
    if Path(path, ".hoodie").is_dir():
        shutil.rmtree(path)
    hf.create_table(
        path,
        name="flights",
        schema=reports.SCHEMA,
        record_key=reports.KEY,
        ordering=["event_time"],
        partition_by=["month"],
        table_type="MERGE_ON_READ",
        version=9,
        options=OPTIONS,
    )


def write_month(path: str, flights: DataFrame) -> list[hf.Commit]:
    """Write the reports of a month in four commits."""
    departures, arrivals = reports.departed(flights), reports.arrived(flights)
    is_late, is_quick = reports.is_one_in(20), reports.is_one_in(10)
    on_time = departures.where(~is_late).unionByName(arrivals.where(is_quick))
    # Late departures have an earlier event time than the arrivals already in the table or in the same commit.
    rest = arrivals.where(~is_quick).unionByName(departures.where(is_late | is_quick))
    return [
        hudiformat.spark.insert(reports.scheduled(flights), path, options=OPTIONS),
        hudiformat.spark.upsert(on_time, path, options=OPTIONS),
        hudiformat.spark.upsert(rest, path, options=OPTIONS),
        hudiformat.spark.delete(reports.cancelled(flights), path, options=OPTIONS),
    ]


def count_differing(spark: SparkSession, path: str, flights: DataFrame) -> int:
    """Return how many rows the table has that plain DataFrame code does not give, and how many it lacks."""
    found = hudiformat.spark.read(spark, path, columns=reports.SCHEMA.names)
    wanted = reports.expected(flights)
    both = found.selectExpr("*", "1 more").unionAll(wanted.selectExpr("*", "-1 more"))
    [row] = both.groupBy(found.columns).agg(sum_("more").alias("more")).selectExpr("sum(abs(more)) differing").collect()
    return int(row.differing or 0)
