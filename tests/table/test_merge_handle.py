"""What a base file that takes the place of another has of it, and what it has anew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from hudiformat import Table, open_table
from hudiformat.basefile import BLOOM_FILTER, BloomFilter
from hudiformat.basefile.meta_fields import RECORD_KEY
from tests.tables import new_table, rows

ABCD = rows(*((key, 1, "x", number) for number, key in enumerate("abcd")))


def cow(path: Path) -> Table:
    """A copy-on-write table with the rows a, b, c and d."""
    table = new_table(path, table_type="COPY_ON_WRITE")
    table.insert(ABCD)
    return table


def newest(table: Table) -> pq.ParquetFile:
    (item,) = table.file_slices()
    assert item.base_file is not None
    return pq.ParquetFile(Path(table.context.storage.root) / item.partition_path / str(item.base_file.name))


def filter_of(file: pq.ParquetFile) -> str:
    return str(file.metadata.metadata[BLOOM_FILTER.encode()].decode())


def made_filter(file: pq.ParquetFile) -> str:
    return BloomFilter.of(file.read([RECORD_KEY])[RECORD_KEY].combine_chunks()).serialize()


def test_rows_are_numbered_in_the_order_that_the_file_has_them(tmp_path: Path) -> None:
    table = cow(tmp_path / "t")
    commit = table.upsert(rows(("new", 2, "x"), ("d", 2, "x"), ("b", 2, "x"), ("c", 0, "x")))  # c comes too late
    found = newest(table).read(["k", "_hoodie_commit_seqno"]).to_pylist()
    assert [row["k"] for row in found] == ["a", "b", "c", "d", "new"]
    numbers = {row["k"]: row["_hoodie_commit_seqno"] for row in found}
    assert [numbers[key] for key in ("b", "d", "new")] == [f"{commit.instant}_0_{number}" for number in (1, 2, 3)]


def test_the_filter_is_kept_as_long_as_the_keys_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = cow(tmp_path / "t")
    before = filter_of(newest(table))
    with monkeypatch.context() as patch:
        patch.setattr(BloomFilter, "of", None)
        table.upsert(rows(("d", 2, "x"), ("b", 2, "x")))
        table.upsert(ABCD)
    assert filter_of(newest(table)) == before == made_filter(newest(table))


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(lambda table: table.delete(ABCD.slice(1, 1).select(["k", "p"])), id="delete"),
        pytest.param(lambda table: table.upsert(rows(("e", 1, "x"), ("a", 2, "x"))), id="upsert of a new one"),
        pytest.param(lambda table: table.insert(rows(("e", 1, "x"))), id="insert"),
    ],
)
def test_the_filter_is_made_anew_where_keys_come_or_go(tmp_path: Path, write: Callable[[Table], object]) -> None:
    table = cow(tmp_path / "t")
    before = filter_of(newest(table))
    write(table)
    assert filter_of(newest(table)) == made_filter(newest(table)) != before


def test_a_filter_of_hudis_that_has_another_size_is_made_anew(own_golden: Callable[[str], Path]) -> None:
    table = open_table(own_golden("v9-cow-evennulls-h120"), options={"hoodie.metadata.enable": "false"})
    table.upsert(table.snapshot(columns=table.schema.names))
    for item in table.file_slices():
        assert item.base_file is not None
        file = pq.ParquetFile(Path(table.context.storage.root) / item.partition_path / str(item.base_file.name))
        assert filter_of(file) == made_filter(file)


@pytest.mark.parametrize(
    ("record_key", "keys"),
    [(["v"], ["0", "1", "2", "3"]), (["k", "v"], [f"k:{key},v:{number}" for number, key in enumerate("abcd")])],
)
def test_keys_that_no_column_has_are_kept_beside_them(tmp_path: Path, record_key: list[str], keys: list[str]) -> None:
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE", record_key=record_key)
    table.insert(ABCD)
    table.upsert(rows(("c", 2, "x", 2), ("a", 2, "x", 0)))
    assert newest(table).read([RECORD_KEY])[RECORD_KEY].to_pylist() == keys
    assert newest(table).read(["ts"])["ts"].to_pylist() == [2, 1, 2, 1]
    table.delete(ABCD.slice(1, 1))
    assert newest(table).read([RECORD_KEY])[RECORD_KEY].to_pylist() == [keys[0], *keys[2:]]
