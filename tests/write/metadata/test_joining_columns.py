"""Columns that get statistics later: in version 6, where no definition names the columns that have some."""

from __future__ import annotations

import math
from pathlib import Path

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat.metadata_table.partition import open_partition
from hudiformat.metadata_table.stat_lookup import statistics_of_files
from tests.metadata_tables import indexed_table

OLD = pa.schema([("k", pa.string()), ("p", pa.string()), ("ts", pa.int64()), ("n", pa.int32())])
NEW = OLD.append(pa.field("f", pa.float64()))
OPTIONS = {"hoodie.parquet.small.file.limit": "0", "hoodie.schema.on.read.enable": "true"}


def made(path: Path, version: int) -> hf.Table:
    table = indexed_table(
        path, version=version, schema=OLD, options={"hoodie.metadata.index.column.stats.enable": "true", **OPTIONS}
    )
    table.insert(pa.table({"k": ["a", "b"], "p": ["x", "y"], "ts": [1, 1], "n": [11, 12]}, OLD))
    return table


def bounds(path: Path, column: str) -> dict[str, list[tuple[object, object, int]]]:
    """The bounds and the nulls of a column in the files of each partition."""
    state = hf.open_table(path)._context.state()
    parts = open_partition(state.storage, state.config, state.timeline, "column_stats")
    every = {one: statistics_of_files(parts, one, [column]) for one in "xy"}
    return {
        one: sorted(((s.lower, s.upper, s.nulls) for stats in files.values() for s in stats.values() if s), key=repr)
        for one, files in every.items()
    }


@pytest.mark.parametrize("version", [6, 8, 9])
def test_older_files_get_records_with_bounds_that_leave_out_no_value(tmp_path: Path, version: int) -> None:
    table = made(tmp_path / "t", version)
    table.insert(pa.table({"k": ["c"], "p": ["y"], "ts": [1], "n": [11], "f": [2.5]}, NEW))
    unknown = (-math.inf, math.inf, 1)
    assert bounds(tmp_path / "t", "f") == {"x": [unknown], "y": [unknown, (2.5, 2.5, 0)]}
    assert sorted(table.snapshot(filter="f is null")["k"].to_pylist()) == ["a", "b"]
    table.insert(pa.table({"k": ["d"], "p": ["x"], "ts": [1], "n": [11], "f": [3.5]}, NEW))
    assert bounds(tmp_path / "t", "f")["x"] == [unknown, (3.5, 3.5, 0)]


@pytest.mark.parametrize("change", ["rename", "add"])
def test_a_change_of_columns_alone_adds_them_too(tmp_path: Path, change: str) -> None:
    table = made(tmp_path / "t", 6)
    table.evolve(rename={"n": "m"}) if change == "rename" else table.evolve(add={"m": pa.int32()})
    assert bounds(tmp_path / "t", "m") == {one: [(-(2**31), 2**31 - 1, 1)] for one in "xy"}


WIDE = OLD.append(pa.field("d", pa.decimal128(38, 10)))


def test_a_table_one_of_whose_columns_cannot_have_statistics_has_none(tmp_path: Path) -> None:
    table = indexed_table(
        tmp_path / "t", version=6, schema=WIDE, options={"hoodie.metadata.index.column.stats.enable": "true", **OPTIONS}
    )
    table.insert(pa.table({"k": ["a"], "p": ["x"], "ts": [1], "n": [11], "d": [10**27]}, WIDE))
    assert bounds(tmp_path / "t", "n") == bounds(tmp_path / "t", "d") == {"x": [], "y": []}
    assert table.snapshot(filter="n = 11 and d > 5")["k"].to_pylist() == ["a"]
    assert table.verify() == []


def test_a_column_without_statistics_that_joins_has_records_in_older_files_and_newer_ones_have_none(
    tmp_path: Path,
) -> None:
    table = made(tmp_path / "t", 6)
    table.insert(pa.table({"k": ["c"], "p": ["y"], "ts": [1], "n": [11], "d": [10**27]}, WIDE))
    assert bounds(tmp_path / "t", "d") == {one: [(None, None, 1)] for one in "xy"}
    assert bounds(tmp_path / "t", "n") == {"x": [(11, 11, 0)], "y": [(12, 12, 0)]}
    assert table.snapshot(filter="n = 11 and d > 5")["k"].to_pylist() == ["c"]
    assert table.verify() == []


def test_milliseconds_have_bounds_that_leave_out_no_value(tmp_path: Path) -> None:
    schema = OLD.append(pa.field("at", pa.timestamp("ms", "UTC")))
    table = indexed_table(
        tmp_path / "t",
        version=6,
        schema=schema,
        options={"hoodie.metadata.index.column.stats.enable": "true", **OPTIONS},
    )
    table.insert(pa.table({"k": ["a"], "p": ["x"], "ts": [1], "n": [11], "at": [5]}, schema))
    [(lower, upper, nulls)] = bounds(tmp_path / "t", "at")["x"]
    assert (lower < -(10**15), upper > 10**15, nulls) == (True, True, 0)  # type: ignore[operator]  # numbers
