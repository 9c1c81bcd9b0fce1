"""Savepoints, which keep the files of a commit, and restoring a table to one of its commits.

Source: SavepointActionExecutor, RestorePlanActionExecutor, BaseRestoreActionExecutor, Hudi 1.2.0.
"""

from __future__ import annotations

import time

from hudiformat.errors import CommitError, CorruptTableError
from hudiformat.services.rolling_back import find_write, refuse_savepoint
from hudiformat.table import TableContext, TableState
from hudiformat.timeline import (
    Action,
    CleanMetadata,
    Instant,
    InstantInfo,
    RestoreMetadata,
    RestorePlan,
    RollbackMetadata,
    SavepointMetadata,
    SavepointPartitionMetadata,
    State,
    complete,
    create_requested,
    instant_path,
    transition_inflight,
)
from hudiformat.transaction import changing, exclusive, publish, remove_write
from hudiformat.view import build_slices, latest_slices


def savepoint(context: TableContext, instant: str, *, user: str = "", comment: str = "") -> Instant:
    """Keep the files of the commit *instant* from being cleaned, so that the table can be restored to it.

    Raises:
        CommitError: there is no such completed write, its files may have been cleaned, or it has a savepoint.
        LockError: another writer keeps the table's lock.
    """
    with exclusive(context):
        state = context.state()
        _refuse_unsavable(state, instant)
        partitions = {}
        for path, files in state.files():
            slices = latest_slices(build_slices(path, files, state.visibility, as_of=instant))
            names = [str(one.base_file.name) for one in slices if one.base_file is not None]
            names += [str(log.name) for one in slices for log in one.log_files]
            partitions[path] = SavepointPartitionMetadata(path, tuple(names))
        metadata = SavepointMetadata(user, int(time.time() * 1000), comment, partitions)
        begun = create_requested(state.storage, state.config, instant, Action.SAVEPOINT)
        return complete(state.storage, state.config, begun, metadata, completion_time=state.next_instant)


def delete_savepoint(context: TableContext, instant: str) -> None:
    """Let the files of the commit *instant* be cleaned again.

    Raises:
        CommitError: it has no savepoint.
    """
    with exclusive(context):
        state = context.state()
        found = [one for one in state.timeline.instants if one.time == instant and one.action is Action.SAVEPOINT]
        if not found:
            raise CommitError(f"{context.storage.root}: {instant} has no savepoint", path=context.storage.root)
        for one in (*found, Instant(instant, Action.SAVEPOINT, State.INFLIGHT)):
            state.storage.delete(instant_path(state.config, one))


def restore(context: TableContext, instant: str) -> Instant:
    """Roll back every write that was completed after the commit *instant*, and those that never were.

    A restore that was stopped half-way is finished by the next one to the same commit.

    Raises:
        CommitError: there is no such completed write, or a savepoint keeps a later one.
        LockError: another writer keeps the table's lock.
    """
    with changing(context) as state:
        pending = next((one for one in state.timeline.pending if one.action is Action.RESTORE), None)
        if pending is None:
            plan = _plan_restore(state, instant)
            pending = create_requested(state.storage, state.config, state.next_instant, Action.RESTORE, plan)
        return _run_restore(state, pending, instant)


def _plan_restore(state: TableState, instant: str) -> RestorePlan:
    kept, root = find_write(state, instant), state.storage.root
    if not kept.is_completed:
        raise CommitError(f"{root}: {kept} is not completed", path=root)
    # In table version 6 log files name a pending compaction that was planned before: it stays.
    finished = _begun if state.logs_name_slices else _finished
    writes = (one for one in state.timeline.instants if one.action.completed_as.is_write)
    later = sorted((one for one in writes if finished(one) > finished(kept)), key=finished, reverse=True)
    for one in later:
        refuse_savepoint(state, one.time)
    return RestorePlan(
        instants_to_rollback=tuple(InstantInfo(one.time, one.action.value) for one in later),
        savepoint_to_restore_timestamp=instant,
    )


def _run_restore(state: TableState, restoring: Instant, wanted: str) -> Instant:
    began = time.monotonic()
    storage, config, root = state.storage, state.config, state.storage.root
    plan = state.content(Instant(restoring.time, restoring.action, State.REQUESTED))
    if not isinstance(plan, RestorePlan):
        raise CorruptTableError(f"{root}: {restoring} has no plan", path=root)
    if plan.savepoint_to_restore_timestamp != wanted:
        raise CommitError(
            f"{root}: {restoring} to {plan.savepoint_to_restore_timestamp} is pending: finish that first", path=root
        )
    if restoring.state is State.REQUESTED:
        restoring = transition_inflight(storage, config, restoring)
    done: dict[str, tuple[RollbackMetadata, ...]] = {}
    for target in plan.instants_to_rollback:
        done[target.commit_time] = (remove_write(state, target, at=restoring.time),)
    metadata = RestoreMetadata(
        start_restore_time=restoring.time,
        time_taken_in_millis=int((time.monotonic() - began) * 1000),
        instants_to_rollback=tuple(target.commit_time for target in plan.instants_to_rollback),
        hoodie_restore_metadata=done,
        restore_instant_info=plan.instants_to_rollback,
    )
    completed = publish(state, restoring, metadata)
    _delete_rollbacks(state, wanted)
    return completed


def _delete_rollbacks(state: TableState, after: str) -> None:
    """Delete the rollbacks of writes that the restore has deleted as well."""
    for one in state.timeline.instants:
        if one.action is Action.ROLLBACK and one.time > after:
            for step in (one, *(Instant(one.time, one.action, step) for step in (State.INFLIGHT, State.REQUESTED))):
                state.storage.delete(instant_path(state.config, step))


def _refuse_unsavable(state: TableState, instant: str) -> None:
    kept, root = find_write(state, instant), state.storage.root
    if not kept.is_completed:
        raise CommitError(f"{root}: {kept} is not completed, and cannot have a savepoint", path=root)
    refuse_savepoint(state, instant)
    cleans = [one for one in state.timeline.completed if one.action is Action.CLEAN]
    metadata = state.content(cleans[-1]) if cleans else None
    first = metadata.earliest_commit_to_retain if isinstance(metadata, CleanMetadata) else ""
    if instant < first:
        raise CommitError(f"{root}: files of {instant} may be gone: what {first} and later need is kept", path=root)


def _begun(instant: Instant) -> str:
    return instant.time


def _finished(instant: Instant) -> str:
    return "9" if not instant.is_completed else instant.completion_time or instant.time
