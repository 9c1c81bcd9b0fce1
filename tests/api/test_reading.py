"""What a table object is asked: columns, filters, file slices."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudiformat import SchemaError, Table, UnsupportedFeatureError, open_table
from tests.tables import GoldenTable, multiset, new_table, rows


def test_columns_and_filters(table: Table) -> None:
    table.insert(rows(("a", 1, "x", 1), ("b", 2, "y", 2)))
    table.upsert(rows(("a", 2, "x", 3)))
    assert table.snapshot(columns=["v", "k"], filter=pc.field("v") > 2).to_pydict() == {"v": [3], "k": ["a"]}
    assert table.snapshot(columns=[]).num_rows == 2
    assert table.read_optimized(columns=["_hoodie_record_key"], filter=None).num_rows == 2
    batches = list(table.scan(columns=["k"]))
    assert sum(batch.num_rows for batch in batches) == 2
    with pytest.raises(SchemaError, match="no column 'q'; the columns are _hoodie_commit_time"):
        table.snapshot(columns=["k", "q"])
    with pytest.raises(SchemaError, match="asked for twice: k, k"):
        table.snapshot(columns=["k", "k"])
    for bad in (pc.field("q") > 2, pc.field("k") > 2):
        with pytest.raises(SchemaError, match="the filter .* does not fit the columns"):
            table.snapshot(filter=bad)


@pytest.mark.parametrize("name", ["v8-mor-avro-h102", "v9-mor-avro-h120", "v9-mor-multilevel-hive-h120"])
def test_one_column_is_the_same_column(name: str, golden: Callable[[str], GoldenTable]) -> None:
    case = golden(name)
    table = open_table(case.table)
    expected = case.answer("expected/snapshot.parquet")
    for column in expected.column_names:
        found = table.snapshot(columns=[column])
        assert multiset(found) == multiset(expected.select([column])), column


def test_slices_of_one_partition_and_of_all(golden: Callable[[str], GoldenTable]) -> None:
    table = open_table(golden("v9-mor-multilevel-hive-h120").table)
    slices = table.file_slices()
    paths = sorted({item.partition_path for item in slices})
    assert len(paths) > 1
    assert [item for path in paths for item in table.file_slices(path)] == sorted(
        slices, key=lambda item: (item.partition_path, item.file_id)
    )
    assert table.file_slices("no/such/partition") == []


def test_a_table_is_looked_at_quickly(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    table.upsert(rows(("a", 1, "x", 1), ("b", 1, "y", 2), ("c", 1, "x", 3)))
    table.upsert(rows(("a", 2, "x", 5)))
    assert (table.count(), table.count("v > 2"), table.count([("k", "=", "z")])) == (3, 2, 0)
    assert table.head(2).num_rows == 2
    assert table.head(10**20).num_rows == 3
    assert table.head(0, columns="k").to_pydict() == {"k": []}
    assert table.head(9, columns="k", filter="p = 'y'").to_pydict() == {"k": ["b"]}
    assert table.partitions() == ["x", "y"]
    assert all((tmp_path / "t" / name).is_file() for name in table.files())
    assert len(table.files()) == 3
    assert len(table.files("y")) == 1
    assert pa.table(table).num_rows == 3
    for shown in (repr(table), repr(table.scan()), repr(table.upsert(rows(("a", 3, "x", 6))))):
        assert len(shown) < 200
    assert repr(table).startswith("<Table 't")
    assert repr(table.scan(columns=["k", "v"])) == "<Scan of k, v>"
    with pytest.raises(SchemaError, match=r"no column 'K'; did you mean 'k'\?"):
        table.head(columns="K")


def test_data_frames_of_others(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    table.upsert(rows(("a", 1, "x", 1), ("b", 1, "y", 2)))
    assert sorted(table.to_pandas(columns="k")["k"]) == ["a", "b"]
    assert sorted(table.to_polars(filter="v > 1")["k"].to_list()) == ["b"]
    assert table.to_duckdb(columns=["k"]).order("k").fetchall() == [("a",), ("b",)]


@pytest.mark.parametrize("name", ["polars", "duckdb"])
def test_a_package_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    table = new_table(tmp_path / "t")
    with pytest.raises(
        UnsupportedFeatureError,
        match=rf"{name} to be installed.*found none; install it: pip install 'hudiformat\[{name}\]",
    ):
        getattr(table, f"to_{name}")()
