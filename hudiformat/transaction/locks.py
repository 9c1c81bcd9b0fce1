"""Locks and heartbeats: how the writers of a table exclude each other, and how they recognise a dead one.

The file-system lock is the one of Hudi's FileSystemBasedLockProvider, file for file: Java's writers and these exclude
each other.  It is held for the moments of a state change on the timeline, never while rows are written.

Heartbeats: a file per writer, written again at intervals as long as the writer lives.

A writer that finds an incomplete write checks its heartbeat before it rolls it back.
Source: HoodieHeartbeatClient, HoodieHeartbeatUtils, Hudi 1.2.0.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from hudiformat.errors import LockError, StorageError, UnsupportedFeatureError
from hudiformat.naming import base_name, join_path
from hudiformat.options import FILE_SYSTEM_PROVIDER, ConcurrencyOptions
from hudiformat.storage import Storage, open_storage
from hudiformat.timeline import META_FOLDER

_LOCK_FILE = "lock"
_FIRST_WAIT, _LONGEST_WAIT = 0.005, 0.25  # seconds


class Lock(Protocol):
    """Something that one writer at a time can have."""

    def try_acquire(self) -> bool:
        """Take the lock; False, at once, where another writer has it."""
        ...

    def release(self) -> None:
        """Give the lock back."""
        ...

    def describe(self) -> str:
        """Where the lock is and who has it."""
        ...


@dataclass(frozen=True, slots=True)
class FileSystemLock:
    """A file that only one writer can create.

    A lock file older than *expire_minutes* is deleted, as left by a writer that died; 0 means never.

    Source: FileSystemBasedLockProvider, Hudi 1.2.0.
    """

    storage: Storage
    folder: str
    expire_minutes: int = 0

    def try_acquire(self) -> bool:
        """Take the lock; an expired lock of another writer is deleted first."""
        if self._is_expired():
            self.storage.delete(self._path)
        owner = {"lockCreateTime": time.strftime("%Y-%m-%d %H:%M:%S.000"), "lockThreadName": _owner()}
        try:
            self.storage.create(self._path, json.dumps(owner).encode(), sync=False)
        except StorageError:
            if self.storage.exists(self._path) or self.storage.exists(self.folder):
                return False  # another writer has it, or had it a moment ago
            raise
        return True

    def release(self) -> None:
        """As the protocol says."""
        self.storage.delete(self._path)

    def describe(self) -> str:
        """As the protocol says."""
        try:
            owner = self.storage.read(self._path).decode(errors="replace")
        except StorageError:
            owner = ""  # it has just been given back
        return f"{self.storage.root}/{self._path} {owner}".rstrip()

    def _is_expired(self) -> bool:
        if not self.expire_minutes:
            return False
        found = next((entry for entry in self.storage.list(self.folder) if entry.name == _LOCK_FILE), None)
        if found is None or found.modified is None:
            return False
        return time.time() * 1000 - found.modified > self.expire_minutes * 60_000

    @property
    def _path(self) -> str:
        return join_path(self.folder, _LOCK_FILE)


@dataclass(frozen=True, slots=True)
class InProcessLock:
    """A lock among the threads of this process, one per table.  Source: InProcessLockProvider, Hudi 1.2.0."""

    root: str

    def try_acquire(self) -> bool:
        """As the protocol says."""
        return self._lock.acquire(blocking=False)

    def release(self) -> None:
        """As the protocol says."""
        self._lock.release()

    def describe(self) -> str:
        """As the protocol says."""
        return f"the lock of {self.root} in this process"

    @property
    def _lock(self) -> threading.Lock:
        with _registry_lock:
            return _in_process.setdefault(self.root, threading.Lock())


_in_process: dict[str, threading.Lock] = {}
_registry_lock = threading.Lock()


def lock_of(storage: Storage, options: ConcurrencyOptions) -> Lock:
    """The lock that all writers of a table with these *options* share.

    Raises:
        UnsupportedFeatureError: two writers could both create the lock file on this storage.
    """
    if options.lock_provider != FILE_SYSTEM_PROVIDER:
        return InProcessLock(storage.root)
    storage_of_lock = open_storage(options.lock_path) if options.lock_path else storage
    if not storage_of_lock.capabilities.atomic_create:
        raise UnsupportedFeatureError(
            f"{storage_of_lock.root}: a lock file needs a storage where only one of several writers can create a file",
            feature="file-system lock without atomic create",
        )
    return FileSystemLock(storage_of_lock, "" if options.lock_path else META_FOLDER, options.lock_expire_minutes)


@contextmanager
def held(lock: Lock, *, patience: float) -> Iterator[None]:
    """Have *lock* for as long as the block lasts, after waiting for it for at most *patience* seconds.

    Raises:
        LockError: another writer has had it all the time.
    """
    deadline = time.monotonic() + patience
    wait = _FIRST_WAIT
    while not lock.try_acquire():
        if time.monotonic() >= deadline:
            raise LockError(
                f"the lock was not free for {patience:g} seconds: {lock.describe()}; if its writer is dead, delete it, "
                "or set hoodie.write.lock.filesystem.expire"
            )
        time.sleep(wait)
        wait = min(wait * 2, _LONGEST_WAIT)
    try:
        yield
    finally:
        lock.release()


def _owner() -> str:
    return f"hudiformat {socket.gethostname()} {os.getpid()} {threading.current_thread().name}"


_FOLDER = ".hoodie/.heartbeat"


class Heartbeat:
    """The heartbeat of one write; :meth:`start` and :meth:`stop` it once.

    It can be sent to other processes, such as the tasks of the write: there it beats within :meth:`beating`.
    """

    def __init__(self, storage: Storage, instant: str, *, interval: float) -> None:
        self._storage = storage
        self._path = f"{_FOLDER}/{instant}"
        self._interval = interval
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"heartbeat {instant}", daemon=True)

    def start(self) -> None:
        """Beat at once, and then every *interval* seconds.

        Raises:
            StorageError: the first beat failed.
        """
        self._beat()
        self._thread.start()

    @contextmanager
    def beating(self) -> Iterator[None]:
        """Beat as long as the block lasts, in a process that this has been sent to; the file stays."""
        if self._thread.ident is not None or self._stopped.is_set():  # it beats, or has beaten, in this process
            yield
            return
        self.start()
        try:
            yield
        finally:
            self.hand_over()

    def hand_over(self) -> None:
        """Stop beating and leave the file: other processes go on."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def stop(self) -> None:
        """Stop beating, and delete the file."""
        self.hand_over()
        forget(self._storage, base_name(self._path))

    def __reduce__(self) -> tuple[Callable[..., Heartbeat], tuple[object, ...]]:
        return partial(Heartbeat, interval=self._interval), (self._storage, base_name(self._path))

    def _run(self) -> None:
        while not self._stopped.wait(self._interval):
            with contextlib.suppress(StorageError):  # a missed beat is tolerated, and the next one may succeed
                self._beat()

    def _beat(self) -> None:
        self._storage.create(self._path, b"", overwrite=True, sync=False)


def living(storage: Storage, *, tolerance: float) -> frozenset[str]:
    """The instants of writers whose heartbeat was written within the last *tolerance* seconds.

    Where the storage does not record when a file was written, every heartbeat counts.
    """
    oldest = (time.time() - tolerance) * 1000
    return frozenset(
        entry.name for entry in storage.list(_FOLDER) if entry.modified is None or entry.modified >= oldest
    )


def forget(storage: Storage, instant: str) -> None:
    """Delete the heartbeat of a writer, alive or dead."""
    with contextlib.suppress(StorageError):
        storage.delete(f"{_FOLDER}/{instant}")
