from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from types import SimpleNamespace
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat import testing
from hudiformat.codec.log.block import LogBlock, encode_block
from hudiformat.codec.log.build import rollback_block
from hudiformat.codec.log.frame import BlockHeader, BlockType
from hudiformat.codec.log.reader import LogReader
from hudiformat.codec.log.writer import DEFAULT_LOG_MAX_SIZE, AppendResult, LogWriter
from hudiformat.errors import EncodeError, NameFormatError, OptionError, StorageError
from hudiformat.naming.file_names import LogFileName
from hudiformat.storage.local import LocalStorage
from hudiformat.table.options.values import WriteOptions
from tests.codec.log.memory_storage import MemoryStorage
from tests.faults import FaultyStorage

T = TypeVar("T")
NAME = ".f-0_001.log.1_1-2-3"
BLOCK, OTHER = rollback_block(instant="002", target="001"), rollback_block(instant="003", target="001")
SIZE = len(encode_block(BLOCK))


def version(number: int) -> str:
    return f".f-0_001.log.{number}_1-2-3"


@pytest.fixture
def storage() -> MemoryStorage:
    return MemoryStorage()


def writer(storage: MemoryStorage, *, max_size: int = 10**6, sync: bool = True, name: str = NAME) -> LogWriter:
    return LogWriter("p", name, storage=storage, max_size=max_size, sync=sync)


def sound(storage: MemoryStorage, path: str) -> list[LogBlock]:
    return [block for block in LogReader(path, storage=storage) if block.type is not BlockType.CORRUPT]


# A folder


def test_blocks_that_are_appended_are_read_again(tmp_path: Path) -> None:
    with LogWriter(tmp_path, NAME) as log:
        first, second = log.append(BLOCK), log.append(OTHER, BLOCK)
    assert first == AppendResult(str(tmp_path / NAME), 0, SIZE)
    assert second == AppendResult(str(tmp_path / NAME), SIZE, 2 * SIZE)
    assert list(LogReader(first.path)) == [BLOCK, OTHER, BLOCK]
    assert (tmp_path / NAME).read_bytes() == encode_block(BLOCK) + encode_block(OTHER) + encode_block(BLOCK)


def test_the_folder_is_made_with_the_first_file(tmp_path: Path) -> None:
    with LogWriter(tmp_path / "a" / "b", LogFileName.parse(NAME), sync=False) as log:
        assert not (tmp_path / "a").exists()
        log.append(BLOCK)
    assert [path.name for path in (tmp_path / "a" / "b").iterdir()] == [NAME]


def test_an_append_can_be_read_before_the_writer_is_closed(tmp_path: Path) -> None:
    with LogWriter(tmp_path, NAME) as log:
        assert list(LogReader(log.append(BLOCK).path)) == [BLOCK]


def test_a_folder_that_cannot_be_made_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with LogWriter(tmp_path / "file", NAME) as log, pytest.raises(StorageError, match="cannot create"):
        log.append(BLOCK)


# Arguments


@pytest.mark.parametrize("size", [0, -1])
def test_a_threshold_that_is_not_positive_is_refused(tmp_path: Path, size: int) -> None:
    with pytest.raises(OptionError, match=f"max_size: expected a positive number of bytes, found {size}") as caught:
        LogWriter(tmp_path, NAME, max_size=size)
    assert caught.value.option == "max_size"


def test_the_threshold_is_that_of_tables_where_nothing_is_said() -> None:
    assert DEFAULT_LOG_MAX_SIZE == WriteOptions().log_max_size == 1 << 30


@pytest.mark.parametrize("name", ["f-0_1-2-3_001.parquet", "", f"p/{NAME}"])
def test_a_name_that_is_none_of_a_log_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(NameFormatError):
        LogWriter(tmp_path, name)


# Roll-over


def test_a_file_of_just_the_threshold_is_not_rolled_over(storage: MemoryStorage) -> None:
    with writer(storage, max_size=2 * SIZE) as log:
        places = [log.append(BLOCK) for _ in range(4)]
    assert [(place.path[-len(NAME) :], place.offset) for place in places] == [
        (version(1), 0), (version(1), SIZE), (version(1), 2 * SIZE), (version(2), 0)
    ]  # fmt: skip


def test_a_file_above_the_threshold_is_rolled_over_after_the_append(storage: MemoryStorage) -> None:
    with writer(storage, max_size=SIZE - 1) as log:
        assert log.append(BLOCK).path == f"memory:/table/p/{version(1)}"
        assert log.path == f"memory:/table/p/{version(2)}"
        assert list(storage.files) == [f"p/{version(1)}"]  # the next comes into being with its first block
        assert log.append(BLOCK).path == f"memory:/table/p/{version(2)}"
    assert list(storage.files) == [f"p/{version(1)}", f"p/{version(2)}"]


def test_the_token_and_all_else_but_the_version_is_kept(storage: MemoryStorage) -> None:
    with writer(storage, max_size=1, name=".f-0_001.log.009_7-8-9.cdc") as log:
        log.append(BLOCK)
        assert log.name == LogFileName("f-0", "001", 10, "7-8-9", ".cdc")


