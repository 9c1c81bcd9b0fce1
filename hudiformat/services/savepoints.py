"""Savepoints, which keep the files of a commit, and restoring a table to one of its commits.

Source: SavepointActionExecutor, RestorePlanActionExecutor, BaseRestoreActionExecutor, Hudi 1.2.0.
"""

from __future__ import annotations

import time
from contextlib import suppress

from hudiformat.errors import CommitError, HudiFormatError, StorageError
from hudiformat.file_group.slices import build_slices, latest_slices
from hudiformat.services.rolling_back import find_write, refuse_former_layout, refuse_savepoint
from hudiformat.services.service_result import ServiceResult
from hudiformat.table.state import TableContext, TableState
from hudiformat.timeline.cleans import CleanerPlan, CleanMetadata
from hudiformat.timeline.contents import Content, complete_instant, create_requested, remove_pending
from hudiformat.timeline.rollbacks import InstantInfo, RestorePlan, SavepointMetadata, SavepointPartitionMetadata
from hudiformat.timeline.timeline import Action, Instant, State, instant_path
from hudiformat.write.commit.changing import change_timeline, hold_table_lock
from hudiformat.write.commit.publishing import announce, find_completed
from hudiformat.write.commit.rollback import finish_restores, run_restore
from hudiformat.write.metadata.preparing import refuse_unreadable


def savepoint(context: TableContext, instant: str, *, user: str = "", comment: str = "") -> ServiceResult[Instant]:
    """Keep the files of the commit *instant* from being cleaned, so that the table can be restored to it.

    Raises:
        CommitError: there is no such completed write, its files may have been cleaned, or it has a savepoint.
        LockError: another writer keeps the table's lock.
    """
    with hold_table_lock(context) as owning:
        state = finish_restores(owning.state())
        _refuse_unsavable(state, instant)
        partitions = {}
        for path, files in state.files():
            slices = latest_slices(build_slices(path, files, state.visibility, as_of=instant))
            names = [one.base_file.name.stored_as for one in slices if one.base_file is not None]
            names += [str(log.name) for one in slices for log in one.log_files]
            partitions[path] = SavepointPartitionMetadata(path, tuple(names))
        metadata = SavepointMetadata(user, int(time.time() * 1000), comment, partitions)
        # A savepoint that was begun and never completed protects nothing, and its file would be in the way.
        remove_pending(state.storage, state.config, Instant(instant, Action.SAVEPOINT, State.INFLIGHT))
        state.context.confirm()
        done = _keep(state, instant, metadata)
        return ServiceResult("savepoint", f"the files of {instant} are kept", (done,))


def _keep(state: TableState, instant: str, metadata: SavepointMetadata) -> Instant:
    """Put a savepoint on the timeline; after an unclear answer the timeline decides."""
    begun = Instant(instant, Action.SAVEPOINT, State.INFLIGHT)
    try:
        create_requested(state.storage, state.config, instant, Action.SAVEPOINT)
        return complete_instant(state.storage, state.config, begun, metadata, completion_time=state.next_instant)
    except HudiFormatError:
        done, _ = find_completed(state.context.state(), begun, metadata)
        if done is None:
            with suppress(StorageError):
                remove_pending(state.storage, state.config, begun)
            raise
        return done


def delete_savepoint(context: TableContext, instant: str) -> ServiceResult[Instant]:
    """Delete the savepoint of the commit *instant*, so that its files can be cleaned again.

    Raises:
        CommitError: it has no savepoint.
    """
    with hold_table_lock(context) as owning:
        state = finish_restores(owning.state())
        found = [one for one in state.timeline.instants if one.time == instant and one.action is Action.SAVEPOINT]
        if not found:
            raise CommitError(
                f"{context.storage.root}: {instant} has no savepoint to delete", path=context.storage.root
            )
        for one in (*found, Instant(instant, Action.SAVEPOINT, State.INFLIGHT)):
            state.storage.delete(instant_path(state.config, one))
        return ServiceResult("savepoint", f"the files of {instant} are no longer kept")


def restore(context: TableContext, instant: str) -> ServiceResult[Instant]:
    """Roll back every write that was completed after the commit *instant*, and all writes that never were.

    A restore that was interrupted is finished first, whatever it restores to.

    Raises:
        CommitError: there is no such completed write, or a savepoint keeps a later one.
        LockError: another writer keeps the table's lock.
    """
    with change_timeline(context) as state:
        plan = _plan_restore(state, instant)
        newest, done = state.timeline.completed[-1], f"restored to {instant}"
        if newest.action is Action.RESTORE and not plan.instants_to_rollback:
            # The same restore had been interrupted, and has just been finished.
            return ServiceResult("restore", done, (newest,))
        refuse_unreadable(state, lists=True)
        requested = announce(state, Action.RESTORE, plan)
        return ServiceResult("restore", done, (run_restore(state.context.state(), requested),))


def _plan_restore(state: TableState, instant: str) -> RestorePlan:
    kept, root = find_write(state, instant), state.storage.root
    if not kept.is_completed:
        raise CommitError(f"{root}: {kept} is not completed: restore to a completed write", path=root)
    # In table version 6 log files are named by a pending compaction that was planned before: it stays.
    finished = _begin_time if state.logs_name_slices else _finish_time
    writes = (one for one in state.timeline.instants if one.action.completed_as.is_write)
    later = sorted((one for one in writes if finished(one) > finished(kept)), key=finished, reverse=True)
    for one in later:
        refuse_savepoint(state, one.time)
        refuse_former_layout(state, one)
    _refuse_cleaned(state, instant)
    return RestorePlan(
        instants_to_rollback=tuple(InstantInfo(one.time, one.action.value) for one in later),
        savepoint_to_restore_timestamp=instant,
    )


def _refuse_unsavable(state: TableState, instant: str) -> None:
    kept, root = find_write(state, instant), state.storage.root
    if not kept.is_completed:
        raise CommitError(f"{root}: {kept} is not completed, and cannot have a savepoint", path=root)
    refuse_savepoint(state, instant)
    _refuse_cleaned(state, instant)


def _refuse_cleaned(state: TableState, instant: str) -> None:
    """Raise a CommitError if a clean, finished or not, deletes files that *instant* needs."""
    timeline, root = state.timeline, state.storage.root
    if any(one.action is Action.SAVEPOINT and one.time == instant for one in timeline.completed):
        return  # cleans leave the files of a commit with a savepoint
    cleans = [Instant(one.time, one.action, State.REQUESTED) for one in timeline.pending if one.action is Action.CLEAN]
    for clean in [*cleans, *[one for one in timeline.completed if one.action is Action.CLEAN][-1:]]:
        first = _first_kept(state.content(clean))
        if instant < first:
            raise CommitError(
                f"{root}: files of {instant} may be deleted: a clean has kept only what {first} and later commits "
                "need; choose one of these",
                path=root,
            )


def _first_kept(clean: Content | None) -> str:
    """Return the first commit whose files a clean leaves."""
    if isinstance(clean, CleanerPlan) and clean.earliest_instant_to_retain is not None:
        return clean.earliest_instant_to_retain.timestamp
    return clean.earliest_commit_to_retain if isinstance(clean, CleanMetadata) else ""


def _begin_time(instant: Instant) -> str:
    return instant.time


def _finish_time(instant: Instant) -> str:
    return "9" if not instant.is_completed else instant.completion_time or instant.time
