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


def test_older_files_get_records_with_bounds_that_leave_out_no_value(tmp_path: Path) -> None:
    table = made(tmp_path / "t", 6)
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


def test_from_version_8_on_the_definition_says_which_columns_have_statistics(tmp_path: Path) -> None:
    table = made(tmp_path / "t", 9)
    table.insert(pa.table({"k": ["c"], "p": ["y"], "ts": [1], "n": [11], "f": [2.5]}, NEW))
    assert bounds(tmp_path / "t", "f") == {"x": [], "y": []}
