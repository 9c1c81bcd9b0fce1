"""Writes that did not complete: which of them are dead, and their rollback before another write begins.

A write is alive while its heartbeat is young, or while another thread of this process is at work on it.  If writers
share no lock, a young heartbeat does not count either once its process has ended.

Source: BaseHoodieTableServiceClient.rollbackFailedWrites, getInstantsToRollback, Hudi 1.2.0.
"""

from __future__ import annotations

import time

from hudiformat.errors import LockError
from hudiformat.table.options.values import ConcurrencyMode, FailedWritesPolicy
from hudiformat.table.state import TableState
from hudiformat.timeline.contents import remove_pending
from hudiformat.timeline.timeline import Action, Instant
from hudiformat.write.commit.changing import at_work
from hudiformat.write.commit.heartbeats import is_of_ended_process, living_instants
from hudiformat.write.commit.markers import marked_instants
from hudiformat.write.commit.rollback import roll_back, running_rollbacks
from hudiformat.write.commit.sweeping import sweep_orphans

_OTHERS_INTERVAL = 0.2
"""Seconds between two checks of the write of another process."""

_UNDER_THE_LOCK = (Action.ROLLBACK, Action.SAVEPOINT)
"""Actions that begin and complete under the lock: if the owner of the lock finds one pending, its writer has died."""


def _living_writes(state: TableState) -> frozenset[str]:
    """Return the instants of writes that go on, in other threads or with a heartbeat, or that others roll back now."""
    options = state.options.concurrency
    beating = living_instants(state.storage, tolerance=options.heartbeat_tolerance)
    if options.failed_writes_policy is FailedWritesPolicy.EAGER:
        beating = frozenset(one for one in beating if not is_of_ended_process(state.storage, one))
    return beating | at_work(state.storage.root) | frozenset(running_rollbacks(state).values())


def dead_writes(state: TableState) -> list[Instant]:
    """Return the pending writes that show no sign of life; :func:`roll_back_failed_writes` rolls them back."""
    pending = state.pending_writes
    if not pending or state.options.concurrency.failed_writes_policy is FailedWritesPolicy.NEVER:
        return []
    alive = _living_writes(state)
    return [one for one in pending if one.time not in alive]


def roll_back_failed_writes(state: TableState) -> TableState:
    """Roll back writes that did not complete, and return the state of the table after that.

    If there are other writers, only the writes without a heartbeat are rolled back.
    """
    options = state.options.concurrency
    if options.failed_writes_policy is FailedWritesPolicy.NEVER:
        return state
    marked = marked_instants(state.storage)
    pending = [*state.pending_writes, *(one for one in state.timeline.pending if one.action in _UNDER_THE_LOCK)]
    if not (marked or pending):
        return state
    alive = _living_writes(state) if pending else frozenset[str]()
    for one in pending:
        if one.action.is_write and one.time not in alive:
            roll_back(state.context.state(), one)
        elif one.action is Action.SAVEPOINT:  # a savepoint protects nothing before it is completed
            remove_pending(state.storage, state.config, one)
    # Read the state after the markers were listed: an instant of a marker that is not on the timeline is then gone.
    state = state.context.state()
    sweep_orphans(state, marked)
    return state


def end_failed_writes(state: TableState) -> TableState:
    """Roll back failed writes; a writer that shares no lock with other processes waits until they have ended theirs.

    Raises:
        LockError: another write goes on for too long.
    """
    state = roll_back_failed_writes(state)
    options = state.options.concurrency
    if options.failed_writes_policy is not FailedWritesPolicy.EAGER:
        return state
    deadline = time.monotonic() + options.lock.longest_wait
    while going_on := state.pending_writes:
        if time.monotonic() >= deadline:
            raise LockError(
                f"{state.storage.root}: another process writes to the table: {going_on[0]} has a heartbeat; wait, "
                f"or set hoodie.write.concurrency.mode={ConcurrencyMode.OPTIMISTIC.value} for all writers"
            )
        time.sleep(_OTHERS_INTERVAL)
        state = roll_back_failed_writes(state.again())
    return state
