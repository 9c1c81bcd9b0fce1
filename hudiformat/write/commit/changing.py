"""Change a table's timeline: under the lock, on the current state, after unfinished restores and rollbacks are done.

Writers of one process exclude each other even if they take no lock.  A write occupies the table from its start to its
commit, and writers in other threads wait for it.  A thread does not wait for itself: a write that the thread has left
open counts as dead, and so does a write that nobody refers to any more.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from hudiformat.errors import LockError
from hudiformat.table.state import TableContext, TableState
from hudiformat.timeline.timeline import Action
from hudiformat.write.commit.locks import hold_lock, lock_of
from hudiformat.write.commit.rollback import finish_restores, finish_rollbacks
from hudiformat.write.metadata.preparing import prepare_metadata_table
from hudiformat.write.metadata.unfinished import finish_indexings


@contextmanager
def change_timeline(
    context: TableContext, seen: TableState | None = None, *, again: bool = False, refuses: bool = True
) -> Iterator[TableState]:
    """Hold the table's lock while the block changes the timeline, and yield the current state of the table.

    The table may have changed since *seen*, so its state is read again under the lock.  If there are no other writers,
    *seen* is used as it is, unless *again*.  Restores and rollbacks that were interrupted are finished first: nothing
    may be built on files that they are going to delete.  An index that was half built is finished or deleted.  The
    metadata table is prepared: partitions of it that cannot be kept up to date are dropped, or refused if *refuses*.

    Raises:
        LockError: another writer keeps the table's lock.
    """
    with hold_table_lock(context) as owning:
        if seen is None:
            state = owning.state()
        else:
            is_old = again or context.options.concurrency.has_other_writers
            state = seen.again() if is_old else seen
            state = state if owning is context else replace(state, context=owning)
        # Restores first: a restore deletes the instants of rollbacks that are later than its savepoint.
        if any(pending.action is Action.RESTORE for pending in state.timeline.pending):
            state = finish_restores(state)
        if any(pending.action is Action.ROLLBACK for pending in state.timeline.pending):
            state = finish_rollbacks(state)
        if any(pending.action is Action.INDEXING for pending in state.timeline.pending):
            state = finish_indexings(state)
        yield prepare_metadata_table(state, refuses=refuses) if state.config.metadata_partitions else state


@contextmanager
def hold_table_lock(context: TableContext) -> Iterator[TableContext]:
    """Hold the table's lock while the block runs; a table with one writer only excludes other threads of this process.

    Yields *context* with ``confirm``, which raises an error if the lock has been lost in the meantime.

    Raises:
        LockError: another writer has held the lock for too long.
    """
    options = context.options.concurrency
    if not options.has_other_writers:
        with _in_process(context.storage.root).section:
            yield context
        return
    with hold_lock(lock_of(context.storage, options.lock), longest_wait=options.lock.longest_wait) as hold:
        yield replace(context, confirm=hold.confirm)


@dataclass
class _InProcess:
    """The writers without a lock that are at work on one table in this process: the thread of each, by instant."""

    section: threading.RLock = field(default_factory=threading.RLock)
    at_work: dict[str, tuple[int, weakref.ref[object]]] = field(default_factory=dict)
    beginning: int | None = None
    changed: tuple[float, int] = (0.0, 0)

    def of_others(self) -> list[str]:
        """Return the instants at which other threads are at work."""
        thread = threading.get_ident()
        return [instant for instant, (by, write) in self.at_work.items() if by != thread and write() is not None]


_writers: defaultdict[str, _InProcess] = defaultdict(_InProcess)
_changed = threading.Condition()
_CHECK_INTERVAL = 0.05
"""Seconds between two checks whether the write that a thread waits for has been dropped."""


def _in_process(root: str) -> _InProcess:
    with _changed:
        return _writers[root]


@contextmanager
def wait_for_threads(state: TableState) -> Iterator[TableState]:
    """Wait until no other thread writes to the table, and let none begin while the block runs.

    Yields the state of the table: *state*, or the current state if another thread has changed the table since.

    Raises:
        LockError: another thread has been writing for too long.
    """
    root, thread = state.storage.root, threading.get_ident()
    longest_wait = state.options.concurrency.lock.longest_wait
    deadline, writers = time.monotonic() + longest_wait, _in_process(root)
    with _changed:
        while writers.of_others() or writers.beginning not in (None, thread):
            if time.monotonic() >= deadline:
                raise LockError(
                    f"{root}: another thread of this process has been writing to the table for {longest_wait:g} "
                    "seconds; wait for it, or set hoodie.write.concurrency.mode=OPTIMISTIC_CONCURRENCY_CONTROL"
                )
            _changed.wait(_CHECK_INTERVAL)
        before, writers.beginning = writers.beginning, thread
        moment, by = writers.changed
    try:
        yield state.again() if by != thread and moment >= state.read_at else state
    finally:
        with _changed:
            writers.beginning = before
            _changed.notify_all()


def register_write(root: str, instant: str, write: object) -> None:
    """Record that this thread is at work on *instant*, until :func:`unregister_write` or until *write* is dropped."""
    with _changed:
        _writers[root].at_work[instant] = threading.get_ident(), weakref.ref(write)


def unregister_write(root: str, instant: str) -> None:
    """Record that *instant* is committed or abandoned."""
    with _changed:
        if _writers[root].at_work.pop(instant, None) is not None:
            _writers[root].changed = time.monotonic(), threading.get_ident()
        _changed.notify_all()


def at_work(root: str) -> frozenset[str]:
    """Return the instants at which other threads of this process are at work."""
    with _changed:
        return frozenset(_writers[root].of_others())
