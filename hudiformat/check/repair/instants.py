"""Repair instants of the timeline that are damaged, or that will never be completed because their writer is dead."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from functools import partial

from hudiformat.check.repair.commits import rebuild_commit, rebuild_savepoint
from hudiformat.check.repair.groups import check_merging
from hudiformat.check.repair.liveness import WriterTimeout, is_pending_write
from hudiformat.check.repair.repair_folder import RepairFolder
from hudiformat.check.repair.steps import Job, RepairKind, RepairStep
from hudiformat.check.verify.finding import TableFinding, TableFindingKind
from hudiformat.errors import CorruptTableError, NameFormatError, StorageError
from hudiformat.file_group.partitions import list_partitions
from hudiformat.naming.file_names import LogFileName, join_path, parse_data_file
from hudiformat.services.clustering import cluster
from hudiformat.services.compaction import compact, mend_lost_plans
from hudiformat.services.execution import slice_of
from hudiformat.services.log_compaction import log_compact
from hudiformat.storage.protocol import Storage
from hudiformat.table.state import TableContext, TableState
from hudiformat.table.support import refuse_unwritable
from hudiformat.timeline.contents import encode_content, is_whole_content, remove_pending
from hudiformat.timeline.plans import CompactionPlan
from hudiformat.timeline.rollbacks import RestorePlan, RollbackPlan
from hudiformat.timeline.timeline import (
    Action,
    Instant,
    State,
    instant_path,
    list_instants,
    load_timeline,
    parse_instant_name,
)
from hudiformat.write.commit import rollback
from hudiformat.write.commit.changing import change_timeline, hold_table_lock
from hudiformat.write.commit.files import delete_files, files_of, log_instants

_MERGES = (Action.COMPACTION, Action.LOG_COMPACTION, Action.CLUSTERING)
_LOST_CONTENT = "what the commit said besides files and schema, such as the checkpoint of a stream"


def plan_instants(
    state: TableState,
    findings: Iterable[TableFinding],
    timeout: WriterTimeout,
    damaged_groups: Collection[tuple[str, str]] = (),
) -> Iterator[Job]:
    """Yield the jobs for findings about the timeline; *damaged_groups* are the file groups with damaged files."""
    folder = state.config.timeline_folder
    seen: set[str] = set()
    for finding in sorted(findings, key=lambda one: one.kind is not TableFindingKind.DAMAGED):
        above, _, name = finding.path.rpartition("/")
        instant = None if above != folder else _parse_name(state, name)
        if instant is None or instant.time in seen:
            continue
        if instant.is_completed:
            yield _of_completed(state, instant, finding, timeout)
            continue
        seen.add(instant.time)
        newest = next((one for one in state.timeline.pending if one.time == instant.time), instant)
        yield _of_pending(state, newest, finding, timeout, damaged_groups)


def _parse_name(state: TableState, name: str) -> Instant | None:
    try:
        return parse_instant_name(name, layout=state.config.layout_version)
    except NameFormatError:
        return None


def _of_completed(state: TableState, instant: Instant, finding: TableFinding, timeout: WriterTimeout) -> Job:
    step, run = _plan_mending(state, instant, finding)
    reason = timeout.of_file(finding.path) or _reason_to_keep(state, finding.path)
    if reason is not None:
        return Job.refused(step, reason)
    return Job(step, run)


def _reason_to_keep(state: TableState, path: str) -> str | None:
    """Return why a file that cannot be decoded is not damaged: it is whole, and its content is not understood.

    Other releases of Hudi may have written it, and may read it.
    """
    try:
        data = state.storage.read(path)
    except StorageError:
        return None
    if not is_whole_content(data):
        return None
    return "the file is whole, and has a content that hudiformat does not know: it may be of another release of Hudi"


def _plan_mending(state: TableState, instant: Instant, finding: TableFinding) -> tuple[RepairStep, partial[None]]:
    """Return the step that repairs the file of a completed instant, and the function that carries it out."""
    kind, path, why, context = RepairKind.COMMIT, finding.path, finding.message, state.context
    if instant.action.is_write:
        what = "its content is made again from the files of the instant"
        step = RepairStep(kind, path, what, why, _LOST_CONTENT)
        return step, partial(_make_again, state, instant, why)
    if instant.action is Action.SAVEPOINT:
        what = "its content is made again: the files of the table as of the savepoint"
        return RepairStep(kind, path, what, why, "who made it, and why"), partial(_make_again, state, instant, why)
    what = f"the {instant.action.value} is taken off the timeline; what it did stays done"
    return RepairStep(kind, path, what, why), partial(_take_off, context, instant, why)


def _make_again(state: TableState, instant: Instant, why: str, taken: RepairFolder) -> None:
    storage, path = state.storage, instant_path(state.config, instant)
    content = (
        rebuild_savepoint(state, instant) if instant.action is Action.SAVEPOINT else rebuild_commit(state, instant)
    )
    if content is None:
        raise CorruptTableError(
            f"{storage.root}/{path}: which file groups the replace commit has removed from the table is not known: "
            "restore the table to a savepoint, or put a copy of the file back",
            path=storage.root,
        )
    with hold_table_lock(state.context) as owning:
        taken.copy_file(path, why)
        owning.confirm()
        storage.create(path, encode_content(content, state.config), overwrite=True)


def _take_off(context: TableContext, instant: Instant, why: str, taken: RepairFolder) -> None:
    """Remove the files of an instant in all states from the timeline, the completed one last."""
    with hold_table_lock(context) as owning:
        config = context.config
        every = list_instants(owning.storage, config.timeline_folder, layout=config.layout_version)
        own = [one for one in every if one.time == instant.time and _belongs(one, instant)]
        for one in sorted(own, key=lambda one: (one.is_completed, -one.state)):
            owning.confirm()
            taken.move_file(instant_path(config, one), why)


def _belongs(one: Instant, instant: Instant) -> bool:
    """Return whether two states with the same time are of one instant; a savepoint has the time of its commit."""
    return one.action.completed_as is instant.action.completed_as


def _of_pending(
    state: TableState,
    instant: Instant,
    finding: TableFinding,
    timeout: WriterTimeout,
    damaged_groups: Collection[tuple[str, str]],
) -> Job:
    is_damaged = finding.kind is TableFindingKind.DAMAGED
    step, run = _plan_ending(state, instant, finding, has_plan=not is_damaged, damaged_groups=damaged_groups)
    reason = timeout.of_instant(state, instant) or (_reason_to_keep(state, finding.path) if is_damaged else None)
    if reason is not None:
        return Job.refused(step, reason)
    is_run = not is_damaged and not set(damaged_groups) & _groups_of(state, instant)
    return Job(step, run, partial(_check_ending, state, instant, is_run=is_run))


def _check_ending(state: TableState, instant: Instant, *, is_run: bool) -> None:
    """Check that what a dead writer has left pending can be ended: each way of it changes the table.

    Raises:
        HudiFormatError: the table cannot be written, or a file that a compaction is to merge cannot be read.
    """
    refuse_unwritable(state)
    is_compaction = is_run and instant.action in (Action.COMPACTION, Action.LOG_COMPACTION)
    plan = state.plan(instant) if is_compaction else None
    for operation in (plan.operations or ()) if isinstance(plan, CompactionPlan) else ():
        check_merging(state, slice_of(operation))


def _plan_ending(
    state: TableState,
    instant: Instant,
    finding: TableFinding,
    *,
    has_plan: bool,
    damaged_groups: Collection[tuple[str, str]],
) -> tuple[RepairStep, partial[None]]:
    """Return the step that ends a pending instant of a dead writer, and the function that carries it out."""
    context, why = state.context, finding.message
    path = instant_path(state.config, instant)
    is_write = is_pending_write(state, instant)
    kind = RepairKind.PENDING if has_plan or is_write else RepairKind.PLAN
    if is_write:
        what = "the write is rolled back; copies of its files are kept"
        return RepairStep(kind, path, what, why), partial(_roll_back, context, instant, why)
    if instant.action in (Action.ROLLBACK, Action.RESTORE) and has_plan:
        what = f"the {instant.action.value} is finished; copies of what it deletes are kept"
        return RepairStep(kind, path, what, why), partial(_finish, context, instant, why)
    if _is_merge(state, instant):
        is_sound = has_plan and not set(damaged_groups) & _groups_of(state, instant)
        what, run = _plan_ending_of_merge(state, instant, why, is_sound=is_sound)
        return RepairStep(kind, path, what, why), run
    what = f"the {instant.action.value} is taken off the timeline"
    lost = "what it was to undo stays in the table" if instant.action in (Action.ROLLBACK, Action.RESTORE) else ""
    return RepairStep(kind, path, what, why, lost), partial(_take_off, context, instant, why)


def _plan_ending_of_merge(
    state: TableState, instant: Instant, why: str, *, is_sound: bool
) -> tuple[str, partial[None]]:
    """Return how a compaction or clustering is ended; *is_sound* says that its plan and its files can be read."""
    if is_sound:
        what = f"the {instant.action.value} is run, as planned"
        return what, partial(_run_service, state.context, instant.action)
    if instant.action is Action.COMPACTION and state.logs_name_slices:
        what = "the compaction is planned again over the log files that are there, and run"
        return what, partial(_plan_again, state.context, instant, why)
    what = f"the {instant.action.value} is taken off the timeline; the files that it was to merge stay"
    return what, partial(_unplan, state.context, instant, why)


def _is_merge(state: TableState, instant: Instant) -> bool:
    is_replace = instant.action is Action.REPLACE_COMMIT
    return instant.action in _MERGES or (is_replace and not is_pending_write(state, instant))


def _groups_of(state: TableState, instant: Instant) -> set[tuple[str, str]]:
    """Return the file groups that the plan of a pending instant names."""
    return {group.key for group in state.pending_groups if group.instant.time == instant.time}


def _keep_files(state: TableState, times: Iterable[str], why: str, taken: RepairFolder) -> None:
    """Copy the files of the writes at *times*, which are going to be deleted."""
    every = list_instants(state.storage, state.config.timeline_folder, layout=state.config.layout_version)
    for time in times:
        for path in files_of(state.storage, time) if not state.logs_name_slices else _of_write_6(state.storage, time):
            taken.copy_file(path, why)
        for one in every:
            if one.time == time and one.action is not Action.SAVEPOINT:
                taken.copy_file(instant_path(state.config, one), why)


def _of_write_6(storage: Storage, time: str) -> Iterator[str]:
    """Yield the files that a rollback of the write deletes in table version 6: those with rows of this write only."""
    for path, entries in list_partitions(storage, incomplete=True):
        for entry in entries:
            name, target = parse_data_file(entry.name), join_path(path, entry.name)
            is_log = isinstance(name, LogFileName)
            is_whole = is_log and log_instants(storage, target) <= {time}
            if name is not None and (is_whole or (not is_log and name.instant == time)):
                yield target


def _state_with_all_writes(context: TableContext) -> TableState:
    """Return the state of the table with all writes on its timeline, including those that a pending restore removes."""
    return TableState(context, context.config, load_timeline(context.storage, context.config))


def _roll_back(context: TableContext, instant: Instant, why: str, taken: RepairFolder) -> None:
    _keep_files(_state_with_all_writes(context), [instant.time], why, taken)
    with change_timeline(context) as state:
        pending = [one for one in state.timeline.pending if one.time == instant.time and one.action is instant.action]
        for one in pending:
            rollback.roll_back(state, one)


def _finish(context: TableContext, instant: Instant, why: str, taken: RepairFolder) -> None:
    state = _state_with_all_writes(context)
    plan = state.plan(instant)
    if isinstance(plan, RollbackPlan) and plan.instant_to_rollback is not None:
        _keep_files(state, [plan.instant_to_rollback.commit_time], why, taken)
    if isinstance(plan, RestorePlan):
        _keep_files(state, [one.commit_time for one in plan.instants_to_rollback], why, taken)
    with change_timeline(context):  # which finishes them first
        pass


def _run_service(context: TableContext, action: Action, _taken: RepairFolder) -> None:
    if action is Action.COMPACTION:
        compact(context)
    elif action is Action.LOG_COMPACTION:
        log_compact(context)
    else:
        cluster(context)


def _plan_again(context: TableContext, instant: Instant, why: str, taken: RepairFolder) -> None:
    requested = replace(instant, state=State.REQUESTED)
    taken.copy_file(instant_path(context.config, requested), why)
    # Not moved: without a file the instant would not exist, and log files that name it would not be visible.
    context.storage.create(instant_path(context.config, requested), b"", overwrite=True)
    state = mend_lost_plans(context)
    if any(one.time == instant.time for one in state.timeline.pending):
        compact(context)


def _unplan(context: TableContext, instant: Instant, why: str, taken: RepairFolder) -> None:
    _keep_files(_state_with_all_writes(context), [instant.time], why, taken)
    with hold_table_lock(context) as owning:
        owning.confirm()
        delete_files(owning.storage, context.config, instant.time)
        remove_pending(owning.storage, context.config, instant)
