"""The pipeline: each month inserts the schedule, upserts reports as they arrive, and deletes cancelled flights.

Reports arrive late and out of order: one departure in twenty is reported only after the aircraft has arrived.  The
table orders by event time, so these late reports must not change a row.
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
    # Keep all commits on the active timeline, so that the summary can read them.
    "hoodie.archive.automatic": "false",
}


@dataclass(frozen=True, slots=True)
class Step:
    """One commit: its name, the function that writes it, and its rows."""

    name: str
    write: Callable[..., hf.Commit]
    rows: DataFrame


def run(path: str, *, months: int = 12, spark: SparkSession | None = None, console: Console | None = None) -> bool:
    """Build the table at *path*, and return whether every row is as expected."""
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


def check_key(flights: DataFrame, console: Console) -> None:
    """Print whether each candidate for the record key is unique, and exit if the chosen key is not."""
    total = flights.count()
    for key in (reports.OBVIOUS_KEY, reports.KEY):
        doubled = total - flights.select(*key).distinct().count()
        verdict = "unique" if doubled == 0 else f"not unique: {doubled} flights share theirs"
        console.print(f"key {', '.join(key)}: {verdict}")
    if doubled:
        raise SystemExit("the record key is not unique")


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


def steps(flights: DataFrame) -> Iterator[Step]:
    """Yield the commits of one month."""
    departures, arrivals = reports.departed(flights), reports.arrived(flights)
    is_late, is_quick = reports.is_one_in(20), reports.is_one_in(10)
    yield Step("schedule", hudiformat.spark.insert, reports.scheduled(flights))
    yield Step("departures", hudiformat.spark.upsert, departures.where(~is_late).unionByName(arrivals.where(is_quick)))
    # Late departures have an earlier event time than the arrivals already in the table or in the same commit.
    rest = arrivals.where(~is_quick).unionByName(departures.where(is_late | is_quick))
    yield Step("arrivals", hudiformat.spark.upsert, rest)
    yield Step("cancellations", hudiformat.spark.delete, reports.cancelled(flights))


def write_months(path: str, flights: DataFrame, months: int, console: Console) -> list[hf.Commit]:
    """Write all months and return the commits; show a progress bar in a terminal, otherwise a line per month."""
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
    """Return how many rows differ between the table, read through Spark, and the result of plain DataFrame code."""
    console.print("reading the table back and comparing ...")
    found = spark.read.format("hudiformat").load(path).select(*reports.SCHEMA.names).cache()
    wanted = reports.expected(flights).cache()
    return found.exceptAll(wanted).count() + wanted.exceptAll(found).count()
