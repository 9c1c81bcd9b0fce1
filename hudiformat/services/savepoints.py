"""Savepoints, which keep the files of a commit, and restoring a table to one of its commits.

Source: SavepointActionExecutor, RestorePlanActionExecutor, BaseRestoreActionExecutor, Hudi 1.2.0.
"""

from __future__ import annotations

import time

from hudiformat.errors import CommitError, CorruptTableError
from hudiformat.naming import next_instant
from hudiformat.services.rolling_back import find_write, refuse_savepoint
from hudiformat.table.listing import partition_files
from hudiformat.table.state import TableContext
from hudiformat.timeline import (
    VERSION_WITH_COMPLETION_TIMES,
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
    read_content,
    transition_inflight,
)
from hudiformat.transaction.metadata_table import prepare_metadata_table
from hudiformat.transaction.publishing import exclusive, publish
from hudiformat.transaction.rollback import WRITES, Rollbacks
from hudiformat.view import build_slices, latest_slices

_WRITES = (*WRITES, Action.COMPACTION, Action.LOG_COMPACTION, Action.CLUSTERING)


def savepoint(context: TableContext, instant: str, *, user: str = "", comment: str = "") -> Instant:
    """Keep the files of the commit *instant* from being cleaned, so that the table can be restored to it.

    Raises:
        CommitError: there is no such completed write, its files may have been cleaned, or it has a savepoint.
        LockError: another writer keeps the table's lock.
    """
    with exclusive(context):
        _refuse_unsavable(context, instant)
        visibility = context.visibility()
        partitions = {}
        for path, files in partition_files(context):
            slices = latest_slices(build_slices(path, files, visibility, as_of=instant))
            names = [str(one.base_file.name) for one in slices if one.base_file is not None]
            names += [str(log.name) for one in slices for log in one.log_files]
            partitions[path] = SavepointPartitionMetadata(path, tuple(names))
        now = next_instant(context.clock(), context.timeline().latest_instant_time)
        milliseconds = int(time.time() * 1000)
        metadata = SavepointMetadata(user, milliseconds, comment, partitions)
        begun = create_requested(context.storage, context.config, instant, Action.SAVEPOINT)
        return complete(context.storage, context.config, begun, metadata, completion_time=now)


def delete_savepoint(context: TableContext, instant: str) -> None:
    """Let the files of the commit *instant* be cleaned again.

    Raises:
        CommitError: it has no savepoint.
    """
    with exclusive(context):
        found = [one for one in context.timeline().instants if one.time == instant and one.action is Action.SAVEPOINT]
        if not found:
            raise CommitError(f"{context.storage.root}: {instant} has no savepoint", path=context.storage.root)
        for one in (*found, Instant(instant, Action.SAVEPOINT, State.INFLIGHT)):
            context.storage.delete(instant_path(context.config, one))


def restore(context: TableContext, instant: str) -> Instant:
    """Roll back every write that was completed after the commit *instant*, and those that never were.

    A restore that was stopped half-way is finished by the next one to the same commit.

    Raises:
        CommitError: there is no such completed write, or a savepoint keeps a later one.
        LockError: another writer keeps the table's lock.
    """
    with exclusive(context):
        prepare_metadata_table(context)
        pending = next((one for one in context.timeline().pending if one.action is Action.RESTORE), None)
        if pending is None:
            plan = _plan_restore(context, instant)
            now = next_instant(context.clock(), context.timeline().latest_instant_time)
            pending = create_requested(context.storage, context.config, now, Action.RESTORE, plan)
        return _run_restore(context, pending, instant)


def _plan_restore(context: TableContext, instant: str) -> RestorePlan:
    kept, timeline = find_write(context, instant), context.timeline()
    if not kept.is_completed:
        raise CommitError(f"{context.storage.root}: {kept} is not completed", path=context.storage.root)
    # In table version 6 log files name a pending compaction that was planned before: it stays.
    finished = _begun if context.config.version < VERSION_WITH_COMPLETION_TIMES else _finished
    later = [one for one in timeline.instants if one.action in _WRITES and finished(one) > finished(kept)]
    later.sort(key=finished, reverse=True)
    for one in later:
        refuse_savepoint(context, timeline, one.time)
    return RestorePlan(
        instants_to_rollback=tuple(InstantInfo(one.time, one.action.value) for one in later),
        savepoint_to_restore_timestamp=instant,
    )


def _run_restore(context: TableContext, restoring: Instant, wanted: str) -> Instant:
    began = time.monotonic()
    storage, config = context.storage, context.config
    plan = read_content(storage, config, Instant(restoring.time, restoring.action, State.REQUESTED))
    if not isinstance(plan, RestorePlan):
        raise CorruptTableError(f"{storage.root}: {restoring} has no plan", path=storage.root)
    if plan.savepoint_to_restore_timestamp != wanted:
        raise CommitError(
            f"{storage.root}: {restoring} to {plan.savepoint_to_restore_timestamp} is pending: finish that first",
            path=storage.root,
        )
    if restoring.state is State.REQUESTED:
        restoring = transition_inflight(storage, config, restoring)
    rollbacks = Rollbacks(storage, config, context.clock)
    done: dict[str, tuple[RollbackMetadata, ...]] = {}
    for target in plan.instants_to_rollback:
        done[target.commit_time] = (rollbacks.take_away(target, at=restoring.time),)
    metadata = RestoreMetadata(
        start_restore_time=restoring.time,
        time_taken_in_millis=int((time.monotonic() - began) * 1000),
        instants_to_rollback=tuple(target.commit_time for target in plan.instants_to_rollback),
        hoodie_restore_metadata=done,
        restore_instant_info=plan.instants_to_rollback,
    )
    completed = publish(storage, config, context.clock, restoring, metadata)
    _forget_rollbacks(context, wanted)
    return completed


def _forget_rollbacks(context: TableContext, after: str) -> None:
    """Take away the rollbacks of writes that the restore has taken away as well."""
    for one in context.timeline().instants:
        if one.action is Action.ROLLBACK and one.time > after:
            for state in (one, *(Instant(one.time, one.action, state) for state in (State.INFLIGHT, State.REQUESTED))):
                context.storage.delete(instant_path(context.config, state))


def _refuse_unsavable(context: TableContext, instant: str) -> None:
    kept, timeline = find_write(context, instant), context.timeline()
    root = context.storage.root
    if not kept.is_completed:
        raise CommitError(f"{root}: {kept} is not completed, and cannot have a savepoint", path=root)
    refuse_savepoint(context, timeline, instant)
    cleans = [one for one in timeline.completed if one.action is Action.CLEAN]
    said = read_content(context.storage, context.config, cleans[-1]) if cleans else None
    first = said.earliest_commit_to_retain if isinstance(said, CleanMetadata) else ""
    if instant < first:
        raise CommitError(f"{root}: files of {instant} may be gone: what {first} and later need is kept", path=root)


def _begun(instant: Instant) -> str:
    return instant.time


def _finished(instant: Instant) -> str:
    return "9" if not instant.is_completed else instant.completion_time or instant.time