def test_an_append_of_several_blocks_is_never_split(storage: MemoryStorage) -> None:
    with writer(storage, max_size=1) as log:
        assert log.append(BLOCK, OTHER, BLOCK) == AppendResult(f"memory:/table/p/{version(1)}", 0, 3 * SIZE)
    assert sound(storage, f"p/{version(1)}") == [BLOCK, OTHER, BLOCK]


def test_a_file_that_exists_is_skipped_and_stays_as_it_is(storage: MemoryStorage) -> None:
    for number in (1, 2, 4):
        storage.create(f"p/{version(number)}", b"old")
    with writer(storage, max_size=1) as log:
        assert log.append(BLOCK).path.endswith(version(3))
        assert log.append(BLOCK).path.endswith(version(5))
    assert [storage.read(f"p/{version(number)}") for number in (1, 2, 4)] == [b"old"] * 3


def test_a_file_that_another_writer_makes_at_the_same_time_is_skipped(storage: MemoryStorage) -> None:
    storage.taken_by_another = {f"p/{version(1)}"}
    with writer(storage) as log:
        assert log.append(BLOCK).path.endswith(version(2))


def test_a_file_that_cannot_be_made_is_an_error_and_no_endless_search(storage: MemoryStorage) -> None:
    storage.refuses_new_files = True
    with writer(storage) as log, pytest.raises(StorageError, match="cannot create"):
        log.append(BLOCK)


@pytest.mark.parametrize("is_own", [True, False])
def test_an_own_name_is_deleted_where_making_it_failed_after_it_took_effect(
    storage: MemoryStorage, is_own: bool
) -> None:
    storage.taken_by_another = {f"p/{version(1)}"}
    with LogWriter("p", NAME, storage=storage, is_own_name=is_own) as log:
        assert log.append(BLOCK).path.endswith(version(2))
    assert storage.exists(f"p/{version(1)}") is not is_own


def test_files_that_are_there_after_each_failed_attempt_end_the_search(storage: MemoryStorage) -> None:
    storage.taken_by_another = {f"p/{version(number)}" for number in range(1, 100)}
    with writer(storage) as log, pytest.raises(StorageError, match="cannot create"):
        log.append(BLOCK)


def test_after_the_last_version_there_is_none(storage: MemoryStorage) -> None:
    storage.create("p/.f-0_001.log.2147483647_1-2-3", b"old")
    with (
        writer(storage, name=".f-0_001.log.2147483647_1-2-3") as log,
        pytest.raises(NameFormatError, match="no log version follows"),
    ):
        log.append(BLOCK)


# Order of events


def test_each_append_is_one_write_and_one_sync(storage: MemoryStorage) -> None:
    path = f"p/{version(1)}"
    with writer(storage) as log:
        log.append(BLOCK)
        log.append(OTHER, BLOCK)
    assert storage.events == [
        ("create", path), ("write", path), ("sync", path), ("write", path), ("sync", path), ("close", path)
    ]  # fmt: skip


@pytest.mark.parametrize("sizes", [[10] * 2000, [10, 1 << 15, 10], [1 << 15] * 3, [(1 << 14) + 1], [1 << 14]], ids=len)
def test_blocks_of_any_size_are_written_as_they_are_encoded(tmp_path: Path, sizes: list[int]) -> None:
    blocks = [LogBlock(BlockType.AVRO_DATA, BLOCK.header, bytes([size % 251]) * size) for size in sizes]
    with LogWriter(tmp_path, NAME, sync=False) as log:
        result = log.append(*blocks)
    data = b"".join(map(encode_block, blocks))
    assert (tmp_path / NAME).read_bytes() == data
    assert result.size == len(data)


def test_without_sync_nothing_is_synced(storage: MemoryStorage) -> None:
    with writer(storage, sync=False) as log:
        log.append(BLOCK)
    assert [event for event, _ in storage.events] == ["create", "write", "close"]


def test_a_file_that_is_rolled_over_is_closed(storage: MemoryStorage) -> None:
    with writer(storage, max_size=1) as log:
        log.append(BLOCK)
        assert storage.events[-1] == ("close", f"p/{version(1)}")


def test_on_create_is_called_with_the_path_before_the_file_is_made(storage: MemoryStorage) -> None:
    storage.create(f"p/{version(1)}", b"old")
    seen: list[tuple[str, bool]] = []
    with LogWriter(
        "p", NAME, max_size=1, storage=storage, on_create=lambda path: seen.append((path, path in storage.files))
    ) as log:
        log.append(BLOCK)
        log.append(BLOCK)
    assert seen == [(f"p/{version(2)}", False), (f"p/{version(3)}", False)]


