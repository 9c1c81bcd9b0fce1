"""Heartbeats: a file per instant at work, which its writer rewrites at intervals as long as it lives.

A writer that finds an incomplete instant reads its heartbeat before it rolls the instant back or takes it over.  The
file names its writer: a writer that was only slow, but was taken for dead, finds out from it that another has taken its
place.

A write in this process without a lock gives its first sign of life only once it takes long, which most never do.  One
thread of the process makes these delayed calls, and ends once none is waiting: a thread for each would cost more than
the work of a small commit.

Source: HoodieHeartbeatClient, HoodieHeartbeatUtils, Hudi 1.2.0.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from typing import Protocol

from hudiformat.errors import LockError, StorageError
from hudiformat.storage.protocol import Storage
from hudiformat.table.options.values import ConcurrencyOptions, FailedWritesPolicy
from hudiformat.write.commit.ticking import Ticker

_FOLDER = ".hoodie/.heartbeat"
_beating: set[str] = set()
"""The tokens of the heartbeats of this process."""


_FIRST_BEAT = 5.0
"""The seconds after which a write without a lock gives its first sign of life."""


class SignOfLife(Protocol):
    """What shows other writers that a write goes on."""

    def hand_over(self) -> None:
        """Leave the sign to the processes that the write is sent to."""

    def keep_beating(self) -> AbstractContextManager[None]:
        """Return a context manager that gives the sign in a process that the write was sent to."""

    def stop(self) -> None:
        """End the sign: the write is over."""

    def forsake(self) -> None:
        """End the sign of a write that nobody refers to any more."""


class Heartbeat:
    """The heartbeat of one instant; :meth:`start` and :meth:`stop` it once.  As a context manager, it stops at the end.

    With *may_be_taken_over*, another writer may go on with the instant; true for a service, false for a write.  The
    heartbeat can be sent to other processes, such as tasks of the write: there it beats within :meth:`keep_beating`.
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
    def keep_beating(self) -> Iterator[None]:
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
        with suppress(StorageError):
            if not self._may_be_taken_over or self.is_own():
                self._storage.delete(f"{_FOLDER}/{self.instant}")

    def forsake(self) -> None:
        """Do nothing: the file goes on naming this process, which has to end or to roll the write back."""

    def is_own(self) -> bool:
        """Return whether the file still names this writer.

        Raises:
            StorageError: it is there and cannot be read, so that nobody knows.
        """
        return self._token.encode() in _content(self._storage, self.instant)

    def confirm(self) -> None:
        """Check that the instant still belongs to this writer.

        Raises:
            LockError: another writer has taken it over.
            StorageError: it is not known whether one has.
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


class LateHeartbeat:
    """The heartbeat of a write in this process without a lock: it begins once the write takes long.

    *make* makes the heartbeat.
    """

    def __init__(self, make: Callable[[], Heartbeat], *, delay: float = _FIRST_BEAT) -> None:
        self._make = make
        self._begun: Heartbeat | None = None
        self._start = Delayed(self._begin, delay)

    def hand_over(self) -> None:
        """See :meth:`SignOfLife.hand_over`; such a write stays in its process."""

    def keep_beating(self) -> AbstractContextManager[None]:
        """See :meth:`SignOfLife.keep_beating`; such a write stays in its process."""
        return nullcontext()

    def stop(self) -> None:
        """Stop the heartbeat, or prevent it, so that no file is left."""
        self._start.stop()
        if self._begun is not None:
            self._begun.stop()

    def forsake(self) -> None:
        """See :meth:`SignOfLife.forsake`."""
        self.stop()

    def _begin(self) -> None:
        self._begun = self._make()
        with suppress(StorageError):
            self._begun.start()


class NoHeartbeat:
    """No sign of life: a write by tasks in a table without a lock, which must have no other writer."""

    def hand_over(self) -> None:
        """See :meth:`SignOfLife.hand_over`."""

    def keep_beating(self) -> AbstractContextManager[None]:
        """See :meth:`SignOfLife.keep_beating`."""
        return nullcontext()

    def stop(self) -> None:
        """See :meth:`SignOfLife.stop`."""

    def forsake(self) -> None:
        """See :meth:`SignOfLife.forsake`."""


def begin_heartbeat(storage: Storage, instant: str, options: ConcurrencyOptions, *, in_tasks: bool) -> SignOfLife:
    """Begin the sign of life that a write needs: a heartbeat if other writers look for one, or if it may take long.

    Raises:
        StorageError: the first beat failed.
    """
    make = partial(Heartbeat, storage, instant, interval=options.heartbeat_interval_ms / 1000)
    if options.failed_writes_policy is FailedWritesPolicy.LAZY:
        heartbeat = make()
        try:
            heartbeat.start()
        except BaseException:
            heartbeat.stop()
            raise
        return heartbeat
    return NoHeartbeat() if in_tasks else LateHeartbeat(make)


def living_instants(storage: Storage, *, tolerance: float) -> frozenset[str]:
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
    except (StorageError, ValueError, TypeError, KeyError):
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


def delete_heartbeat(storage: Storage, instant: str) -> None:
    """Delete the heartbeat of a writer, alive or dead."""
    with suppress(StorageError):
        storage.delete(f"{_FOLDER}/{instant}")


def _content(storage: Storage, instant: str) -> bytes:
    """Return the content of a heartbeat; nothing if there is none.  One that cannot be read is not a missing one."""
    path = f"{_FOLDER}/{instant}"
    try:
        return storage.read(path)
    except StorageError:
        if storage.exists(path):
            raise
        return b""


class DelayedCalls:
    """Makes calls after a delay, all by one thread, which looks every *look_again* seconds for what is due.

    The thread ends once it has found nothing waiting *rounds_without* times, and begins again with the next call.
    """

    def __init__(self, *, look_again: float = 0.5, rounds_without: int = 20) -> None:
        self._look_again = look_again
        self._rounds_without = rounds_without
        self._waiting: dict[Delayed, float] = {}
        # Reentrant: the garbage collector may run while it is held, and stop a call from there.
        self._changes = threading.RLock()
        self._thread: threading.Thread | None = None

    @property
    def thread(self) -> threading.Thread | None:
        """The thread that waits, if there is one."""
        return self._thread

    def add(self, call: Delayed, delay: float) -> None:
        """Make *call* about *delay* seconds from now."""
        with self._changes:
            self._waiting[call] = time.monotonic() + delay
            # After a fork, the thread object is there but does not run.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="delayed calls", daemon=True)
                self._thread.start()

    def remove(self, call: Delayed) -> None:
        """Forget *call*, if it still waits."""
        with self._changes:
            self._waiting.pop(call, None)

    def _run(self) -> None:
        rounds, pause = 0, threading.Event()
        while True:
            pause.wait(self._look_again)
            with self._changes:
                now = time.monotonic()
                due = [one for one, moment in self._waiting.items() if moment <= now]
                for one in due:
                    del self._waiting[one]
                rounds = 0 if self._waiting or due else rounds + 1
                if rounds >= self._rounds_without:
                    self._thread = None
                    return
            for one in due:
                one.call()


_DELAYED_CALLS = DelayedCalls()
"""Those of this process."""


class Delayed:
    """Calls *action*, which may not raise, about *delay* seconds from now, unless it is stopped before."""

    def __init__(self, action: Callable[[], None], delay: float, *, calls: DelayedCalls = _DELAYED_CALLS) -> None:
        self._action = action
        self._call = threading.RLock()
        self._is_over = False
        self._calls = calls
        calls.add(self, delay)

    def stop(self) -> None:
        """Prevent the call; when this returns, it is not running and never will."""
        self._calls.remove(self)
        with self._call:
            self._is_over = True

    def call(self) -> None:
        """Make the call now, unless it was made or stopped."""
        with self._call:
            if not self._is_over:
                self._is_over = True
                self._action()
