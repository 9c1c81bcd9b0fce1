"""The statistics in the footer of a base file: those that can be trusted, and which columns have to be read."""

from __future__ import annotations

import datetime as dt
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudiformat.codec.statistics import ColumnStatistics
from hudiformat.errors import CorruptTableError
from hudiformat.file_group.base_file.footers import Footer, read_footer
from hudiformat.storage.local import LocalStorage

COLUMNS = pa.table(
    {
        "i": pa.array([3, None, 1], pa.int32()),
        "s": pa.array(["b", "a", None]),
        "day": pa.array([dt.date(1970, 1, 3), None, dt.date(1970, 1, 2)]),
        "at": pa.array([5, 4, None], pa.timestamp("us", "UTC")),
        "flag": pa.array([True, None, False]),
        "none": pa.array([None, None, None], pa.int64()),
        "d": pa.array([1.0, math.nan, 0.5]),
        "nested": pa.array([{"x": 7}, None, {"x": None}], pa.struct([("x", pa.int64())])),
    }
)


def footer(folder: Path, rows: pa.Table, schema: pa.Schema, columns: list[str], **options: Any) -> Footer:
    pq.write_table(rows, folder / "f.parquet", **options)
    return read_footer(LocalStorage(folder), "f.parquet", schema, columns)


def bounds(found: Footer) -> dict[str, tuple[object, object, int, int]]:
    return {name: (one.lower, one.upper, one.values, one.nulls) for name, one in found.columns.items()}


def test_bounds_of_several_row_groups(tmp_path: Path) -> None:
    names = ["i", "s", "day", "at", "flag", "none", "nested.x"]
    found = footer(tmp_path, COLUMNS, COLUMNS.schema, names, row_group_size=2)
    assert found.rows == 3
    assert found.unknown == ()
    assert bounds(found) == {
        "i": (1, 3, 3, 1),
        "s": ("a", "b", 3, 1),
        "day": (1, 2, 3, 1),
        "at": (4, 5, 3, 1),
        "flag": (False, True, 3, 1),
        "none": (None, None, 3, 3),
        "nested.x": (7, 7, 3, 2),
    }
    assert found.sizes["i"][0] > 0


def test_floating_point_numbers_have_to_be_read(tmp_path: Path) -> None:
    """A NaN is in no bound of Parquet."""
    assert footer(tmp_path, COLUMNS, COLUMNS.schema, ["d", "i"]).unknown == ("d",)


def test_a_column_without_statistics_has_to_be_read(tmp_path: Path) -> None:
    found = footer(tmp_path, COLUMNS, COLUMNS.schema, ["i", "s"], write_statistics=["s"])
    assert (list(found.columns), found.unknown) == (["s"], ("i",))


def test_a_column_of_another_type_has_to_be_read(tmp_path: Path) -> None:
    wider = COLUMNS.schema.set(0, pa.field("i", pa.int64()))
    assert footer(tmp_path, COLUMNS, wider, ["i"]).unknown == ("i",)


def test_a_column_that_the_file_has_not_is_left_out(tmp_path: Path) -> None:
    found = footer(tmp_path, COLUMNS.select(["i"]), COLUMNS.schema, ["s", "nested.x"])
    assert (found.columns, found.unknown) == ({}, ())


def test_long_texts_are_cut(tmp_path: Path) -> None:
    rows = pa.table({"s": ["x" * 3000]})
    found = footer(tmp_path, rows, rows.schema, ["s"]).columns["s"]
    assert found == ColumnStatistics(pa.string(), "x" * 400, "x" * 399 + "y", 1, 0)


def test_a_file_without_rows(tmp_path: Path) -> None:
    found = footer(tmp_path, COLUMNS.slice(0, 0), COLUMNS.schema, ["i"])
    assert (found.rows, found.columns, found.unknown) == (0, {}, ("i",))


def test_a_file_that_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "f.parquet").write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(CorruptTableError, match="not a readable base file"):
        read_footer(LocalStorage(tmp_path), "f.parquet", COLUMNS.schema, ["i"])
