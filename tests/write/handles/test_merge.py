"""A base file is written anew with changed, deleted and new rows; what it keeps of the one before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudiformat import Table, open_table
from hudiformat.file_group.base_file.bloom import BLOOM_FILTER, BloomFilter
from hudiformat.schema.meta_fields import RECORD_KEY
from tests.tables import FLAGGED, Row, content, new_table, rows
from tests.write.support import cow, keyed

ABCD = rows(*((key, 1, "x", number) for number, key in enumerate("abcd")))


def of_four(path: Path) -> Table:
    """A copy-on-write table with the rows a, b, c and d."""
    table = new_table(path, table_type="COPY_ON_WRITE")
    table.insert(ABCD)
    return table


def newest(table: Table) -> pq.ParquetFile:
    (item,) = table.file_slices()
    assert item.base_file is not None
    return pq.ParquetFile(Path(table._context.storage.root) / item.partition_path / str(item.base_file.name))


def filter_of(file: pq.ParquetFile) -> str:
    return str((file.metadata.metadata or {})[BLOOM_FILTER.encode()].decode())


def made_filter(file: pq.ParquetFile) -> str:
    return BloomFilter.of(file.read([RECORD_KEY])[RECORD_KEY].combine_chunks()).serialize()


def test_rows_are_numbered_in_the_order_that_the_file_has_them(tmp_path: Path) -> None:
    table = of_four(tmp_path / "t")
    commit = table.upsert(rows(("new", 2, "x"), ("d", 2, "x"), ("b", 2, "x"), ("c", 0, "x")))  # c comes too late
    found = newest(table).read(["k", "_hoodie_commit_seqno"]).to_pylist()
    assert [row["k"] for row in found] == ["a", "b", "c", "d", "new"]
    numbers = {row["k"]: row["_hoodie_commit_seqno"] for row in found}
    assert [numbers[key] for key in ("b", "d", "new")] == [f"{commit.instant}_0_{number}" for number in (1, 2, 3)]


def test_the_filter_is_kept_as_long_as_the_keys_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = of_four(tmp_path / "t")
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
    table = of_four(tmp_path / "t")
    before = filter_of(newest(table))
    write(table)
    assert filter_of(newest(table)) == made_filter(newest(table)) != before


def test_the_filter_of_many_keys_is_kept_where_few_go_and_gets_those_that_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE")
    table.insert(rows(*((f"k{number:03}", 1, "x") for number in range(300))))
    before = filter_of(newest(table))
    monkeypatch.setattr(BloomFilter, "of", None)
    table.delete(rows(("k007", 1, "x")).select(["k", "p"]))
    assert filter_of(newest(table)) == before
    table.upsert(rows(("k008", 2, "x"), ("new", 2, "x")))
    keys = newest(table).read([RECORD_KEY])[RECORD_KEY].combine_chunks()
    assert len(keys) == 300
    assert BloomFilter.parse(filter_of(newest(table))).might_contain(keys).all()
    assert filter_of(newest(table)) != before


def test_a_filter_of_hudis_that_has_another_size_is_made_anew(own_golden: Callable[[str], Path]) -> None:
    table = open_table(own_golden("v9-cow-evennulls-h120"), options={"hoodie.metadata.enable": "false"})
    table.upsert(table.snapshot(columns=table.schema.names))
    for item in table.file_slices():
        assert item.base_file is not None
        file = pq.ParquetFile(Path(table._context.storage.root) / item.partition_path / str(item.base_file.name))
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


def test_rows_that_are_copied_keep_their_meta_fields_but_the_name_of_the_file(table: Table) -> None:
    first = table.insert(keyed(0, 2))
    second = table.upsert(rows(("key-000001", 2, "x", 7), ("new", 1, "x", 8)))
    (item,) = table.file_slices()
    assert item.base_file is not None
    found = table.snapshot().to_pylist()
    assert {row["_hoodie_file_name"] for row in found} == {str(item.base_file.name)}
    assert [(row["k"], row["_hoodie_commit_time"], row["_hoodie_commit_seqno"]) for row in found] == [
        ("key-000000", first.instant, f"{first.instant}_0_1"),
        ("key-000001", second.instant, f"{second.instant}_0_1"),  # in its place
        ("new", second.instant, f"{second.instant}_0_2"),
    ]


def test_the_footer_of_a_rewritten_file_knows_all_keys(table: Table) -> None:
    table.insert(keyed(5, 10))
    table.insert(rows(("a", 1, "x"), ("z", 1, "x")))
    (item,) = table.file_slices()
    assert item.base_file is not None
    metadata = pq.read_metadata(Path(table.path, "x", str(item.base_file.name))).metadata or {}
    assert (metadata[b"hoodie_min_record_key"], metadata[b"hoodie_max_record_key"]) == (b"a", b"z")


def test_copy_on_write_rows_that_are_marked_as_deleted(tmp_path: Path) -> None:
    table = cow(tmp_path / "t", schema=FLAGGED)
    table.insert(rows(*((name, 5, "x", 1) for name in "abcd"), schema=FLAGGED))
    changes: list[Row] = [
        ("a", 6, "x", 0, True),  # newer
        ("b", 4, "x", 0, True),  # too late
        ("c", None, "x", 0, True),  # without an ordering value it wins
        ("d", 6, "x", 2, False),
        ("e", 1, "x", 0, True),  # not there
        ("f", 1, "x", 3, None),
    ]
    commit = table.upsert(rows(*changes, schema=FLAGGED))
    assert content(table) == [("b", 5, "x", 1), ("d", 6, "x", 2), ("f", 1, "x", 3)]
    (stat,) = commit.stats
    assert (stat.num_deletes, stat.num_update_writes, stat.num_inserts, stat.num_writes) == (2, 1, 1, 3)


def test_the_int_0_of_a_delete_is_no_ordering_value(tmp_path: Path) -> None:
    schema = FLAGGED.set(1, pa.field("ts", pa.int32()))
    table = cow(tmp_path / "t", schema=schema)
    table.insert(rows(("a", 5, "x", 1), ("b", 5, "x", 1), schema=schema))
    table.upsert(rows(("a", 0, "x", 0, True), ("b", 1, "x", 0, True), schema=schema))
    assert content(table) == [("b", 5, "x", 1)]


@pytest.mark.parametrize("ordering", [["ts", "v"], []])
def test_copy_on_write_by_several_ordering_fields_and_by_commit_time(tmp_path: Path, ordering: list[str]) -> None:
    table = cow(tmp_path / "t", ordering=ordering)
    table.upsert(rows(("a", 1, "x", 5), ("b", 1, "x", 5)))
    table.upsert(rows(("a", 1, "x", 4), ("b", 1, "x", 6)))
    assert content(table) == [("a", 1, "x", 5 if ordering else 4), ("b", 1, "x", 6)]


def test_upserts_that_are_not_combined_are_merged_with_each_other(tmp_path: Path) -> None:
    table = cow(tmp_path / "t", options={"hoodie.combine.before.upsert": "false"})
    table.insert(keyed(0, 2))
    table.upsert(rows(("key-000000", 3, "x", 7), ("key-000000", 2, "x", 8)))
    assert content(table) == [("key-000000", 3, "x", 7), ("key-000001", 1, "x", 1)]


def test_of_two_rows_with_one_key_in_a_file_only_the_first_is_updated(tmp_path: Path) -> None:
    table = cow(tmp_path / "t")
    table.insert(rows(("a", 1, "x", 1), ("a", 1, "x", 2)))
    table.upsert(rows(("a", 2, "x", 3)))
    assert content(table) == [("a", 1, "x", 2), ("a", 2, "x", 3)]


def test_a_file_may_lose_all_its_rows(tmp_path: Path) -> None:
    table = cow(tmp_path / "t")
    table.insert(keyed(0, 3))
    table.delete(keyed(0, 3).select(["k", "p"]))
    assert content(table) == []
    table.insert(keyed(0, 1))
    assert len(content(table)) == 1
    assert len(table.file_slices()) == 1


def test_a_copy_on_write_table_of_an_older_schema_is_rewritten_in_the_newer(own_golden: Callable[[str], Path]) -> None:
    path = own_golden("v9-cow-evennulls-h120")
    table = open_table(path, options={"hoodie.metadata.enable": "false"})
    before = table.snapshot()
    (first,) = before.slice(0, 1).select(table.schema.names).to_pylist()
    table.upsert(pa.Table.from_pylist([first], table.schema))
    assert table.snapshot().num_rows == before.num_rows
