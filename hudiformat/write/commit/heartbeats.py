"""Heartbeats: a file per instant at work, which its writer rewrites at intervals as long as it lives.

A writer that finds an incomplete instant reads its heartbeat before it rolls the instant back or takes it over.  The
file names its writer: a writer that was only slow, but was taken for dead, finds out from it that another has taken its
place.

Source: HoodieHeartbeatClient, HoodieHeartbeatUtils, Hudi 1.2.0.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from hudiformat.errors import LockError, StorageError
from hudiformat.storage.protocol import Storage
from hudiformat.write.commit.ticking import Ticker

_FOLDER = ".hoodie/.heartbeat"
_beating: set[str] = set()
"""The tokens of the heartbeats of this process."""


class Heartbeat:
    """The heartbeat of one instant; :meth:`start` and :meth:`stop` it once.  As a context manager, it stops at the end.

    With *may_be_taken_over*, another writer may go on with the instant; true for a service, false for a write.  The
    heartbeat can be sent to other processes, such as the tasks of the write: there it beats within :meth:`beating`.
    """

    def __init__(
        self, storage: Storage, instant: str, *, interval: float, may_be_taken_over: bool = False, token: str = ""
    ) -> None:
        self.instant = instant
        self._may_be_taken_over = may_be_taken_over
        self._storage = storage
        self._interval = interval
        self._token = token or str(uuid.uuid4())
        self._has_begun = False  # in this process
        self._ticker = Ticker(self._renew, interval=interval, name=f"heartbeat {instant}")

    @property
    def number(self) -> int:
        """A number from 1 to 2^31 that hardly any other heartbeat has."""
        return int(self._token[:7], 16) + 1

    def start(self) -> None:
        """Beat at once, and then at every interval.

        Raises:
            StorageError: the first beat failed.
        """
        self._has_begun = True
        _beating.add(self._token)
        try:
            self._beat()
            self._ticker.start()
        except BaseException:
            _beating.discard(self._token)
            raise

    @contextmanager
    def beating(self) -> Iterator[None]:
        """Beat while the block runs, in a process that this heartbeat was sent to; the file stays."""
        if self._has_begun:
            yield
            return
        self.start()
        try:
            yield
        finally:
            self.hand_over()

    def hand_over(self) -> None:
        """Stop beating and leave the file, because other processes go on."""
        self._has_begun = True
        self._ticker.stop()
        _beating.discard(self._token)

    def stop(self) -> None:
        """Stop beating, and delete the file unless another writer has taken over the instant."""
        self.hand_over()
        with contextlib.suppress(StorageError):
            if not self._may_be_taken_over or self.is_own():
                self._storage.delete(f"{_FOLDER}/{self.instant}")

    def is_own(self) -> bool:
        """Return whether the file still names this writer."""
        return self._token.encode() in _content(self._storage, self.instant)

    def confirm(self) -> None:
        """Check that the instant still belongs to this writer.

        Raises:
            LockError: another writer has taken it over.
        """
        if not self.is_own():
            raise LockError(
                f"{self._storage.root}: {self.instant} is no longer this writer's: it gave no sign of life for too "
                "long, and another writer has taken it over; let that one finish, or set a longer tolerance with "
                "hoodie.client.heartbeat.interval_in_ms and hoodie.client.heartbeat.tolerable.misses"
            )

    def __reduce__(self) -> tuple[Callable[..., Heartbeat], tuple[object, ...]]:
        made = partial(Heartbeat, interval=self._interval, may_be_taken_over=self._may_be_taken_over, token=self._token)
        return made, (self._storage, self.instant)

    def __enter__(self) -> Heartbeat:
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def _renew(self) -> None:
        if self.is_own():  # a writer that was taken for dead must not overwrite the heartbeat of its successor
            self._beat()

    def _beat(self) -> None:
        owner = {"host": socket.gethostname(), "pid": os.getpid(), "owner": self._token}
        self._storage.create(f"{_FOLDER}/{self.instant}", json.dumps(owner).encode(), overwrite=True, sync=False)


def living(storage: Storage, *, tolerance: float) -> frozenset[str]:
    """Return the instants of writers whose heartbeat was written within the last *tolerance* seconds.

    If the storage does not record when a file was written, every heartbeat counts.
    """
    oldest = (time.time() - tolerance) * 1000
    return frozenset(
        entry.name for entry in storage.list(_FOLDER) if entry.modified is None or entry.modified >= oldest
    )


def is_of_ended_process(storage: Storage, instant: str) -> bool:
    """Return whether the writer of a heartbeat ran on this machine and has ended.

    Process ids are compared, so all writers must see each other's processes: a container has process ids of its own.
    """
    try:
        owner = json.loads(_content(storage, instant))
        host, pid, token = owner["host"], int(owner["pid"]), owner["owner"]
    except (ValueError, TypeError, KeyError):
        return False
    if host != socket.gethostname():
        return False
    if pid == os.getpid():
        return token not in _beating
    return not _is_running(pid)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # the process belongs to another user
    return True


def forget(storage: Storage, instant: str) -> None:
    """Delete the heartbeat of a writer, alive or dead."""
    with contextlib.suppress(StorageError):
        storage.delete(f"{_FOLDER}/{instant}")


def _content(storage: Storage, instant: str) -> bytes:
    try:
        return storage.read(f"{_FOLDER}/{instant}")
    except StorageError:
        return b""
