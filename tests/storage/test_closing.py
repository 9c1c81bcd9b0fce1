"""Files that are closed together."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import TypeVar

import pytest

from hudiformat.errors import StorageError
from hudiformat.storage import local
from hudiformat.storage.local import LocalStorage
from hudiformat.storage.threads import FileCloser
from tests.faults import FaultyStorage

T = TypeVar("T")


class _Full:
    """The disk is full when the third file is synced."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def run(self, what: str, action: Callable[[], T]) -> T:
        self.done.append(what)
        if what == "sync" and self.done.count("sync") == 3:
            raise StorageError("no space left on device")
        return action()


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The files, by their inodes, that have been synced."""
    found: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda handle: found.append(os.fstat(handle).st_ino))
    return found


def test_files_that_are_complete_are_synced_together_and_closed(tmp_path: Path, synced: list[int]) -> None:
    storage = LocalStorage(tmp_path)
    files = [storage.open_new(f"f{number}") for number in range(5)]
    with FileCloser(storage) as complete:
        for file in files:
            file.write(b"data")
            complete.add(file)
        assert not synced
    assert {(tmp_path / f"f{number}").stat().st_ino for number in range(5)} < set(synced)
    assert tmp_path.stat().st_ino in synced
    with pytest.raises(StorageError, match="it is closed"):
        files[0].write(b"more")


def test_only_so_many_files_wait(tmp_path: Path, synced: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_sync_file_system", lambda: None)  # as on other systems than Linux
    storage = LocalStorage(tmp_path)
    complete = FileCloser(storage)
    for number in range(64):
        complete.add(storage.open_new(f"f{number}"))
    assert (tmp_path / "f0").stat().st_ino in synced


def test_many_files_are_synced_with_their_file_system(
    tmp_path: Path, synced: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    systems: list[int] = []
    monkeypatch.setattr(local, "_sync_file_system", lambda: lambda handle: systems.append(os.fstat(handle).st_dev))
    storage = LocalStorage(tmp_path)
    files = [storage.open_new(f"f{number}") for number in range(40)]
    with FileCloser(storage) as complete:
        for file in files:
            complete.add(file)
        assert not systems
    assert systems == [tmp_path.stat().st_dev]
    assert not synced
    with pytest.raises(StorageError, match="it is closed"):
        files[0].write(b"more")


def test_all_that_was_written_is_synced_at_the_end_if_somebody_relies_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    systems: list[int] = []
    monkeypatch.setattr(local, "_sync_file_system", lambda: systems.append)
    with FileCloser(LocalStorage(tmp_path)) as complete:
        assert complete.sync_all_at_end()
    assert len(systems) == 1
    complete.finish()  # nothing is owed any more
    assert len(systems) == 1
    assert not FileCloser(LocalStorage(tmp_path), sync=False).sync_all_at_end()


def test_files_are_let_go_when_their_file_system_cannot_be_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_handle: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(local, "_sync_file_system", lambda: fail)
    storage = LocalStorage(tmp_path)
    files = [storage.open_new(f"f{number}") for number in range(40)]
    complete = FileCloser(storage)
    for file in files:
        complete.add(file)
    with pytest.raises(StorageError, match="cannot sync .*: Input/output error"):
        complete.finish()
    with pytest.raises(StorageError, match="it is closed"):
        files[0].write(b"more")


def test_files_are_closed_at_once_where_nothing_is_synced(tmp_path: Path, synced: list[int]) -> None:
    storage = LocalStorage(tmp_path)
    file = storage.open_new("f")
    FileCloser(storage, sync=False).add(file)
    with pytest.raises(StorageError, match="it is closed"):
        file.write(b"more")
    assert not synced


def test_a_file_that_cannot_be_synced_fails_the_write_and_every_file_is_closed(tmp_path: Path) -> None:
    full = _Full()
    storage = FaultyStorage(LocalStorage(tmp_path), full)
    complete = FileCloser(storage)
    for number in range(5):
        complete.add(storage.open_new(f"f{number}"))
    with pytest.raises(StorageError, match="no space left"):
        complete.finish()
    assert full.done.count("sync") == full.done.count("close") == 5


def test_files_of_a_failed_write_are_let_go(tmp_path: Path, synced: list[int]) -> None:
    storage = LocalStorage(tmp_path)
    file = storage.open_new("f")

    def fail() -> None:
        with FileCloser(storage) as complete:
            complete.add(file)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with pytest.raises(StorageError, match="it is closed"):
        file.write(b"more")
    assert not synced


def test_a_folder_is_synced_once_for_all_who_wait_for_it(
    tmp_path: Path, synced: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    called, moments = threading.Event(), count(1)

    def moment() -> Iterator[int]:
        for one in moments:
            called.set()
            yield one

    monkeypatch.setattr(local, "_moments", moment())
    turn = local._sync_turns[hash(str(tmp_path)) % len(local._sync_turns)]
    with turn:
        waiting = threading.Thread(target=local._sync_folder, args=(str(tmp_path),))
        waiting.start()
        called.wait()
        local._synced_from[str(tmp_path)] = next(moments)  # another sync has begun since, and has ended
    waiting.join()
    assert not synced
    local._sync_folder(str(tmp_path))
    assert synced == [tmp_path.stat().st_ino]
