"""Locks: one writer at a time, and one that has lost its lock finds out."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from hudiformat import HudiFormatWarning, LockError, StorageError, UnsupportedFeatureError, open_storage
from hudiformat.storage.local import LocalStorage
from hudiformat.table.options.locks import FileLockOptions, LockOptions, LockProvider
from hudiformat.write.commit.lock_providers.file_system import FileSystemLock
from hudiformat.write.commit.lock_providers.in_process import InProcessLock
from hudiformat.write.commit.lock_providers.lock import Lock
from hudiformat.write.commit.locks import LOCKS, HeldLock, hold_lock, lock_of


@pytest.fixture(params=["file system", "in process"])
def lock(request: pytest.FixtureRequest, tmp_path: Path) -> Lock:
    if request.param == "in process":
        return InProcessLock(str(tmp_path))
    return FileSystemLock(LocalStorage(tmp_path), ".hoodie")


def test_one_at_a_time(lock: Lock) -> None:
    assert lock.try_acquire()
    assert not lock.try_acquire()
    lock.release()
    assert lock.try_acquire()
    lock.release()


def test_waiting_for_a_lock(lock: Lock) -> None:
    lock.try_acquire()
    threading.Timer(0.05, lock.release).start()
    with hold_lock(lock, longest_wait=10):
        assert not lock.try_acquire()
    assert lock.try_acquire()
    lock.release()


def test_a_lock_that_is_never_free(lock: Lock) -> None:
    lock.try_acquire()
    with pytest.raises(LockError, match=r"the lock was not free for 0.02 seconds: .*hoodie.write.lock.filesystem"):
        hold_lock(lock, longest_wait=0.02).__enter__()
    lock.release()


def test_a_lock_is_given_back_after_an_error(lock: Lock) -> None:
    with pytest.raises(ZeroDivisionError), hold_lock(lock, longest_wait=1):
        raise ZeroDivisionError
    assert lock.try_acquire()
    lock.release()


def test_the_lock_file_is_hudis_and_says_who_has_it(tmp_path: Path) -> None:
    lock = lock_of(LocalStorage(tmp_path), LockOptions())
    assert lock.try_acquire()
    assert (tmp_path / ".hoodie" / "lock").is_file()
    assert str(os.getpid()) in lock.describe()
    lock.release()
    assert lock.describe() == f"{tmp_path}/.hoodie/lock"


def test_a_lock_file_somewhere_else(tmp_path: Path) -> None:
    lock = lock_of(LocalStorage(tmp_path / "table"), LockOptions(file=FileLockOptions(path=str(tmp_path / "locks"))))
    assert lock.try_acquire()
    assert (tmp_path / "locks" / "lock").is_file()


def test_a_lock_of_this_process_is_known_by_the_table(tmp_path: Path) -> None:
    options = LockOptions(provider=LockProvider.IN_PROCESS)
    first, second = (lock_of(LocalStorage(tmp_path), options) for _ in range(2))
    assert first.try_acquire()
    assert not second.try_acquire()
    assert lock_of(LocalStorage(tmp_path / "other"), options).try_acquire()
    first.release()


def test_a_storage_on_which_two_could_have_the_lock() -> None:
    with pytest.raises(UnsupportedFeatureError, match="expected a storage that creates files atomically"):
        lock_of(open_storage("memory://a/table"), LockOptions())


@pytest.mark.parametrize(("minutes", "age", "free"), [(1, 61, True), (1, 30, False), (0, 10**6, False)])
def test_a_lock_expires(tmp_path: Path, minutes: int, age: float, free: bool) -> None:
    lock = FileSystemLock(LocalStorage(tmp_path), "", minutes)
    (tmp_path / "lock").touch()
    os.utime(tmp_path / "lock", (time.time() - age,) * 2)
    assert lock.try_acquire() is free


def test_a_lock_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot create"):
        FileSystemLock(LocalStorage(tmp_path), "file/folder").try_acquire()


def test_a_folder_of_locks_that_is_a_file_is_an_error_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    lock = FileSystemLock(LocalStorage(tmp_path / "file"), "")
    with (
        pytest.raises(StorageError, match="cannot create .*file/lock: Not a directory"),
        hold_lock(lock, longest_wait=0),
    ):
        pass


def expire(path: Path) -> None:
    os.utime(path, (time.time() - 1000,) * 2)


@pytest.fixture
def two(tmp_path: Path) -> tuple[FileSystemLock, FileSystemLock]:
    """The locks of two writers of one table."""
    first, second = (FileSystemLock(LocalStorage(tmp_path), "", 1) for _ in range(2))
    return first, second


def test_a_writer_whose_lock_was_taken_has_it_no_more_and_leaves_it_alone(
    tmp_path: Path, two: tuple[FileSystemLock, FileSystemLock]
) -> None:
    first, second = two
    assert first.try_acquire()
    hold = HeldLock(first)
    expire(tmp_path / "lock")
    assert second.try_acquire()
    assert (first.is_own(), second.is_own()) == (False, True)
    with pytest.raises(LockError, match="no longer this writer's.*lock.filesystem.expire says"):
        hold.confirm()
    expire(tmp_path / "lock")
    before = (tmp_path / "lock").stat().st_mtime
    first.renew()
    assert (tmp_path / "lock").stat().st_mtime == before
    first.release()
    assert second.is_own()
    second.renew()
    assert (tmp_path / "lock").stat().st_mtime > before
    second.release()
    assert list(tmp_path.iterdir()) == []


def test_of_two_that_find_an_expired_lock_one_gets_it(
    tmp_path: Path, two: tuple[FileSystemLock, FileSystemLock], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second looks at the lock, and before it goes on the first has taken it."""
    first, second = two
    (tmp_path / "lock").write_text("a dead writer's")
    expire(tmp_path / "lock")
    look = LocalStorage.list
    taken: list[bool] = []

    def slow(storage: LocalStorage, path: str) -> object:
        found = look(storage, path)
        if not taken:
            taken.append(True)
            assert first.try_acquire()
        return found

    monkeypatch.setattr(LocalStorage, "list", slow)
    assert not second.try_acquire()
    assert (first.is_own(), second.is_own()) == (True, False)


