"""Partitions are entered and left beside other writers, and none is inside another."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat import DataError, open_table
from hudiformat.errors import StorageError
from hudiformat.file_group.partition_metadata import PARTITION_METADATA_FILE, encode_partition_metadata
from hudiformat.file_group.partitions import list_partitions
from hudiformat.storage.local import LocalStorage
from hudiformat.storage.protocol import TEMPORARY_PREFIX
from hudiformat.table.new_table import new_table_config
from hudiformat.table.options.values import Operation
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.write.commit.partitions import (
    enter_partition,
    leave_partition,
    refuse_nested,
    remove_partition,
    restore_partitions,
)
from hudiformat.write.commit.plan import write_plan
from tests.effort import every, sample
from tests.requests import RecordingStorage
from tests.tables import content, new_table, rows, tree
from tests.write.commit.support import SHARED, begun

pytestmark = pytest.mark.unmeasured

METADATA = f"x/{PARTITION_METADATA_FILE}"
CONFIG = new_table_config(name="t", record_key_fields=["k"], partition_fields=["p"])


def test_a_partition_is_entered_once_and_left_by_who_made_it(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    storage, plan = table._context.storage, write_plan(table._context.state(), Operation.UPSERT, "5")
    enter_partition(storage, plan, "x/y", sync=True)
    enter_partition(storage, write_plan(table._context.state(), Operation.UPSERT, "6"), "x/y", sync=True)
    leave_partition(storage, "x/y", "6")
    assert [path for path, _ in list_partitions(storage)] == ["x/y"]
    leave_partition(storage, "x/y", "5")
    assert not (tmp_path / "x").exists()
    leave_partition(storage, "x/y", "5")


def test_a_partition_with_a_file_is_not_left(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    storage.create(METADATA, encode_partition_metadata(PARTITION_METADATA_FILE, "x", "5"))
    storage.create("x/file", b"")
    leave_partition(storage, "x", "5")
    assert storage.exists(METADATA)


class Meanwhile(LocalStorage):
    """Something happens to a partition right before one of its files is read or deleted."""

    def __init__(self, root: Path, when: str, action: Callable[[], object]) -> None:
        super().__init__(root)
        self.when, self.action = when, action

    def read(self, path: str) -> bytes:
        if self.when == "read":
            self.action()
        return super().read(path)

    def delete(self, path: str) -> bool:
        if self.when == "delete":
            self.action()
        return super().delete(path)


@pytest.mark.parametrize("when", ["read", "delete"])
def test_whoever_leaves_a_partition_that_has_got_a_file_puts_it_back(tmp_path: Path, when: str) -> None:
    storage = LocalStorage(tmp_path)
    storage.create(METADATA, encode_partition_metadata(PARTITION_METADATA_FILE, "x", "5"))
    leave_partition(Meanwhile(tmp_path, when, lambda: storage.create("x/f", b"", overwrite=True)), "x", "5")
    assert storage.read(METADATA) == encode_partition_metadata(PARTITION_METADATA_FILE, "x", "5")


def test_two_may_leave_a_partition_at_once(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    storage.create(METADATA, encode_partition_metadata(PARTITION_METADATA_FILE, "x", "5"))
    leave_partition(Meanwhile(tmp_path, "read", lambda: storage.delete(METADATA)), "x", "5")
    assert not storage.exists(METADATA)


BASE, LOG = "x/f-0_0-1-2_5.parquet", "x/.f-0_5.log.1_0-1-2"


def test_a_partition_that_is_removed_goes_with_checksums_of_what_is_gone(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    for name in (METADATA, f"x/.{PARTITION_METADATA_FILE}.crc", "x/.f-0_0-1-2_5.parquet.crc"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"1")
    assert remove_partition(storage, "x")
    assert not (tmp_path / "x").exists()
    assert remove_partition(storage, "x")


def test_files_of_others_stay_in_what_is_no_partition_any_more(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    others = ["x/notes.txt", "x/.notes.txt.crc", "x/below/file"]
    for name in (METADATA, *others):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_bytes(b"1")
    assert remove_partition(storage, "x")
    assert [path for path in tree(tmp_path) if not path.endswith("/")] == sorted(others)


@pytest.mark.parametrize("name", [BASE, LOG, f"x/{TEMPORARY_PREFIX}f"])
def test_a_partition_with_a_data_file_is_not_removed(tmp_path: Path, name: str) -> None:
    storage = LocalStorage(tmp_path)
    storage.create(METADATA, b"1")
    (tmp_path / name).write_bytes(b"2")
    assert not remove_partition(storage, "x")
    assert storage.read(METADATA) == b"1"


def test_a_partition_that_gets_a_data_file_while_it_is_removed_comes_back(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    storage.create(METADATA, b"1")
    assert not remove_partition(Meanwhile(tmp_path, "delete", lambda: storage.create(BASE, b"2", overwrite=True)), "x")
    assert storage.read(METADATA) == b"1"


def test_a_partition_may_be_left_while_it_is_removed(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    storage.create(METADATA, b"1")
    assert remove_partition(Meanwhile(tmp_path, "read", lambda: storage.delete(METADATA)), "x")
    assert not (tmp_path / "x").exists()


def test_before_a_commit_a_partition_that_was_left_is_made_again(tmp_path: Path) -> None:
    table = new_table(tmp_path, options=SHARED)
    write, stats = begun(table, ("a", 1, "x", 1), ("b", 1, "y", 1))
    (tmp_path / METADATA).unlink()
    write.commit(stats)
    assert content(table) == [("a", 1, "x", 1), ("b", 1, "y", 1)]
    assert f"commitTime={write.plan.instant}" in (tmp_path / METADATA).read_text()


def test_before_a_commit_a_partition_inside_another_is_refused(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    storage.create(METADATA, b"")
    with pytest.raises(DataError, match="'x/y' would be inside the partition 'x'"):
        restore_partitions(storage, "5", {"x/y": [WriteStat("f", "x/y/f")]}, CONFIG)
    first = {path: [WriteStat("f", f"{path}/f", prev_commit="5")] for path in ("x", "y")}
    restore_partitions(storage, "5", first, CONFIG)
    assert storage.exists(f"y/{PARTITION_METADATA_FILE}")


def test_a_metadata_file_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    (tmp_path / "x").write_text("in the way")
    with pytest.raises(StorageError):
        enter_partition(
            table._context.storage, write_plan(table._context.state(), Operation.UPSERT, "5"), "x", sync=True
        )


ORDERS: dict[str, tuple[str, str]] = {"outer first": ("a", "a/b/c"), "inner first": ("a/b/c", "a")}


@pytest.mark.parametrize("order", list(ORDERS))
@pytest.mark.parametrize("version", [6, 9])
@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_a_partition_inside_another_is_refused(tmp_path: Path, table_type: str, version: int, order: str) -> None:
    table = new_table(tmp_path, table_type=table_type, version=version)
    there, other = ORDERS[order]
    table.insert(rows(("k", 1, there, 1)))
    more = rows(("l", 1, other, 1), ("m", 1, "z", 1))
    writes: Sequence[Callable[[], object]] = [
        lambda: table.insert(more),
        lambda: table.upsert(more),
        lambda: table.bulk_insert(more),
        lambda: table.insert_overwrite(more),
        lambda: table.insert_overwrite_table(more),
    ]
    for write in writes:
        with pytest.raises(DataError, match=f"cannot write to the partition '{other}': 'a/b/c' would be inside .* 'a'"):
            write()
        assert content(table) == [("k", 1, there, 1)]
        assert not table.timeline.pending
        assert not (tmp_path / "z").exists()
    table.delete_partitions([other])
    table.delete(rows(("l", 2, other, 1)))
    assert content(table) == [("k", 1, there, 1)]


def test_a_write_of_two_such_partitions_is_refused_whole(tmp_path: Path) -> None:
    for number, (first, second) in enumerate(ORDERS.values()):
        table = new_table(tmp_path / str(number))
        before = {path for path in tree(tmp_path / str(number)) if not path.startswith(".hoodie")}
        with pytest.raises(DataError, match="'a/b/c' would be inside the partition 'a'"):
            table.insert(rows(("k", 1, first, 1), ("l", 1, second, 1)))
        assert {path for path in tree(tmp_path / str(number)) if not path.startswith(".hoodie")} == before


def test_values_of_several_columns_that_nest_are_refused(tmp_path: Path) -> None:
    schema = pa.schema([("k", pa.string()), ("ts", pa.int64()), ("p", pa.string()), ("q", pa.string())])
    table = new_table(tmp_path, schema=schema, partition_by=["p", "q"])
    table.insert(rows(("k", 1, "a", "b"), ("l", 1, "a", "c"), schema=schema))
    with pytest.raises(DataError, match="'a/b/c', whose 3 folders are not one for each field"):
        table.insert(rows(("m", 1, "a/b", "c"), schema=schema))
    with pytest.raises(DataError, match="'a/c/d', whose 3 folders are not one for each field"):
        table.insert(rows(("m", 1, "a", "c/d"), schema=schema))
    assert table.snapshot().num_rows == 2


def test_of_two_writers_that_nest_partitions_at_once_one_at_most_succeeds(tmp_path: Path) -> None:
    """Each looks, then makes its own, then looks again: the one that makes it second sees the other."""
    table = new_table(tmp_path, options=SHARED)
    storage = table._context.storage
    first = write_plan(table._context.state(), Operation.UPSERT, "5")
    second = write_plan(table._context.state(), Operation.UPSERT, "6")

    class Both(LocalStorage):
        def create(self, path: str, data: bytes, *, overwrite: bool = False, sync: bool = True) -> None:
            enter_partition(storage, second, "a", sync=True)
            super().create(path, data, overwrite=overwrite, sync=sync)

    with pytest.raises(DataError, match="'a/b' would be inside the partition 'a'"):
        enter_partition(Both(tmp_path), first, "a/b", sync=True)
    assert [path for path, _ in list_partitions(storage)] == ["a"]
    with pytest.raises(DataError):
        refuse_nested(storage, "a/b", first.config)


class Turns:
    """One writer up to its request *first*, then another up to its request *second*, then the one, then the other."""

    def __init__(self, first: int, second: int) -> None:
        self._stops = (first, second)
        self._started = threading.Event()
        self._returned = threading.Event()
        self._done = threading.Event()

    def before_first(self, number: int) -> None:
        if number == self._stops[0]:
            self._started.set()
            self._returned.wait(20)

    def before_second(self, number: int) -> None:
        if number == self._stops[1]:
            self._returned.set()
            self._done.wait(20)

    def run(self, one: Callable[[], object], other: Callable[[], object]) -> None:
        def second() -> None:
            self._started.wait(20)
            try:
                other()
            finally:
                self._returned.set()

        thread = threading.Thread(target=second)
        thread.start()
        try:
            one()
        finally:
            self._started.set()
            self._done.set()
            thread.join()


@pytest.mark.slow
@pytest.mark.parametrize("version", sample([9, 6], of=2))
def test_giving_up_never_deletes_what_another_writer_has_written(tmp_path: Path, version: int) -> None:
    options = {**SHARED, "hoodie.write.lock.client.wait_time_ms_between_retry": "5", "hudiformat.sync": "false"}
    first, requests = 0, 1
    while first < requests:
        for second in range(0, 60, every(59)):
            path = tmp_path / f"{first}-{second}"
            new_table(path, version=version, options=options)
            turns = Turns(first, second)
            one, other = (RecordingStorage(LocalStorage(path)) for _ in range(2))
            mine, theirs = (open_table(storage, options=options) for storage in (one, other))
            write, _ = begun(mine, ("mine", 1, "x", 1), operation=Operation.INSERT)
            one.clear()
            other.clear()
            one.before, other.before = turns.before_first, turns.before_second
            turns.run(write.abandon, partial(theirs.insert, rows(("theirs", 1, "x", 1))))
            assert content(open_table(path)) == [("theirs", 1, "x", 1)], (first, second)
            requests = max(requests, len(one.requests))
        first += 1
    assert first > 5
