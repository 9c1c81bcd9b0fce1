"""Compaction: merge the log files of file slices into new base files.

A compaction is planned first.  What is written after that moment belongs to the next slice, so writers need not wait.

Source: ScheduleCompactionActionExecutor, BaseHoodieCompactionPlanGenerator, HoodieCompactor, Hudi 1.2.0;
spec/services.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudiformat.errors import UnsupportedFeatureError
from hudiformat.file_group.damage import DamageMode
from hudiformat.file_group.finer_times import StoredTimes
from hudiformat.file_group.merging.rule import RecordMerger
from hudiformat.file_group.slices import FileSlice
from hudiformat.naming.file_names import WriteToken
from hudiformat.schema.meta_fields import FILE_NAME, add_file_name
from hudiformat.services.execution import (
    ServiceClaim,
    claim_service,
    compaction_operation,
    is_running,
    mergeable_slices,
    run_claimed,
    take_back_on_error,
)
from hudiformat.services.service_result import ServiceResult, commits_result, plan_result
from hudiformat.storage.protocol import Storage
from hudiformat.table.options.values import ServiceOptions
from hudiformat.table.state import TableContext, TableState
from hudiformat.table.support import refuse_unwritable
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.timeline.contents import encode_content, remove_pending
from hudiformat.timeline.plans import CompactionOperation, CompactionPlan
from hudiformat.timeline.table_config import TableType
from hudiformat.timeline.timeline import Action, Instant, State, instant_path
from hudiformat.write.commit.changing import change_timeline
from hudiformat.write.commit.files import GroupTarget, WriteCounts, base_file_stat, delete_files
from hudiformat.write.commit.plan import WritePlan, plan_of_service
from hudiformat.write.commit.publishing import announce
from hudiformat.write.commit.transaction import Commit
from hudiformat.write.handles.base_files import OpenBaseFile
from hudiformat.write.metadata.preparing import refuse_unreadable

Numbers = npt.NDArray[np.int64]


def find_lost_plans(state: TableState) -> list[Instant]:
    """Return the pending compactions without a plan that nobody runs."""
    pending = (one for one in state.timeline.pending if one.action is Action.COMPACTION)
    return [one for one in pending if state.plan(one) is None and not is_running(state, one)]


def mend_lost_plans(context: TableContext) -> TableState:
    """Take such compactions off the timeline, or in table version 6 plan them again; return the state after that.

    In table version 6, log files written since then are named by the compaction.  They belong to the slices before it
    until it is completed, so it cannot be removed.
    """
    with change_timeline(context) as state:
        for instant in find_lost_plans(state):
            delete_files(state.storage, state.config, instant.time)
            operations = tuple(_begun_slices(state, instant)) if state.logs_name_slices else ()
            if operations:
                plan = encode_content(CompactionPlan(operations, missing_schedule_partitions=()), state.config)
                requested = Instant(instant.time, instant.action, State.REQUESTED)
                state.storage.create(instant_path(state.config, requested), plan, overwrite=True)
            else:
                remove_pending(state.storage, state.config, instant)
        return state.context.state()


def _begun_slices(state: TableState, compaction: Instant) -> Iterator[CompactionOperation]:
    """Yield what the compaction has to merge: the slices with log files that are named by it."""
    for found in state.slices():
        earlier = tuple(log for log in found.log_files if log.name.instant < compaction.time)
        if found.base_instant < compaction.time and len(earlier) < len(found.log_files):
            yield compaction_operation(state.storage, replace(found, log_files=earlier))


_SERVICE, _COMPACT = "compaction", "COMPACT"
_MIB = 1024 * 1024


def schedule_compaction(context: TableContext) -> ServiceResult[Instant]:
    """Plan to merge the existing log files, if there are any.

    File groups that are already being compacted or clustered are left out.  A slice must reach
    ``hoodie.compaction.logfile.size.threshold`` and ``hoodie.compaction.logfile.num.threshold``; slices with the most
    bytes of logs come first, until ``hoodie.compaction.target.io`` is reached.

    In table version 6 nothing is planned while a write is pending: its log files would belong to the slice that is
    merged, and be lost.

    Raises:
        UnsupportedFeatureError: the table is copy-on-write and has no log files to merge, or cannot be written.
        LockError: another writer keeps the table's lock.

    Source: LogFileSizeBasedCompactionStrategy, BoundedIOCompactionStrategy.
    """
    return plan_result(_SERVICE, _schedule(context, _check(context.state())))


def compact(context: TableContext, seen: TableState | None = None) -> ServiceResult[Commit]:
    """Run the compactions that are planned or were interrupted; plan one first if there are none.

    Compactions that another process is running, as its heartbeat shows, are left to it.

    *seen* is the state of the table, just read.

    Raises:
        UnsupportedFeatureError: as for :func:`schedule_compaction`.
        LockError: another writer keeps the table's lock.
        CommitError: a compaction could not be completed; one that was planned before stays planned.
    """
    seen = _check(context.state() if seen is None else seen)
    if find_lost_plans(seen):
        seen = mend_lost_plans(context)
    planned = None
    if not _pending_compactions(seen) and (planned := _schedule(context, seen)) is None:
        return commits_result(_SERVICE, [])
    with take_back_on_error(context, planned), ExitStack() as undo:
        with change_timeline(context) as state:
            waiting = [instant for instant in _pending_compactions(state) if not is_running(state, instant)]
            claimed = [claim_service(state, instant, undo) for instant in waiting]
        return commits_result(_SERVICE, [_run(state, one) for one in claimed])


def _pending_compactions(state: TableState) -> list[Instant]:
    return [instant for instant in state.timeline.pending if instant.action is Action.COMPACTION]


def _check(state: TableState) -> TableState:
    if state.config.table_type is TableType.COPY_ON_WRITE:
        raise UnsupportedFeatureError(
            f"{state.storage.root}: expected a merge-on-read table, found a copy-on-write "
            "table, which has no log files to compact; leave the compaction out",
            feature="compaction of COPY_ON_WRITE tables",
        )
    refuse_unwritable(state)
    return state


def _schedule(context: TableContext, seen: TableState) -> Instant | None:
    with change_timeline(context, seen) as state:
        refuse_unreadable(state)
        if state.logs_name_slices and state.pending_writes:
            return None
        plan = plan_compaction(state)
        return None if plan is None else announce(state, Action.COMPACTION, plan)


def plan_compaction(state: TableState, slices: Iterable[FileSlice] | None = None) -> CompactionPlan | None:
    """Return the plan of the next compaction of a table; None if no file slice is worth one.

    *slices* are the newest slices of all file groups, for a caller that has listed them already.
    """
    operations = tuple(compaction_operation(state.storage, one) for one in _choose(state, slices))
    return CompactionPlan(operations, missing_schedule_partitions=()) if operations else None


def _choose(state: TableState, slices: Iterable[FileSlice] | None) -> Iterator[FileSlice]:
    found = mergeable_slices(state, slices)
    chosen = choose_to_compact(
        np.fromiter((len(one.log_files) for one in found), np.int64, len(found)),
        np.fromiter((one.log_bytes for one in found), np.int64, len(found)),
        np.fromiter((one.size for one in found), np.int64, len(found)),
        state.options.services,
    )
    return (found[number] for number in chosen.tolist())


def choose_to_compact(log_files: Numbers, log_bytes: Numbers, sizes: Numbers, options: ServiceOptions) -> Numbers:
    """Return the numbers of the file slices that the next compaction merges, those with the most bytes of logs first.

    *sizes* are the bytes of base file and log files.  A slice is read once, and about as many bytes are written, so it
    counts twice.  The slice with which ``hoodie.compaction.target.io`` is reached is the last.

    Source: LogFileSizeBasedCompactionStrategy, BoundedIOCompactionStrategy, Hudi 1.2.0.
    """
    worth = np.flatnonzero((log_files >= options.compaction_log_files) & (log_bytes >= options.compaction_log_size))
    ordered = worth[np.argsort(-log_bytes[worth], kind="stable")]
    before = np.cumsum(2 * sizes[ordered]) - 2 * sizes[ordered]
    # The first slice is taken in any case.
    return ordered[: max(int(np.searchsorted(before, options.compaction_target_io_mb * _MIB)), 1)]


def _run(state: TableState, claimed: ServiceClaim) -> Commit:
    writing = plan_of_service(state, claimed.instant.time)
    return run_claimed(
        state, claimed, writing, merge=partial(merge_into_base_file, state.context.merger), name=_COMPACT
    )


def merge_into_base_file(
    merger: RecordMerger | None,
    file_slice: FileSlice,
    plan: WritePlan,
    storage: Storage,
    token: WriteToken,
    *,
    damage: DamageMode = DamageMode.HUDI,
    times: StoredTimes | None = None,
) -> Iterator[WriteStat]:
    """Write the next base file of a file group from a slice of it, and yield the statistic of the file.

    *times* tells which files count times in another unit than their labels say.
    """
    reader = replace(plan.slice_reader(merger), damage=damage, times=times)
    file = OpenBaseFile(GroupTarget(storage, plan, token, file_slice.partition_path, file_slice.file_id))
    try:
        for batch in reader.scan_stored(storage, file_slice):
            bare = pa.Table.from_batches([batch.drop_columns([FILE_NAME])])
            file.write(add_file_name(bare, file.name))
        rows, size = file.rows, file.close()
    except BaseException:
        file.abandon()
        raise
    base = file_slice.base_file
    yield base_file_stat(
        partition_path=file_slice.partition_path,
        file_id=file_slice.file_id,
        path=file.path,
        rows=rows,
        size=size,
        counts=WriteCounts(),
        previous=None if base is None else base.name,
        indexed=file.indexed,
    )
