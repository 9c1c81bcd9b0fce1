"""Polars and DuckDB find the rows of a snapshot in every table, whoever reads its files: they, or hudiformat."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat.api.lazy import lazy_frame
from hudiformat.api.reading import context_of
from hudiformat.duckdb.queries import rows_of
from hudiformat.read import plain_files
from hudiformat.read.plain_files import DividedSnapshot
from hudiformat.read.plan import take_snapshot
from tests.effort import sample
from tests.foreign import foreign_tables
from tests.tables import NAMES, multiset, new_table, rows, unpack

pytestmark = pytest.mark.unmeasured

FOREIGN = foreign_tables.names("")


def divided(table: hf.Table) -> DividedSnapshot:
    return DividedSnapshot.of(take_snapshot(context_of(table)))


def counted(found: pa.Table) -> Counter[str]:
    """The rows of a table, as Arrow prints them if Python has no such dates: it ends in the year 9999."""
    try:
        return multiset(found)
    except OverflowError:
        columns = [found[name].combine_chunks() for name in found.column_names]
        return Counter("".join(str(column.slice(row, 1)) for column in columns) for row in range(found.num_rows))


def check_engines(table: hf.Table) -> None:
    expected = table.snapshot()
    found = rows_of(table.to_duckdb(duckdb.connect())).read_all()
    by_dataset = rows_of(duckdb.connect().from_arrow(table.dataset())).read_all()
    assert found.schema == by_dataset.schema
    assert counted(found) == counted(by_dataset)
    assert found.num_rows == expected.num_rows
    frame = table.lazy().collect()
    assert frame.schema == pl.DataFrame(expected).schema
    assert counted(frame.to_arrow()) == counted(pl.DataFrame(expected).to_arrow())
    assert table.lazy().select(pl.len()).collect().item() == expected.num_rows


@pytest.mark.slow
@pytest.mark.parametrize("name", sample([*NAMES, *FOREIGN], of=8))
def test_engines_find_the_rows_of_others_tables(name: str, tmp_path: Path) -> None:
    path = foreign_tables.unpack(name, tmp_path).path if name in FOREIGN else unpack(name, tmp_path).table
    table = hf.open_table(path)
    try:
        table.snapshot()
    except hf.HudiFormatError:
        return
    check_engines(table)


def test_rows_that_log_files_replace_are_left_out_of_the_file(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", partition_by=[])
    table.insert(rows(*((key, 1, "x", number) for number, key in enumerate("abcdef"))))
    table.upsert(rows(("b", 2, "x", 10)))
    table.delete(rows(("c",)).select(["k"]))
    found = divided(table)
    [changed] = found.changed
    assert (changed.positions.tolist(), found.whole, found.others) == ([1, 2], [], [])
    assert (keys_of(found), list(found.batches(["k"], None))) == ([["b"]], [])
    check_engines(table)
    assert table.lazy().filter(pl.col("v") >= 10).select("k").collect()["k"].to_list() == ["b"]


def keys_of(found: DividedSnapshot) -> list[list[str]]:
    kept = pa.table({"k": []}) if found.kept is None else found.kept
    return [batch["k"].to_pylist() for batch in kept.to_batches() if batch.num_rows]


def table_with_logs(path: Path) -> hf.Table:
    """Return a table of two file groups with 200 rows each; log files replace every second row, and delete one."""
    names = [f"n{number}" for number in range(60)]
    schema = pa.schema([("k", pa.string()), ("p", pa.string()), *((name, pa.int64()) for name in names)])
    table = hf.create_table(path, name="t", schema=schema, record_key="k", partition_by="p", table_type="MERGE_ON_READ")

    def made(keys: range, value: int) -> pa.Table:
        texts, partitions = [f"k{key:03}" for key in keys], [f"p{key % 4 // 2}" for key in keys]
        return pa.table({"k": texts, "p": partitions, **{name: [value] * len(keys) for name in names}}, schema)

    table.insert(made(range(400), 1))
    table.upsert(made(range(0, 400, 2), 2))
    table.delete(made(range(1, 2), 1).select(["k", "p"]))
    return table


def test_log_files_are_decoded_once_for_all_queries(tmp_path: Path) -> None:
    table = table_with_logs(tmp_path / "t")
    expected = table.to_polars().sort("k")
    relation, found = table.to_duckdb(duckdb.connect()), divided(table)
    assert (len(found.changed), found.has_batches) == (2, False)
    for path in (tmp_path / "t").rglob(".*.log.*"):
        path.unlink()
    for columns in (["k"], ["k", "n7"], expected.columns):
        asked = relation.project(", ".join(columns)).order("k")
        assert pl.DataFrame(asked.to_arrow_table()).equals(expected.select(columns))


@pytest.mark.parametrize("limits", [{"MOST_KEPT": 0}, {"MOST_KEPT": 80_000}, {"_MOST_COLUMNS": 3}], ids=str)
def test_rows_that_are_too_many_to_be_kept_are_decoded_by_each_query(
    limits: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, limit in limits.items():
        monkeypatch.setattr(plain_files, name, limit)
    table = table_with_logs(tmp_path / "t")
    assert sum(one.log_bytes for one in table.file_slices()) < 80_000
    found = divided(table)
    assert (found.kept, found.has_batches, len(found.changed)) == (None, True, 2)
    assert sum(rows.num_rows for rows in found.batches(["k"], None)) == 200
    check_engines(table)


def test_a_base_row_that_may_win_is_merged_here(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", partition_by=[])
    table.insert(rows(("a", 5, "x", 1), ("b", 1, "x", 2)))
    table.upsert(rows(("b", 3, "x", 3)))
    found = divided(table)
    assert (len(found.others), found.changed, found.whole) == (1, [], [])
    check_engines(table)


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 6},
        {"table_type": "COPY_ON_WRITE"},
        {"partition_by": "p"},
        {"options": {"hudiformat.damage": "skip"}},
    ],
    ids=str,
)
def test_tables_of_other_kinds(changes: dict[str, Any], tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", **{"partition_by": [], **changes})
    table.insert(rows(*((key, 1, "x", number) for number, key in enumerate("abcdef"))))
    table.upsert(rows(("b", 2, "x", 10)))
    check_engines(table)


def test_files_with_other_columns_than_the_table_are_read_here(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", partition_by=[], table_type="COPY_ON_WRITE")
    table.bulk_insert(rows(("a", 1, "x", 1)))
    table.evolve(add={"more": pa.int64()})
    table.bulk_insert(rows(("b", 1, "x", 1)).append_column("more", pa.array([7])))
    found = divided(table)
    assert (len(found.whole), len(found.others)) == (1, 1)
    check_engines(table)


def test_files_of_another_storage_are_read_here(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE")
    table.insert(rows(("a", 1, "x", 1)))
    other = hf.open_table(f"file://{tmp_path}/t")
    assert Counter(map(str, other.lazy().collect().rows())) == Counter(map(str, table.to_polars().rows()))


def test_files_with_a_star_in_their_path_are_read_here(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t*", partition_by=[], table_type="COPY_ON_WRITE")
    table.insert(rows(("a", 1, "x", 1)))
    assert not divided(table).whole
    check_engines(table)


def test_nan_is_found_in_files_that_engines_scan(tmp_path: Path) -> None:
    found = pa.table({"k": range(4), "f": [1.0, 2.0, float("nan"), None]})
    table = hf.create_table(tmp_path / "t", name="t", schema=found.schema, record_key="k")
    table.insert(found)
    assert not divided(table).has_batches
    assert table.lazy().filter(pl.col("f") > 5).select("k").collect()["k"].to_list() == [2]
    relation = table.to_duckdb(duckdb.connect())
    assert relation.filter("f > 5").project("k").fetchall() == [(2,)]
    assert relation.filter("f = 'nan'::double").project("k").fetchall() == [(2,)]


def test_a_large_table_is_asked_for_the_files_of_each_query(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", partition_by=[], table_type="COPY_ON_WRITE")
    table.insert(rows(("a", 1, "x", 1)))
    snapshot = take_snapshot(context_of(table))
    assert "Parquet" in lazy_frame(snapshot).explain()
    asked = lazy_frame(snapshot, most_bytes=1)
    assert "Parquet" not in asked.explain()
    assert asked.collect().equals(table.to_polars())
