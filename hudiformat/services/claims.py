"""Claim a planned service: nobody runs what another process is running, and what a dead process left is taken over.

A claim is a heartbeat with the instant of the plan.  It is made under the table's lock, and confirmed under the lock
before the service completes: a process that was stopped for too long finds that another has taken its place.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, field

from hudiformat.table.state import TableState
from hudiformat.timeline.contents import transition_inflight
from hudiformat.timeline.timeline import Instant, State
from hudiformat.write.commit.files import delete_files
from hudiformat.write.commit.heartbeats import Heartbeat, is_of_ended_process, living_instants


@dataclass(frozen=True, slots=True)
class ServiceClaim:
    """An inflight service instant that this process runs.

    ``attempt`` is in the names of its files, so that two processes, one of which is wrongly taken for dead, never write
    the same file.
    """

    instant: Instant
    heartbeat: Heartbeat
    attempt: int
    began: float = field(default_factory=time.time, compare=False)


def is_running(state: TableState, instant: Instant) -> bool:
    """Return whether the process that runs a planned service is alive, judging by its heartbeat."""
    options = state.options.concurrency
    if instant.time not in living_instants(state.storage, tolerance=options.heartbeat_tolerance):
        return False
    return options.has_other_writers or not is_of_ended_process(state.storage, instant.time)


def claim_service(state: TableState, instant: Instant, undo: ExitStack) -> ServiceClaim:
    """Begin a planned service, or take over one whose process has died; it must be called under the table's lock.

    Files of the dead process are deleted.  The heartbeat stops when *undo* is closed.

    Raises:
        StorageError: the heartbeat or the inflight file cannot be written.
    """
    options = state.options.concurrency
    heartbeat = Heartbeat(
        state.storage, instant.time, interval=options.heartbeat_interval_ms / 1000, may_be_taken_over=True
    )
    undo.callback(heartbeat.stop)
    heartbeat.start()
    state.context.confirm()
    if instant.state is State.INFLIGHT:
        delete_files(state.storage, state.config, instant.time)
        return ServiceClaim(instant, heartbeat, heartbeat.number)
    return ServiceClaim(transition_inflight(state.storage, state.config, instant), heartbeat, 0)
