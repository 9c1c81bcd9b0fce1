"""Locks: how the writers of a table exclude each other.

The file-system lock is that of Hudi's FileSystemBasedLockProvider, file for file: Java's writers and ours exclude each
other.  It is held for the moments in which the timeline changes, never while rows are written.

A lock that expires can be lost: its owner was stopped for longer than that, and another writer has taken the lock.  So
the file names its owner; the owner renews it, and checks that it is still the owner before it changes what others see.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from hudiformat.errors import LockError, StorageError, UnsupportedFeatureError, warn
from hudiformat.naming.file_names import join_path
from hudiformat.storage.opening import open_storage
from hudiformat.storage.protocol import Storage
from hudiformat.table.options.values import ConcurrencyOptions, LockProvider
from hudiformat.timeline.config_files import META_FOLDER, load_table_config
from hudiformat.write.commit.lock_providers.dynamodb import DynamoDBLock, LockTable
from hudiformat.write.commit.lock_providers.hive_metastore import HiveMetastoreLock
from hudiformat.write.commit.lock_providers.storage_based import storage_based_lock
from hudiformat.write.commit.lock_providers.zookeeper import Retries, ZookeeperLock, implicit_base_path
from hudiformat.write.commit.ticking import Ticker

_LOCK_FILE = "lock"
_FIRST_WAIT, _LONGEST_WAIT = 0.005, 0.25  # seconds
_EXPIRE = "hoodie.write.lock.filesystem.expire"
_SURE_SECONDS = 1.0
"""For this many seconds after it has checked the lock, its owner need not check again: locks expire after minutes."""


class Lock(Protocol):
    """A lock that one writer at a time can hold; each object stands for one writer."""

    @property
    def expires_after(self) -> float:
        """The seconds without renewal after which other writers may take the lock; 0 means never."""
        ...

    @property
    def renew_every(self) -> float:
        """The seconds between two renewals; 0 means that none are needed."""
        ...

    def try_acquire(self) -> bool:
        """Take the lock and return True; return False, at once, if another writer has it."""
        ...

    def give_up(self) -> None:
        """Wait for the lock no longer, if the lock has a queue of those that do."""
        ...

    def is_own(self) -> bool:
        """Return whether this writer has the lock, and no other has taken it since.

        Raises:
            StorageError: that cannot be found out.
        """
        ...

    def renew(self) -> None:
        """Restart the time after which the lock expires, unless another writer has taken it."""
        ...

    def release(self, *, is_sure: bool = False) -> None:
        """Release the lock, unless another writer has taken it; if *is_sure*, without checking that."""
        ...

    def describe(self) -> str:
        """Describe where the lock is and who has it."""
        ...


@dataclass(frozen=True, slots=True)
class FileSystemLock:
    """A file that only one writer can create, and that names that writer.

    A lock file older than *expire_minutes* is deleted, because its writer must have died; 0 means never.
    Source: FileSystemBasedLockProvider, Hudi 1.2.0.
    """

    storage: Storage
    folder: str
    expire_minutes: int = 0
    token: str = field(default_factory=lambda: str(uuid.uuid4()))

    @property
    def expires_after(self) -> float:
        """See :attr:`Lock.expires_after`."""
        return self.expire_minutes * 60.0

    @property
    def renew_every(self) -> float:
        """See :attr:`Lock.renew_every`."""
        return self.expires_after / 3

    def give_up(self) -> None:
        """See :meth:`Lock.give_up`: there is no queue."""

    def try_acquire(self) -> bool:
        """Take the lock; an expired lock of another writer is deleted first."""
        if self.expire_minutes and not self._remove_expired():
            return False
        content = self._content()
        try:
            self.storage.create(self._path, content, sync=False)
        except StorageError as error:
            is_final = isinstance(error.__cause__, PermissionError | NotADirectoryError)  # waiting does not help
            if not is_final and (self.storage.exists(self._path) or self.storage.exists(self.folder)):
                # Another writer has the lock, or had it a moment ago; or this one has created it, and the storage's
                # answer was lost: then the file has this writer's content.
                return self._read() == content
            raise
        return True

    def is_own(self) -> bool:
        """See :meth:`Lock.is_own`."""
        return self.token.encode() in self._read()

    def renew(self) -> None:
        """See :meth:`Lock.renew`."""
        if self.is_own():
            self.storage.create(self._path, self._content(), overwrite=True, sync=False)

    def release(self, *, is_sure: bool = False) -> None:
        """See :meth:`Lock.release`."""
        if is_sure or self.is_own():
            self.storage.delete(self._path)

    def describe(self) -> str:
        """See :meth:`Lock.describe`."""
        return f"{self.storage.root}/{self._path} {self._read().decode(errors='replace')}".rstrip()

    def _content(self) -> bytes:
        created = time.strftime("%Y-%m-%d %H:%M:%S.000")
        written = {"lockCreateTime": created, "lockThreadName": _owner(), "owner": self.token, "id": str(uuid.uuid4())}
        return json.dumps(written).encode()

    def _read(self) -> bytes:
        attempts_left = 3
        while True:
            try:
                return self.storage.read(self._path)
            except StorageError:  # noqa: PERF203 - as rarely as a lock changes hands
                if not self.storage.exists(self._path):
                    return b""  # it has just been released
                # It cannot be read; or it was released, and another writer has taken the lock since: read that one.
                attempts_left -= 1
                if not attempts_left:
                    raise

    def _remove_expired(self) -> bool:
        """Delete the lock file if it has expired; return False if another writer is doing so.

        Two writers may find one expired lock.  Only one of them can create a file that is named after the content of
        that lock, and this one deletes it; the other would delete the new lock of the first.
        """
        if not self._is_old(_LOCK_FILE):
            return True
        expired = self._read()
        claim = f"{_LOCK_FILE}.expired-{hashlib.sha256(expired).hexdigest()[:16]}"
        try:
            self.storage.create(join_path(self.folder, claim), self.token.encode(), sync=False)
        except StorageError:
            if self._is_old(claim):  # the writer that wanted to delete the lock has died, too
                self.storage.delete(join_path(self.folder, claim))
            return False
        if self._read() == expired and self._is_old(_LOCK_FILE):
            self.storage.delete(self._path)
        self.storage.delete(join_path(self.folder, claim))
        return True

    def _is_old(self, name: str) -> bool:
        found = next((entry for entry in self.storage.list(self.folder) if entry.name == name), None)
        if found is None or found.modified is None:
            return False
        return time.time() * 1000 - found.modified > self.expires_after * 1000

    @property
    def _path(self) -> str:
        return join_path(self.folder, _LOCK_FILE)


@dataclass(frozen=True, slots=True)
class InProcessLock:
    """A lock among the threads of this process, one per table.  Source: InProcessLockProvider, Hudi 1.2.0."""

    root: str
    token: str = field(default_factory=lambda: str(uuid.uuid4()))

    @property
    def expires_after(self) -> float:
        """See :attr:`Lock.expires_after`."""
        return 0.0

    @property
    def renew_every(self) -> float:
        """See :attr:`Lock.renew_every`."""
        return 0.0

    def give_up(self) -> None:
        """See :meth:`Lock.give_up`: there is no queue."""

    def try_acquire(self) -> bool:
        """See :meth:`Lock.try_acquire`."""
        with _registry_lock:
            if self.root in _owners:
                return False
            _owners[self.root] = self.token
            return True

    def is_own(self) -> bool:
        """See :meth:`Lock.is_own`."""
        with _registry_lock:
            return _owners.get(self.root) == self.token

    def renew(self) -> None:
        """See :meth:`Lock.renew`: this lock never expires."""

    def release(self, *, is_sure: bool = False) -> None:  # noqa: ARG002 - of the protocol
        """See :meth:`Lock.release`."""
        with _registry_lock:
            if _owners.get(self.root) == self.token:
                del _owners[self.root]

    def describe(self) -> str:
        """See :meth:`Lock.describe`."""
        return f"the lock of {self.root} in this process"


_owners: dict[str, str] = {}
"""The tokens of the writers that hold the locks of tables in this process."""
_registry_lock = threading.Lock()


def lock_of(storage: Storage, options: ConcurrencyOptions) -> Lock:
    """Return the lock that all writers of a table with these *options* share.

    Raises:
        UnsupportedFeatureError: two writers could both create the lock file on this storage.
    """
    return LOCK_FACTORIES[options.lock_provider](storage, options)


def _file_system_lock(storage: Storage, options: ConcurrencyOptions) -> Lock:
    storage_of_lock = open_storage(options.lock_path) if options.lock_path else storage
    if not storage_of_lock.capabilities.atomic_create:
        raise UnsupportedFeatureError(
            f"{storage_of_lock.root}: expected a storage that creates files atomically, for "
            "the lock file, found one that does not; set hoodie.write.lock.filesystem.path to "
            "a folder on a storage that does",
            feature="file-system lock without atomic create",
        )
    return FileSystemLock(storage_of_lock, "" if options.lock_path else META_FOLDER, options.lock_expire_minutes)


def _in_process_lock(storage: Storage, _options: ConcurrencyOptions) -> Lock:
    return InProcessLock(storage.root)


def _storage_based_lock(storage: Storage, options: ConcurrencyOptions) -> Lock:
    return storage_based_lock(
        storage, validity=options.storage_validity_seconds, renew_every=options.storage_renew_seconds
    )


def _zookeeper_lock(storage: Storage, options: ConcurrencyOptions) -> Lock:
    key = options.zookeeper_lock_key or load_table_config(storage).name
    return _zookeeper(options, f"{options.zookeeper_base_path.rstrip('/')}/{key}")


def _zookeeper_implicit_lock(storage: Storage, options: ConcurrencyOptions) -> Lock:
    return _zookeeper(options, f"{implicit_base_path(storage.root)}/lock_key")


def _zookeeper(options: ConcurrencyOptions, path: str) -> Lock:
    return ZookeeperLock(
        options.zookeeper_hosts,
        path,
        session_timeout=options.zookeeper_session_ms / 1000,
        connection_timeout=options.zookeeper_connection_ms / 1000,
        retries=Retries(
            options.zookeeper_retries,
            options.zookeeper_retry_wait_ms / 1000,
            options.zookeeper_longest_retry_wait_ms / 1000,
        ),
    )


def _dynamodb_lock(storage: Storage, options: ConcurrencyOptions) -> Lock:
    table = LockTable(
        options.dynamodb_table,
        options.dynamodb_region or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1",
        options.dynamodb_endpoint,
        options.dynamodb_billing_mode,
        options.dynamodb_read_capacity,
        options.dynamodb_write_capacity,
        options.dynamodb_creation_timeout_ms / 1000,
    )
    key = options.dynamodb_partition_key or load_table_config(storage).name
    return DynamoDBLock(table, key, lease_ms=options.lock_wait_ms)


def _hive_metastore_lock(_storage: Storage, options: ConcurrencyOptions) -> Lock:
    return HiveMetastoreLock(
        options.hive_uris, options.hive_database, options.hive_table, heartbeat=options.lock_heartbeat_ms / 1000
    )


LOCK_FACTORIES: Mapping[LockProvider, Callable[[Storage, ConcurrencyOptions], Lock]] = {
    LockProvider.FILE_SYSTEM: _file_system_lock,
    LockProvider.IN_PROCESS: _in_process_lock,
    LockProvider.STORAGE_BASED: _storage_based_lock,
    LockProvider.ZOOKEEPER: _zookeeper_lock,
    LockProvider.ZOOKEEPER_IMPLICIT: _zookeeper_implicit_lock,
    LockProvider.DYNAMODB: _dynamodb_lock,
    LockProvider.HIVE_METASTORE: _hive_metastore_lock,
}
"""What makes the lock of each provider.  A provider without a factory is an error, never another provider's lock."""