def test_a_writer_that_dies_while_it_takes_an_expired_lock_is_waited_for_no_longer_than_for_the_lock(
    tmp_path: Path, two: tuple[FileSystemLock, FileSystemLock], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = two
    (tmp_path / "lock").write_text("a dead writer's")
    expire(tmp_path / "lock")
    with monkeypatch.context() as patch:
        patch.setattr(LocalStorage, "delete", interrupt)
        with pytest.raises(KeyboardInterrupt):
            first.try_acquire()
    assert not second.try_acquire()
    [claim] = tmp_path.glob("lock.expired-*")
    expire(claim)
    assert not second.try_acquire()  # it takes the claim away
    assert second.try_acquire()


def interrupt(*_arguments: object) -> None:
    raise KeyboardInterrupt


def test_a_lock_that_cannot_be_given_back_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object) -> None:
        raise StorageError("the network is gone")

    lock = FileSystemLock(LocalStorage(tmp_path), "")
    with (
        pytest.warns(HudiFormatWarning, match="could not be released.*the network is gone"),
        hold_lock(lock, longest_wait=1),
    ):
        monkeypatch.setattr(LocalStorage, "delete", fail)
    assert lock.is_own()


def test_a_lock_that_expires_is_renewed_as_long_as_it_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FileSystemLock, "expires_after", 0.03)
    lock = FileSystemLock(LocalStorage(tmp_path), "", 1)
    with hold_lock(lock, longest_wait=1) as hold:
        os.utime(tmp_path / "lock", (0, 0))
        deadline = time.monotonic() + 10
        while (tmp_path / "lock").stat().st_mtime == 0 and time.monotonic() < deadline:
            time.sleep(0.005)
        hold.confirm()
        assert (tmp_path / "lock").stat().st_mtime > 0


def test_a_lock_whose_creation_succeeded_though_the_answer_was_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = LocalStorage.create

    def lose_the_answer(storage: LocalStorage, path: str, data: bytes, **options: bool) -> None:
        create(storage, path, data, **options)
        raise StorageError("timed out")

    monkeypatch.setattr(LocalStorage, "create", lose_the_answer)
    assert FileSystemLock(LocalStorage(tmp_path), "").try_acquire()


def test_every_provider_that_an_option_can_name_has_a_lock_of_its_own() -> None:
    assert set(LOCKS) == set(LockProvider)
    assert len(set(LOCKS.values())) == len(LockProvider)


def test_a_lock_in_this_process_is_its_owners_alone(tmp_path: Path) -> None:
    own, other = (InProcessLock(str(tmp_path)) for _ in range(2))
    assert own.try_acquire()
    assert (own.is_own(), other.is_own()) == (True, False)
    other.release()  # of what it does not hold
    assert own.is_own()
    assert not other.try_acquire()
    own.release()
    assert not own.is_own()


def test_a_lock_that_cannot_be_read_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = FileSystemLock(LocalStorage(tmp_path), ".hoodie")
    assert lock.try_acquire()

    def fail(_storage: LocalStorage, path: str) -> bytes:
        raise StorageError(f"cannot read {path}: the storage is slow", path=path)

    monkeypatch.setattr(LocalStorage, "read", fail)
    with pytest.raises(StorageError, match="the storage is slow"):
        lock.is_own()
    monkeypatch.undo()
    assert lock.is_own()
    lock.release()
    assert not lock.is_own()


def test_a_lock_that_another_writer_takes_between_two_looks_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = FileSystemLock(LocalStorage(tmp_path), "")
    read = LocalStorage.read

    def released_and_taken(storage: LocalStorage, path: str) -> bytes:
        monkeypatch.setattr(LocalStorage, "read", read)
        FileSystemLock(storage, "").try_acquire()
        raise StorageError(f"cannot read {path}")

    monkeypatch.setattr(LocalStorage, "read", released_and_taken)
    assert not lock.is_own()
    assert (tmp_path / "lock").is_file()
