"""Locks: how the writers of a table exclude each other.

A lock is held for the moments in which the timeline changes, never while rows are written.  It can be lost, if its
owner was stopped for longer than it lasts; so the owner checks that it still has it before it changes what others see.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from hudiformat.errors import LockError, StorageError, warn
from hudiformat.storage.protocol import Storage
from hudiformat.table.options.locks import LockOptions, LockProvider
from hudiformat.write.commit.lock_providers.dynamodb import dynamodb_lock
from hudiformat.write.commit.lock_providers.file_system import file_system_lock
from hudiformat.write.commit.lock_providers.hive_metastore import HiveMetastoreLock
from hudiformat.write.commit.lock_providers.in_process import InProcessLock
from hudiformat.write.commit.lock_providers.lock import Lock
from hudiformat.write.commit.lock_providers.storage_based import storage_based_lock
from hudiformat.write.commit.lock_providers.zookeeper import implicit_zookeeper_lock, zookeeper_lock
from hudiformat.write.commit.ticking import Ticker

_FIRST_WAIT, _LONGEST_WAIT = 0.005, 0.25  # seconds
_EXPIRE = "hoodie.write.lock.filesystem.expire"
_SURE_SECONDS = 1.0
"""For this many seconds after it has checked the lock, its owner need not check again: locks expire after minutes."""


def lock_of(storage: Storage, options: LockOptions) -> Lock:
    """Return the lock that all writers of a table with these *options* share.

    Raises:
        UnsupportedFeatureError: the storage cannot have such a lock, or a package is missing that it needs.
    """
    return LOCKS[options.provider](storage, options)


LOCKS: Mapping[LockProvider, Callable[[Storage, LockOptions], Lock]] = {
    LockProvider.FILE_SYSTEM: lambda storage, options: file_system_lock(storage, options.file),
    LockProvider.IN_PROCESS: lambda storage, _: InProcessLock(storage.root),
    LockProvider.STORAGE_BASED: lambda storage, options: storage_based_lock(storage, options.storage),
    LockProvider.ZOOKEEPER: lambda storage, options: zookeeper_lock(storage, options.zookeeper),
    LockProvider.ZOOKEEPER_IMPLICIT: lambda storage, options: implicit_zookeeper_lock(storage, options.zookeeper),
    LockProvider.DYNAMODB: lambda storage, options: dynamodb_lock(storage, options.dynamodb, lease_ms=options.wait_ms),
    LockProvider.HIVE_METASTORE: lambda _, options: HiveMetastoreLock(
        options.hive, heartbeat=options.heartbeat_ms / 1000
    ),
}
"""What makes the lock of each provider.  A provider that is not here is an error, never another provider's lock."""


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
def hold_lock(lock: Lock, *, longest_wait: float) -> Iterator[HeldLock]:
    """Hold *lock* while the block runs, after waiting for it for at most *longest_wait* seconds.

    A lock that expires is renewed meanwhile.  If the lock cannot be released, a warning says so; the changes made under
    it stay.

    Raises:
        LockError: another writer has held it all the time.
    """
    _acquire(lock, longest_wait)
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


def _acquire(lock: Lock, longest_wait: float) -> None:
    deadline = time.monotonic() + longest_wait
    wait = _FIRST_WAIT
    try:
        while not lock.try_acquire():
            if time.monotonic() >= deadline:
                never = "" if lock.renew_every else "; if its writer is dead, delete it, or set " + _EXPIRE
                message = f"the lock was not free for {longest_wait:g} seconds: {lock.describe()}{never}"
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
