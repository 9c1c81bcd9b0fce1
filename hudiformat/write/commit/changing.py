"""Changes of a table's timeline: under the lock, on its current state, after unfinished restores and rollbacks.

What writes have left that did not complete is rolled back before another write begins.

Writers of one process that take no lock exclude each other all the same.  A write keeps the table from its start to its
commit, and writers in other threads wait for that.  A thread does not wait for itself: a write that it has left open
counts as dead, as it does once nobody refers to it any more.
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
from hudiformat.table.options.values import ConcurrencyMode, FailedWritesPolicy
from hudiformat.table.state import TableContext, TableState
from hudiformat.timeline.contents import remove_pending
from hudiformat.timeline.timeline import Action, Instant
from hudiformat.write.commit.files import marked_instants
from hudiformat.write.commit.heartbeats import is_of_ended_process, living
from hudiformat.write.commit.locks import held, lock_of
from hudiformat.write.commit.restoring import finish_restores
from hudiformat.write.commit.rollback import finish_rollbacks, roll_back
from hudiformat.write.commit.sweeping import sweep_orphans
from hudiformat.write.metadata.preparing import prepare_metadata_table
from hudiformat.write.metadata.unfinished import finish_indexings


@contextmanager
def changing(
    context: TableContext, seen: TableState | None = None, *, again: bool = False, refuses: bool = True
) -> Iterator[TableState]:
    """Hold the table's lock while the block changes the timeline; gives the current state of the table.

    The table may have changed since *seen*, so it is read again under the lock.  Where there are no other writers,
    *seen* is used as it is, unless *again*.  Restores and rollbacks that were stopped half-way are finished first:
    nothing may be built on what they are going to delete.  An index that was built half-way is finished or deleted.
    The metadata table is prepared: what cannot be kept up is dropped, or refused, unless *refuses* is false.

    Raises:
        LockError: another writer keeps the table's lock.
    """
    with exclusive(context) as owning:
        if seen is None:
            state = owning.state()
        else:
            is_old = again or context.options.concurrency.has_other_writers
            state = seen.again() if is_old else seen
            state = state if owning is context else replace(state, context=owning)
        if any(pending.action is Action.RESTORE for pending in state.timeline.pending):
            state = finish_restores(state)
        if any(pending.action is Action.ROLLBACK for pending in state.timeline.pending):
            state = finish_rollbacks(state)
        if any(pending.action is Action.INDEXING for pending in state.timeline.pending):
            state = finish_indexings(state)
        yield prepare_metadata_table(state, refuses=refuses) if state.config.metadata_partitions else state


@contextmanager
def exclusive(context: TableContext) -> Iterator[TableContext]:
    """The table's lock, for as long as a block lasts; for a table that has one writer, that of its threads.

    Gives *context* with ``confirm``, which says whether the lock has been lost meanwhile.

    Raises:
        LockError: another writer has the lock for too long.
    """
    options = context.options.concurrency
    if not options.has_other_writers:
        with _in_process(context.storage.root).section:
            yield context
        return
    with held(lock_of(context.storage, options), patience=options.lock_patience) as hold:
        yield replace(context, confirm=hold.confirm)


@dataclass
class _InProcess:
    """The writers without a lock that are at work on one table in this process: the thread of each, by instant."""

    section: threading.RLock = field(default_factory=threading.RLock)
    at_work: dict[str, tuple[int, weakref.ref[object]]] = field(default_factory=dict)
    beginning: int | None = None
    changed: tuple[float, int] = (0.0, 0)

    def of_others(self) -> list[str]:
        thread = threading.get_ident()
        return [instant for instant, (by, write) in self.at_work.items() if by != thread and write() is not None]


_writers: defaultdict[str, _InProcess] = defaultdict(_InProcess)
_news = threading.Condition()
_LOOK_AGAIN = 0.05
"""Seconds between looks whether a write that is waited for has been dropped."""

_LOOK_AT_OTHERS = 0.2
"""Seconds between looks at the write of another process."""

_UNDER_THE_LOCK = (Action.ROLLBACK, Action.SAVEPOINT)
"""Actions that are begun and completed under the lock: who has it and finds one pending knows that its writer died."""


def _in_process(root: str) -> _InProcess:
    with _news:
        return _writers[root]


@contextmanager
def turn(state: TableState) -> Iterator[TableState]:
    """Wait until no other thread writes to the table, and let none begin within the block.

    Gives the state of the table: *state*, or what it is now where another thread has changed it since.

    Raises:
        LockError: another thread writes for too long.
    """
    root, thread = state.storage.root, threading.get_ident()
    patience = state.options.concurrency.lock_patience
    deadline, writers = time.monotonic() + patience, _in_process(root)
    with _news:
        while writers.of_others() or writers.beginning not in (None, thread):
            if time.monotonic() >= deadline:
                raise LockError(
                    f"{root}: another thread of this process has been writing to the table for {patience:g} seconds; "
                    "wait for it, or set hoodie.write.concurrency.mode=OPTIMISTIC_CONCURRENCY_CONTROL"
                )
            _news.wait(_LOOK_AGAIN)
        before, writers.beginning = writers.beginning, thread
        moment, by = writers.changed
    try:
        yield state.again() if by != thread and moment >= state.read_at else state
    finally:
        with _news:
            writers.beginning = before
            _news.notify_all()


def enter(root: str, instant: str, write: object) -> None:
    """Note that this thread is at work on *instant*, until it calls :func:`leave` or *write* is dropped."""
    with _news:
        _writers[root].at_work[instant] = threading.get_ident(), weakref.ref(write)


def leave(root: str, instant: str) -> None:
    """Note that *instant* is committed or abandoned."""
    with _news:
        if _writers[root].at_work.pop(instant, None) is not None:
            _writers[root].changed = time.monotonic(), threading.get_ident()
        _news.notify_all()


def at_work(root: str) -> frozenset[str]:
    """The instants that other threads of this process are at work on."""
    with _news:
        return frozenset(_writers[root].of_others())


def _alive(state: TableState) -> frozenset[str]:
    """The instants of writes that go on: in other threads, or with a heartbeat that no ended process has left."""
    options = state.options.concurrency
    beating = living(state.storage, tolerance=options.heartbeat_tolerance)
    if options.failed_writes_policy is FailedWritesPolicy.EAGER:
        beating = frozenset(one for one in beating if not is_of_ended_process(state.storage, one))
    return beating | at_work(state.storage.root)


def dead_writes(state: TableState) -> list[Instant]:
    """The writes that did not complete and show no sign of life, which :func:`roll_back_failed_writes` rolls back."""
    pending = state.pending_writes
    if not pending or state.options.concurrency.failed_writes_policy is FailedWritesPolicy.NEVER:
        return []
    alive = _alive(state)
    return [one for one in pending if one.time not in alive]


def roll_back_failed_writes(state: TableState) -> TableState:
    """Roll back writes that did not complete: all, or beside other writers those without a heartbeat.

    Returns the state of the table after that.
    """
    options = state.options.concurrency
    if options.failed_writes_policy is FailedWritesPolicy.NEVER:
        return state
    marked = marked_instants(state.storage)
    pending = [*state.pending_writes, *(one for one in state.timeline.pending if one.action in _UNDER_THE_LOCK)]
    if not (marked or pending):
        return state
    alive = _alive(state) if pending else frozenset[str]()
    for one in pending:
        if one.action.is_write and one.time not in alive:
            roll_back(state.context.state(), one)
        elif one.action is Action.SAVEPOINT:  # it keeps nothing before it is completed
            remove_pending(state.storage, state.config, one)
    state = state.context.state()  # made after the markers were listed, as sweeping wants it
    sweep_orphans(state, marked)
    return state


def without_others(state: TableState) -> TableState:
    """As :func:`roll_back_failed_writes`; a writer that shares no lock with others waits until they are done.

    Raises:
        LockError: one goes on for too long.
    """
    state = roll_back_failed_writes(state)
    options = state.options.concurrency
    if options.failed_writes_policy is not FailedWritesPolicy.EAGER:
        return state
    deadline = time.monotonic() + options.lock_patience
    while going_on := state.pending_writes:
        if time.monotonic() >= deadline:
            raise LockError(
                f"{state.storage.root}: another process writes to the table: {going_on[0]} has a heartbeat; wait, "
                f"or set hoodie.write.concurrency.mode={ConcurrencyMode.OPTIMISTIC.value} for all writers"
            )
        time.sleep(_LOOK_AT_OTHERS)
        state = roll_back_failed_writes(state.again())
    return state
