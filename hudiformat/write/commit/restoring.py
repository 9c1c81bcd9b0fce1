"""Run a restore: remove each write that its plan names, the newest first.

From the moment when the restore is inflight, queries see the table as it will be.  A restore that was interrupted is
finished before anything else changes the table.

Source: BaseRestoreActionExecutor, Hudi 1.2.0; spec/services.md.
"""

from __future__ import annotations

import time

from hudiformat.table.effective import restore_plan
from hudiformat.table.state import TableState
from hudiformat.timeline.contents import transition_inflight
from hudiformat.timeline.rollbacks import RestoreMetadata, RollbackMetadata
from hudiformat.timeline.timeline import Action, Instant, State, instant_path
from hudiformat.write.commit.publishing import publish
from hudiformat.write.commit.rollback import remove_write


def run_restore(state: TableState, restoring: Instant) -> Instant:
    """Run the plan of a pending restore, or what is left of it, and return the completed restore.

    Raises:
        CorruptTableError: the restore has no plan.
        StorageError: a file cannot be deleted; the restore stays pending.
        LockError: this writer has lost the table's lock; the restore stays pending.
    """
    began = time.monotonic()
    storage, config = state.storage, state.config
    plan = restore_plan(storage, config, restoring)
    if restoring.state is State.REQUESTED:
        restoring = transition_inflight(storage, config, restoring)
    done: dict[str, tuple[RollbackMetadata, ...]] = {}
    for target in plan.instants_to_rollback:
        state.context.confirm()
        done[target.commit_time] = (remove_write(state, target, at=restoring.time),)
    metadata = RestoreMetadata(
        start_restore_time=restoring.time,
        time_taken_in_millis=int((time.monotonic() - began) * 1000),
        instants_to_rollback=tuple(target.commit_time for target in plan.instants_to_rollback),
        hoodie_restore_metadata=done,
        restore_instant_info=plan.instants_to_rollback,
    )
    completed = publish(state, restoring, metadata)
    _delete_rollbacks(state, plan.savepoint_to_restore_timestamp or "")
    return completed


def finish_restores(state: TableState) -> TableState:
    """Finish the restores that were interrupted, and return the state of the table after that."""
    pending = [one for one in state.timeline.pending if one.action is Action.RESTORE]
    for one in pending:
        run_restore(state, one)
    return state.context.state() if pending else state


def _delete_rollbacks(state: TableState, after: str) -> None:
    """Delete the rollbacks after the savepoint: the restore has deleted the writes that they rolled back."""
    for one in state.timeline.instants:
        if one.action is Action.ROLLBACK and one.time > after:
            for step in (one, *(Instant(one.time, one.action, step) for step in (State.INFLIGHT, State.REQUESTED))):
                state.storage.delete(instant_path(state.config, step))
