"""Take a planned compaction, or one file group of it, off the timeline.

Source: CompactionAdminClient.unscheduleCompactionPlan and unscheduleCompactionFileId, Hudi 1.2.0.
"""

from __future__ import annotations

from hudiformat.errors import CommitError, suggest_names
from hudiformat.services.execution import compaction_plan_of, is_running
from hudiformat.services.service_result import ServiceResult
from hudiformat.table.state import TableContext, TableState
from hudiformat.timeline.contents import encode_content, remove_pending
from hudiformat.timeline.plans import CompactionOperation, CompactionPlan
from hudiformat.timeline.timeline import Action, Instant, State, instant_path
from hudiformat.write.commit.changing import change_timeline
from hudiformat.write.commit.files import delete_files
from hudiformat.write.commit.heartbeats import delete_heartbeat

_VERSION_OF_HUDIS = 1
"""Hudi writes the plan anew with the default of its schema; readers take names of files in either version."""


def unschedule_compaction(
    context: TableContext, instant: str, *, file_id: str | None = None, partition: str | None = None
) -> ServiceResult[Instant]:
    """Take the planned compaction *instant* off the timeline, or only the file group *file_id* out of its plan.

    *partition* is the path of the file group's partition, if its id alone does not say which one is meant.

    Raises:
        CommitError: there is no such plan or file group; the compaction is running; or as a whole it has begun.
        LockError: another writer keeps the table's lock.
    """
    with change_timeline(context) as state:
        pending = _pending_compaction(state, instant)
        if is_running(state, pending):
            raise _error(state, f"{pending} is running in another process: wait until it is over")
        if file_id is None:
            if pending.state is not State.REQUESTED:
                raise _error(state, f"{pending} has begun: run it by compact(), or roll it back first")
            remove_pending(state.storage, state.config, pending)
            return ServiceResult("unschedule", f"{pending} taken off the timeline")
        plan = compaction_plan_of(state, pending)
        operation = _operation(state, plan, file_id, partition)
        left = tuple(one for one in plan.operations or () if one is not operation)
        if pending.state is not State.REQUESTED:
            # What the attempt has written would be visible once another one completes the instant.
            delete_files(state.storage, state.config, instant)
            delete_heartbeat(state.storage, instant)
            state.storage.delete(instant_path(state.config, pending))
        requested = Instant(pending.time, pending.action, State.REQUESTED)
        new = CompactionPlan(operations=left, extra_metadata=plan.extra_metadata, version=_VERSION_OF_HUDIS)
        data = encode_content(new, state.config)
        state.storage.create(instant_path(state.config, requested), data, overwrite=True)
        done = f"{operation.file_id} taken out of {requested}, {len(left)} file groups left"
        return ServiceResult("unschedule", done, (requested,))


def _pending_compaction(state: TableState, instant: str) -> Instant:
    pending = [one for one in state.timeline.pending if one.action is Action.COMPACTION]
    found = next((one for one in pending if one.time == instant), None)
    if found is None:
        known = ", ".join(one.time for one in pending) or "none"
        raise _error(state, f"expected a planned compaction, found none at {instant}; planned are: {known}")
    return found


def _operation(state: TableState, plan: CompactionPlan, file_id: str, partition: str | None) -> CompactionOperation:
    every = plan.operations or ()
    found = [one for one in every if one.file_id == file_id and partition in (None, one.partition_path or "")]
    if len(found) == 1:
        return found[0]
    if found:
        paths = ", ".join(repr(one.partition_path) for one in found)
        raise _error(state, f"the file group {file_id} is in the partitions {paths}: name one")
    hint = suggest_names(file_id, {one.file_id or "" for one in every})
    raise _error(state, f"expected a file group of the plan, found {file_id!r}{hint}")


def _error(state: TableState, message: str) -> CommitError:
    return CommitError(f"{state.storage.root}: {message}", path=state.storage.root)