def test_an_append_of_nothing_does_nothing(storage: MemoryStorage) -> None:
    with writer(storage) as log:
        assert log.append() == AppendResult(f"memory:/table/p/{version(1)}", 0, 0)
        assert storage.files == {}
        log.append(BLOCK)
        assert log.append() == AppendResult(f"memory:/table/p/{version(1)}", SIZE, 0)


# The end


def test_a_closed_writer_refuses(storage: MemoryStorage) -> None:
    log = writer(storage)
    log.close()
    log.close()
    with pytest.raises(StorageError, match=f"the writer of memory:/table/p/{version(1)} is closed") as caught:
        log.append(BLOCK)
    assert caught.value.path == f"memory:/table/p/{version(1)}"
    assert storage.files == {}


def test_a_block_that_cannot_be_encoded_writes_nothing(storage: MemoryStorage) -> None:
    bad = LogBlock(BlockType.COMMAND, BlockHeader(), b"", version=2)
    with writer(storage) as log:
        with pytest.raises(EncodeError):
            log.append(BLOCK, bad)
        assert storage.files == {}
        assert log.append(BLOCK).offset == 0


# Failing writes


@pytest.mark.parametrize("room", [0, 5, 6, SIZE - 1, SIZE, SIZE + 7, 2 * SIZE - 1])
def test_a_write_that_fails_leaves_a_torn_tail_and_the_next_append_goes_elsewhere(
    storage: MemoryStorage, room: int
) -> None:
    with writer(storage) as log:
        log.append(OTHER)
        storage.room = room
        with pytest.raises(StorageError, match="no space left"):
            log.append(BLOCK, BLOCK)
        assert log.append(BLOCK) == AppendResult(f"memory:/table/p/{version(2)}", 0, SIZE)
    assert sound(storage, f"p/{version(1)}") == [OTHER] + [BLOCK] * (room // SIZE)
    assert sound(storage, f"p/{version(2)}") == [BLOCK]


def test_an_interrupt_in_the_middle_of_a_write_is_no_different(storage: MemoryStorage) -> None:
    with writer(storage) as log:
        storage.room, storage.failure = 9, KeyboardInterrupt()
        with pytest.raises(KeyboardInterrupt):
            log.append(BLOCK)
        assert log.append(BLOCK).path.endswith(version(2))
    assert ("close", f"p/{version(1)}") in storage.events


def test_a_sync_that_fails_is_no_different(storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise StorageError("disk gone")

    with writer(storage) as log:
        log.append(BLOCK)
        with monkeypatch.context() as patch:
            patch.setattr("tests.codec.log.memory_storage.MemoryFile.sync", fail)
            with pytest.raises(StorageError, match="disk gone"):
                log.append(BLOCK)
        assert log.append(BLOCK).path.endswith(version(2))


# Everything at once


@pytest.mark.slow
@settings(deadline=None)
@given(
    appends=st.lists(
        st.tuples(st.lists(testing.blocks(magic_inside=False), max_size=3), st.none() | st.integers(0, 200)), max_size=8
    ),
    max_size=st.integers(1, 400),
    taken=st.sets(st.integers(1, 6), max_size=3),
)
def test_blocks_appended_are_the_blocks_read_over_all_files_in_order(
    appends: list[tuple[list[LogBlock], int | None]], max_size: int, taken: set[int]
) -> None:
    storage = MemoryStorage()
    for number in taken:
        storage.create(f"p/{version(number)}", b"old")
    expected: list[LogBlock] = []
    with writer(storage, max_size=max_size) as log:
        for blocks, room in appends:
            ends = list(accumulate(len(encode_block(block)) for block in blocks))
            storage.room = room
            if blocks and room is not None and room < ends[-1]:
                with pytest.raises(StorageError):
                    log.append(*blocks)
                expected += [block for block, end in zip(blocks, ends, strict=True) if end <= room]
            else:
                assert log.append(*blocks).size == (ends or [0])[-1]
                expected += blocks
            storage.room = None
    ours = sorted((name for name, data in storage.files.items() if data != b"old"), key=sort_key)
    assert [block for name in ours for block in sound(storage, name)] == expected
    assert all(storage.files[f"p/{version(number)}"] == b"old" for number in taken)


def sort_key(path: str) -> tuple[str, int, bool, str, str]:
    return LogFileName.parse(path.removeprefix("p/")).sort_key


@pytest.mark.parametrize(("deletes_failed", "expected"), [(False, [".f-0_001.log.1_1-2-3"]), (True, [])])
def test_a_file_whose_first_append_fails_may_be_deleted(
    tmp_path: Path, deletes_failed: bool, expected: list[str]
) -> None:
    def run(what: str, action: Callable[[], T]) -> T:
        if what == "write":
            raise StorageError("the disk is full")
        return action()

    faulty = FaultyStorage(LocalStorage(tmp_path), SimpleNamespace(run=run))
    failing = LogWriter("", NAME, storage=faulty, deletes_failed=deletes_failed)
    with pytest.raises(StorageError, match="the disk is full"):
        failing.append(BLOCK)
    assert [path.name for path in tmp_path.iterdir()] == expected
