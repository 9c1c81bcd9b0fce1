"""Record keys that a table object keeps from one commit to the next."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hudiformat import Table, open_table
from hudiformat.file_group.slices import BaseFile, FileSlice
from hudiformat.naming.file_names import BaseFileName
from hudiformat.storage.protocol import Storage
from hudiformat.table.cache import TableCache
from hudiformat.write.index import tagging
from hudiformat.write.index.known_keys import SliceCache
from hudiformat.write.index.tagging import PartitionIndex
from tests.tables import content, new_table, rows

_SIMPLE = {"hoodie.index.type": "SIMPLE"}


def noted(monkeypatch: pytest.MonkeyPatch, name: str) -> list[str]:
    """The paths that the function *name*, which reads a base file, is called with from now on."""
    found: list[str] = []
    called = getattr(tagging, name)

    def noting(storage: Storage, path: str, *given: Any, **named: Any) -> Any:
        found.append(path)
        return called(storage, path, *given, **named)

    monkeypatch.setattr(tagging, name, noting)
    return found


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The base files whose keys were read."""
    return noted(monkeypatch, "scan_base_file")


def table_of(path: Path, **options: str) -> Table:
    table = new_table(path, options=_SIMPLE | options)
    table.insert(rows(*((f"k{number}", 1, "x", 0) for number in range(10))))
    return table


def update(table: Table, key: str, value: int) -> None:
    table.upsert(rows((key, 2 + value, "x", value)))


def test_the_keys_of_a_small_base_file_are_read_once(tmp_path: Path, read: list[str]) -> None:
    table = table_of(tmp_path / "t")
    for number in range(6):
        update(table, f"k{number}", number)
    assert len(read) == 1
    assert content(table) == sorted(
        (f"k{one}", 2 + one, "x", one) if one < 6 else (f"k{one}", 1, "x", 0) for one in range(10)
    )


