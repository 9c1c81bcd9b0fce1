"""Locks and heartbeats."""

from __future__ import annotations

import os
import pickle
import threading
import time
from pathlib import Path

import pytest

from hudiformat import LockError, StorageError, UnsupportedFeatureError, open_storage
from hudiformat.options.values import IN_PROCESS_PROVIDER, ConcurrencyOptions
from hudiformat.storage import LocalStorage
from hudiformat.transaction.locks import FileSystemLock, Heartbeat, InProcessLock, Lock, forget, held, living, lock_of


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
    with held(lock, patience=10):
        assert not lock.try_acquire()
    assert lock.try_acquire()
    lock.release()


def test_a_lock_that_is_never_free(lock: Lock) -> None:
    lock.try_acquire()
    with pytest.raises(LockError, match=r"the lock was not free for 0.02 seconds: .*hoodie.write.lock.filesystem"):
        held(lock, patience=0.02).__enter__()
    lock.release()


def test_a_lock_is_given_back_after_an_error(lock: Lock) -> None:
    with pytest.raises(ZeroDivisionError), held(lock, patience=1):
        raise ZeroDivisionError
    assert lock.try_acquire()
    lock.release()


def test_the_lock_file_is_hudis_and_says_who_has_it(tmp_path: Path) -> None:
    lock = lock_of(LocalStorage(tmp_path), ConcurrencyOptions())
    assert lock.try_acquire()
    assert (tmp_path / ".hoodie" / "lock").is_file()
    assert str(os.getpid()) in lock.describe()
    lock.release()
    assert lock.describe() == f"{tmp_path}/.hoodie/lock"


def test_a_lock_file_somewhere_else(tmp_path: Path) -> None:
    lock = lock_of(LocalStorage(tmp_path / "table"), ConcurrencyOptions(lock_path=str(tmp_path / "locks")))
    assert lock.try_acquire()
    assert (tmp_path / "locks" / "lock").is_file()


def test_a_lock_of_this_process_is_known_by_the_table(tmp_path: Path) -> None:
    options = ConcurrencyOptions(lock_provider=IN_PROCESS_PROVIDER)
    first, second = (lock_of(LocalStorage(tmp_path), options) for _ in range(2))
    assert first.try_acquire()
    assert not second.try_acquire()
    assert lock_of(LocalStorage(tmp_path / "other"), options).try_acquire()
    first.release()


def test_a_storage_on_which_two_could_have_the_lock() -> None:
    with pytest.raises(UnsupportedFeatureError, match="a lock file needs a storage"):
        lock_of(open_storage("memory://a/table"), ConcurrencyOptions())


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


def test_a_heartbeat_goes_on_until_it_is_stopped(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    heartbeat = Heartbeat(storage, "1", interval=0.01)
    heartbeat.start()
    file = tmp_path / ".hoodie" / ".heartbeat" / "1"
    os.utime(file, (0, 0))
    deadline = time.monotonic() + 10
    while file.stat().st_mtime == 0 and time.monotonic() < deadline:
        time.sleep(0.005)
    assert living(storage, tolerance=60) == {"1"}
    heartbeat.stop()
    assert not file.exists()
    assert living(storage, tolerance=60) == set()


def test_a_heartbeat_goes_on_where_it_is_sent_to(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    heartbeat = Heartbeat(storage, "1", interval=60)
    heartbeat.start()
    with heartbeat.beating():  # where it was started it beats anyway
        heartbeat.hand_over()
    file = tmp_path / ".hoodie" / ".heartbeat" / "1"
    file.unlink()
    sent: Heartbeat = pickle.loads(pickle.dumps(heartbeat))  # noqa: S301
    with sent.beating():
        assert file.exists()
        again: Heartbeat = pickle.loads(pickle.dumps(sent))  # noqa: S301
        with again.beating():
            again.stop()
        assert not file.exists()
    assert not [thread for thread in threading.enumerate() if thread.name == "heartbeat 1"]


def test_an_old_heartbeat_is_a_dead_writers(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    for instant, age in (("1", 500), ("2", 10)):
        storage.create(f".hoodie/.heartbeat/{instant}", b"")
        os.utime(tmp_path / ".hoodie" / ".heartbeat" / instant, (time.time() - age,) * 2)
    assert living(storage, tolerance=120) == {"2"}
    forget(storage, "1")
    assert living(storage, tolerance=1000) == {"2"}
