"""What writes that did not complete have left: which of them are dead, and their rollback."""

from __future__ import annotations

from time import monotonic, sleep

from hudiformat.errors import LockError
from hudiformat.exclusion import is_of_ended_process, living
from hudiformat.options import ConcurrencyMode, FailedWritesPolicy
from hudiformat.table import TableState
from hudiformat.timeline import Action, Instant, remove_pending
from hudiformat.transaction.changing import at_work
from hudiformat.transaction.files import marked_instants
from hudiformat.transaction.rollback import roll_back
from hudiformat.transaction.sweeping import sweep_orphans

_UNDER_THE_LOCK = (Action.ROLLBACK, Action.SAVEPOINT)
"""Actions that are begun and completed under the lock: who has it and finds one pending knows that its writer died."""

_LOOK_AGAIN = 0.2
"""Seconds between looks at the write of another process."""


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
    deadline = monotonic() + options.lock_patience
    while going_on := state.pending_writes:
        if monotonic() >= deadline:
            raise LockError(
                f"{state.storage.root}: another process writes to the table: {going_on[0]} has a heartbeat; wait, "
                f"or set hoodie.write.concurrency.mode={ConcurrencyMode.OPTIMISTIC.value} for all writers"
            )
        sleep(_LOOK_AGAIN)
        state = roll_back_failed_writes(state.again())
    return state
