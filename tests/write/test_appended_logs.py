"""Log files of table version 6 are appended to where the storage can: all writes of a file group are in one file."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from hudiformat import LogReader, LogWriter, Table, open_storage, open_table
from hudiformat.codec.log.build import rollback_block
from hudiformat.storage.local import LocalStorage
from hudiformat.storage.protocol import Storage
from tests.effort import every
from tests.faults import FaultyStorage
from tests.fire.stores import OneFault
from tests.tables import content, create, rows

OPTIONS = {"hudiformat.logfile.append": "true", "hudiformat.sync": "false"}


def appended_table(place: Storage, options: dict[str, str] | None = None) -> Table:
    """A table of version 6 with three updates of one file group, as it is opened for more."""
    create(place, table_type="MERGE_ON_READ", version=6)  # type: ignore[arg-type]  # options of several types
    table = open_table(place, options={**OPTIONS, **(options or {})})
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "x", 1)))
    for ts in range(2, 5):
        table.upsert(rows(("a", ts, "x", ts)))
    return table


def logs_of(place: Storage) -> list[str]:
    return [entry.name for entry in place.list("x") if ".log." in entry.name]


def in_folder(path: Path) -> Storage:
    return LocalStorage(path)


def in_memory(_path: Path) -> Storage:
    return open_storage(f"/{uuid.uuid4()}", filesystem=MemoryFileSystem())


@pytest.mark.parametrize(("make", "files"), [(in_folder, 1), (in_memory, 3)])
@pytest.mark.all_sets
def test_three_writes_are_in_one_file_where_files_can_be_appended_to(
    tmp_path: Path, make: Callable[[Path], Storage], files: int
) -> None:
    place = make(tmp_path)
    table = appended_table(place)
    assert len(logs_of(place)) == files
    assert content(table) == [("a", 4, "x", 4), ("b", 1, "x", 1)]
    for commit, ts in zip(table.timeline.completed_writes, (1, 2, 3, 4), strict=True):
        assert ("a", ts, "x", ts) in content(table, as_of=commit.time)
    sizes = {entry.name: entry.size for entry in place.list("x")}
    last = table.timeline.completed_writes[-1]
    [stat] = table._context.state().metadata(last).write_stats
    assert (stat.path or "").rpartition("/")[2] in sizes
    assert stat.file_size_in_bytes == sizes[(stat.path or "").rpartition("/")[2]]
    assert table.verify() == []
    table.compact()
    assert content(table, columns=("k", "v")) == [("a", 4), ("b", 1)]
    table.upsert(rows(("a", 9, "x", 9)))
    assert content(table, columns=("k", "v")) == [("a", 9), ("b", 1)]
    assert table.verify() == []


def test_a_file_that_is_large_is_not_appended_to(tmp_path: Path) -> None:
    appended_table(LocalStorage(tmp_path), {"hoodie.logfile.max.size": "100"})
    assert len(logs_of(LocalStorage(tmp_path))) == 3


def test_other_versions_have_a_file_for_each_write(tmp_path: Path) -> None:
    create(tmp_path, table_type="MERGE_ON_READ")
    table = open_table(tmp_path, options=OPTIONS)
    for ts in range(3):
        table.upsert(rows(("a", ts, "x", ts)))
    assert len(logs_of(LocalStorage(tmp_path))) == 2


def test_a_rollback_leaves_the_blocks_of_others(tmp_path: Path) -> None:
    table = appended_table(LocalStorage(tmp_path))
    table.rollback(table.timeline.completed_writes[-1].time)
    assert content(table) == [("a", 3, "x", 3), ("b", 1, "x", 1)]
    table.upsert(rows(("b", 7, "x", 7)))
    assert content(table) == [("a", 3, "x", 3), ("b", 7, "x", 7)]
    assert table.verify() == []


@pytest.mark.parametrize("is_done", [False, True])
@pytest.mark.filterwarnings("ignore::hudiformat.HudiFormatWarning")
def test_a_fault_in_an_append_loses_no_row_of_others(tmp_path: Path, *, is_done: bool) -> None:
    place = LocalStorage(tmp_path)
    table = appended_table(place)
    for number in range(1, 100, every(4)):
        before = content(table)
        fault = OneFault(number, is_done=is_done)
        try:
            open_table(FaultyStorage(place, fault), options=OPTIONS).upsert(rows(("a", 10 + number, "x", number)))
        except Exception:  # noqa: BLE001 - what it was is not asked
            assert content(table) in (before, [("a", 10 + number, "x", number), *before[1:]])
        else:
            assert content(table) == [("a", 10 + number, "x", number), *before[1:]]
        if fault.count < number:
            break
    assert number > 20
    assert table.verify() == []


def test_a_writer_of_logs_appends_if_it_is_told_to(tmp_path: Path) -> None:
    name = f".{uuid.uuid4()}-0_20260101000000000.log.1_0-0-0"
    block = rollback_block(instant="20260101000000001", target="20260101000000000")
    for _ in range(2):
        with LogWriter(tmp_path, name, appends=True) as writer:
            result = writer.append(block)
    assert result.offset == result.size
    assert [path.name for path in tmp_path.iterdir()] == [name]
    with LogReader(tmp_path / name) as reader:
        assert len(list(reader)) == 2
    with LogWriter(tmp_path, name) as writer:
        writer.append(block)
    assert len(list(tmp_path.iterdir())) == 2