class HeldLock:
    """A lock that this writer holds."""

    def __init__(self, lock: Lock) -> None:
        self.lock = lock
        self._looked: tuple[float, float] | None = None  # when it was last known to be this writer's, by both clocks

    @property
    def is_sure(self) -> bool:
        """Whether the last check is so recent that the lock cannot have been lost since."""
        if self._looked is None:
            return False
        passed = (now - then for now, then in zip(_now(), self._looked, strict=True))
        return all(0 <= seconds < _SURE_SECONDS for seconds in passed)

    def confirm(self) -> None:
        """Check that the lock is still this writer's.

        Raises:
            LockError: another writer has taken it, because it expired or was deleted.
        """
        if self.is_sure:
            return
        now = _now()  # before the check: a pause between the check and the next one counts
        if not self.lock.is_own():
            raise LockError(
                f"the lock is no longer this writer's, which held it for too long without a sign of life: "
                f"{self.lock.describe() or 'it was deleted'}; nothing was published, write again "
                "(hoodie.write.lock.filesystem.expire says after how many minutes a lock expires)"
            )
        self._looked = now


def _now() -> tuple[float, float]:
    """Return the time by two clocks: the monotonic one stands still while the machine sleeps, the other may be set."""
    return time.monotonic(), time.time()


@contextmanager
def hold_lock(lock: Lock, *, patience: float) -> Iterator[HeldLock]:
    """Hold *lock* while the block runs, after waiting for it for at most *patience* seconds.

    A lock that expires is renewed meanwhile.  If the lock cannot be released, a warning says so; the changes made under
    it stay.

    Raises:
        LockError: another writer has held it all the time.
    """
    _acquire(lock, patience)
    ticker = Ticker(lock.renew, interval=lock.renew_every, name="lock") if lock.renew_every else None
    if ticker is not None:
        ticker.start()
    hold = HeldLock(lock)
    try:
        yield hold
    finally:
        if ticker is not None:
            ticker.stop()
        _release(hold)


def _acquire(lock: Lock, patience: float) -> None:
    deadline = time.monotonic() + patience
    wait = _FIRST_WAIT
    try:
        while not lock.try_acquire():
            if time.monotonic() >= deadline:
                never = "" if lock.renew_every else "; if its writer is dead, delete it, or set " + _EXPIRE
                message = f"the lock was not free for {patience:g} seconds: {lock.describe()}{never}"
                raise LockError(message)  # noqa: TRY301 - it is given up below, as after an interrupt
            time.sleep(wait)
            wait = min(wait * 2, _LONGEST_WAIT)
    except BaseException:
        lock.give_up()
        raise


def _release(hold: HeldLock) -> None:
    try:
        hold.lock.release(is_sure=hold.is_sure)
    except StorageError as error:
        with contextlib.suppress(StorageError):
            hold.lock.release()
            return
        message = f"the lock could not be released; other writers wait until it expires or is deleted: {error}"
        warn(message)


def _owner() -> str:
    return f"hudiformat {socket.gethostname()} {os.getpid()} {threading.current_thread().name}"