def test_what_another_process_has_committed_since_is_found(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    for number in range(3):
        update(table, "k1", number)
    other = open_table(tmp_path / "t", options=_SIMPLE | {"hudiformat.sync": "false"}, clock=table._context.clock)
    other.insert(
        rows(("new", 1, "x", 0), ("k0", 9, "x", 9))
    )  # another base file takes the place of the one that is kept
    commit = table.upsert(rows(("new", 2, "x", 7)))
    assert [stat.num_update_writes for stat in commit.stats] == [1]
    other.delete(rows(("new", 1, "x", 0)))
    other.compact()
    commit = table.upsert(rows(("new", 3, "x", 8)))
    assert ("new", 3, "x", 8) in content(table)
    assert sum(stat.num_inserts for stat in commit.stats) == 1


def test_a_log_file_that_is_rolled_back_is_not_counted_any_more(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    for number in range(3):
        update(table, "k1", number)
    last = table.upsert(rows(("k2", 5, "x", 5)))
    table.rollback(last.instant)
    update(table, "k2", 6)
    assert ("k2", 8, "x", 6) in content(table)


def test_in_version_6_log_files_of_others_are_read_every_time(tmp_path: Path, read: list[str]) -> None:
    tables = [new_table(tmp_path / "t", options=_SIMPLE, version=6)]
    tables += [open_table(tmp_path / "t", options=_SIMPLE, clock=tables[0]._context.clock)]
    tables[0].insert(rows(("k1", 1, "x", 0), ("k2", 1, "x", 0)))
    for number in range(6):
        update(tables[number % 2], "k1", number)
    assert len(read) == 6
    assert content(tables[0]) == [("k1", 7, "x", 5), ("k2", 1, "x", 0)]


def test_footers_are_kept_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of(tmp_path / "t")
    asked = noted(monkeypatch, "read_file_keys")
    for _ in range(3):
        table.delete(rows(("z", 1, "x", 0)))  # after all keys of the file
    assert len(asked) == 1


def slice_of(size: int, instant: str = "001") -> FileSlice:
    return FileSlice("p", "f-0", instant, BaseFile(BaseFileName("f-0", "0-0-0", instant), size))


def test_a_slice_is_kept_when_it_is_asked_for_again_and_has_the_same_base_file() -> None:
    slices, large = SliceCache(TableCache(), "p"), 1 << 20
    assert not slices.should_read(slice_of(large))
    assert not slices.should_read(slice_of(large, "002"))
    assert slices.should_read(slice_of(large, "002"))
    assert slices.should_read(slice_of(10, "003"))  # which is small


def test_a_slice_that_is_too_large_is_never_kept() -> None:
    slices = SliceCache(TableCache(10_000), "p")
    for _ in range(3):
        assert not slices.should_read(slice_of(1 << 30))
    slices.keep(slice_of(10, "002"), None)
    assert not slices.should_read(slice_of(10, "002"))


def test_log_files_of_a_tables_own_updates_are_not_read(tmp_path: Path, read: list[str]) -> None:
    table = table_of(tmp_path / "t")
    logs: list[str] = []
    reader = getattr(tagging, "LogReader")  # noqa: B009 - mypy knows of no such name
    with pytest.MonkeyPatch.context() as patch:

        def noting(path: str, **named: Any) -> Any:
            logs.append(path)
            return reader(path, **named)

        patch.setattr(tagging, "LogReader", noting)
        for number in range(6):
            update(table, f"k{number}", number)
        assert logs == []
        table.delete(rows(("k1", 1, "x", 0)))
        update(table, "k2", 9)
        assert len(logs) == 1
    assert len(read) == 1
    update(table, "k1", 10)
    assert len(content(table)) == 10


def test_updates_are_not_taken_for_those_of_a_slice_that_another_has_compacted_since(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    update(table, "k1", 1)
    table.delete(rows(("k2", 1, "x", 0)))
    other = open_table(tmp_path / "t", options=_SIMPLE | {"hudiformat.sync": "false"}, clock=table._context.clock)
    other.compact()
    for number in range(3):
        update(table, "k2", 20 + number)
        update(table, "k3", 20 + number)
    assert [row for row in content(table) if row[0] == "k2"] == [("k2", 24, "x", 22)]
    assert len(content(table)) == 10


def test_what_is_known_of_a_listing_is_what_a_new_listing_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = table_of(tmp_path / "t")
    other = open_table(tmp_path / "t", options=_SIMPLE | {"hudiformat.sync": "false"}, clock=table._context.clock)
    list_since, found = PartitionIndex._list_since, []

    def checked(index: PartitionIndex) -> Any:
        known = list_since(index)
        found.append(known is not None)
        assert known in (None, PartitionIndex(index._storage, index._plan, index._path)._list_all())
        return known

    monkeypatch.setattr(PartitionIndex, "_list_since", checked)
    for number in range(3):
        update(table, f"k{number}", number)
    point = table.upsert(rows(("k4", 4, "x", 4)))
    table.savepoint(point)
    steps: list[Callable[[], object]] = [
        lambda: other.insert(rows(("new", 1, "x", 0))),
        lambda: other.delete(rows(("k1", 1, "x", 0))),
        other.compact,
        lambda: other.upsert(rows(("k3", 9, "x", 9))),
        lambda: other.insert_overwrite(rows(("only", 1, "x", 1))),
        lambda: other.upsert(rows(("k3", 9, "y", 9))),
        lambda: other.rollback(other.upsert(rows(("k5", 9, "x", 9)))),
        lambda: other.restore(point),
        lambda: other.upsert(rows(("k3", 11, "x", 9))),
    ]
    for number, step in enumerate(steps):
        step()
        update(table, "k2", 10 + number)
    assert found.count(True) > len(steps)  # all but the first, and those after files have been deleted
    assert content(table) == content(open_table(tmp_path / "t"))
