"""The job: month by month the schedule is inserted, reports are upserted as they come in, cancelled flights deleted.

Reports come late and out of order: one departure in twenty is reported only after the aircraft has arrived.  The table
orders by event time, so those reports change nothing, as they must not.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import hudiformat as hf
import hudiformat.spark
from examples.flights import reports
from examples.flights.summary import print_summary

DEFAULT_PATH = "build/flights"

OPTIONS = {
    "hoodie.index.type": "BUCKET",
    "hoodie.bucket.index.num.buckets": "2",
    # Small, so that the demo rolls log files over; Hudi's defaults are 256 MB and 1 GB.
    "hoodie.logfile.data.block.max.size": str(256 * 1024),
    "hoodie.logfile.max.size": str(1024 * 1024),
    # All commits stay on the active timeline, for the reports to look at.
    "hoodie.archive.automatic": "false",
}


@dataclass(frozen=True, slots=True)
class Step:
    """One commit: what it does, and what with."""

    name: str
    write: Callable[..., hf.Commit]
    rows: DataFrame


def run(path: str, *, months: int = 12, spark: SparkSession | None = None, console: Console | None = None) -> bool:
    """Build the table at *path* and check it; whether every row is as it has to be."""
    console = console or Console()
    spark = spark or start_spark()
    hudiformat.spark.register(spark)
    flights = reports.load_flights(spark).where(f"month <= '2013-{months:02d}'").cache()
    check_key(flights, console)
    create(path)
    started = time.perf_counter()
    commits = write_months(path, flights, months, console)
    seconds = time.perf_counter() - started
    differing = check(spark, path, flights, console)
    print_summary(console, hf.open_table(path), commits, seconds, differing)
    return differing == 0


def start_spark() -> SparkSession:
    """A local session with two threads, whose Python workers are this Python."""
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


def check_key(flights: DataFrame, console: Console) -> None:
    """Say why the record key is what it is."""
    total = flights.count()
    for key in (reports.OBVIOUS_KEY, reports.KEY):
        doubled = total - flights.select(*key).distinct().count()
        verdict = "unique" if doubled == 0 else f"not unique: {doubled} flights share theirs"
        console.print(f"key {', '.join(key)}: {verdict}")
    if doubled:
        raise SystemExit("the record key is not unique")


def create(path: str) -> None:
    """An empty table at *path*, in place of whatever was there."""
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


def steps(flights: DataFrame) -> Iterator[Step]:
    """The commits of one month."""
    departures, arrivals = reports.departed(flights), reports.arrived(flights)
    is_late, is_quick = reports.is_one_in(20), reports.is_one_in(10)
    yield Step("schedule", hudiformat.spark.insert, reports.scheduled(flights))
    yield Step("departures", hudiformat.spark.upsert, departures.where(~is_late).unionByName(arrivals.where(is_quick)))
    # Late departures are older than the arrivals that the table has, or gets in the same commit.
    rest = arrivals.where(~is_quick).unionByName(departures.where(is_late | is_quick))
    yield Step("arrivals", hudiformat.spark.upsert, rest)
    yield Step("cancellations", hudiformat.spark.delete, reports.cancelled(flights))


def write_months(path: str, flights: DataFrame, months: int, console: Console) -> list[hf.Commit]:
    """Write all months; shows progress, a bar in a terminal and a line per month elsewhere."""
    commits = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        bar = progress.add_task("commits", total=4 * months)
        for month in range(1, months + 1):
            name = f"2013-{month:02d}"
            began = time.perf_counter()
            for step in steps(flights.where(f"month = '{name}'")):
                progress.update(bar, description=f"{name} {step.name:13}")
                commits.append(step.write(step.rows, path, options=OPTIONS))
                progress.advance(bar)
            if not console.is_terminal:
                rows = sum(commit.num_writes + commit.num_deletes for commit in commits[-4:])
                console.print(f"{name}: {rows} rows in 4 commits, {time.perf_counter() - began:.1f} s")
    return commits


def check(spark: SparkSession, path: str, flights: DataFrame, console: Console) -> int:
    """How many rows differ between the table, read back through Spark, and plain DataFrame code."""
    console.print("reading the table back and comparing ...")
    found = spark.read.format("hudiformat").load(path).select(*reports.SCHEMA.names).cache()
    wanted = reports.expected(flights).cache()
    return found.exceptAll(wanted).count() + wanted.exceptAll(found).count()
