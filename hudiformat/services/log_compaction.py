"""Log compaction: merge the blocks of a file slice's log files into one log file, and leave the base file as it is.

The new blocks name the instants that they replace.  Readers read them instead, so the old log files may stay.

Source: HoodieLogCompactionPlanGenerator, HoodieCompactor.logCompact, FileGroupReaderBasedAppendHandle, Hudi 1.2.0;
spec/services.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import compress

import numpy as np
import pyarrow as pa

from hudiformat.codec.log.block import LogBlock
from hudiformat.codec.log.damaged import add_log_file_to_errors
from hudiformat.codec.log.reader import LogReader
from hudiformat.errors import UnsupportedFeatureError
from hudiformat.file_group.merging.candidates import blocks_to_merge, read_candidates
from hudiformat.file_group.merging.keys import KeyIndex
from hudiformat.file_group.merging.rule import merge_rule
from hudiformat.file_group.merging.slice import merge_log_entries, merge_slice
from hudiformat.file_group.renamed_columns import block_of_query
from hudiformat.file_group.slices import FileSlice, Visibility
from hudiformat.naming.file_names import WriteToken
from hudiformat.services.execution import (
    ServiceClaim,
    claim_service,
    compaction_operation,
    is_running,
    mergeable_slices,
    run_claimed,
    take_back_on_error,
)
from hudiformat.services.service_result import ServiceResult, commits_result
from hudiformat.storage.protocol import Storage
from hudiformat.storage.threads import FILE_GROUPS, side_by_side
from hudiformat.table.options.values import Operation
from hudiformat.table.state import TableContext, TableState
from hudiformat.table.support import refuse_unwritable
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.timeline.contents import remove_pending
from hudiformat.timeline.plans import CompactionPlan, CompactionStrategy
from hudiformat.timeline.table_config import TableType
from hudiformat.timeline.timeline import Action, Instant, State
from hudiformat.write.commit.changing import change_timeline
from hudiformat.write.commit.files import GroupTarget, delete_files
from hudiformat.write.commit.heartbeats import delete_heartbeat
from hudiformat.write.commit.plan import WritePlan, with_schema_of_plan, write_plan
from hudiformat.write.commit.publishing import announce
from hudiformat.write.commit.transaction import Commit
from hudiformat.write.handles.append import AppendHandle, delete_ordering

_SERVICE, _LOG_COMPACT = "log-compaction", "LOG_COMPACT"
_STRATEGY = CompactionStrategy("org.apache.hudi.table.action.compact.LogCompactionExecutionHelper", {}, 1)


def log_compact(context: TableContext) -> ServiceResult[Commit]:
    """Run the log compactions that are planned; plan one first if there are none.

    A file slice is worth one from ``hoodie.log.compaction.blocks.threshold`` blocks on.  Log compactions that were
    interrupted are deleted, and so is a plan if a compaction came after it.

    Raises:
        UnsupportedFeatureError: the table is copy-on-write, has a custom merger, or cannot be written.
        LockError: another writer keeps the table's lock.
        CommitError: a log compaction could not be completed; one that was planned before stays planned.
    """
    seen = context.state()
    _refuse(seen)
    with ExitStack() as undo:
        with change_timeline(context, seen) as state:
            planned = [instant for instant in state.timeline.pending if instant.action is Action.LOG_COMPACTION]
            waiting = [instant for instant in planned if not is_running(state, instant)]
            overtaken = [instant for instant in waiting if _is_overtaken(state, instant)]
            for instant in overtaken:
                delete_heartbeat(state.storage, instant.time)
                delete_files(state.storage, state.config, instant.time)
                remove_pending(state.storage, state.config, instant)
            if overtaken:
                state = state.context.state()  # noqa: PLW2901 - removing the plans has changed the timeline
            if not planned or overtaken == planned:
                waiting = _plan(state)
                undo.enter_context(take_back_on_error(context, *waiting))
                state = state.context.state() if waiting else state  # noqa: PLW2901 - planning has changed the timeline
            claimed = [claim_service(state, instant, undo) for instant in waiting if instant not in overtaken]
        return commits_result(_SERVICE, [_run(state, one) for one in claimed])


def _refuse(state: TableState) -> None:
    refused = {
        "a COPY_ON_WRITE table": state.config.table_type is TableType.COPY_ON_WRITE,
        "a custom merger": state.context.merger is not None,
    }
    for found, present in refused.items():
        if present:
            raise UnsupportedFeatureError(
                f"{state.storage.root}: expected a merge-on-read table without a custom merger, "
                f"found {found}; leave the log compaction out",
                feature=f"log compaction with {found}",
            )
    refuse_unwritable(state)


def _is_overtaken(state: TableState, instant: Instant) -> bool:
    """Return whether an instant was begun, or a compaction came after it: its blocks may now be in a base file."""
    compactions = [
        one.time
        for one in state.timeline.instants
        if one.action is Action.COMPACTION or (one.action is Action.COMMIT and one.is_completed)
    ]
    return instant.state is not State.REQUESTED or any(time > instant.time for time in compactions)


def _plan(state: TableState) -> list[Instant]:
    """Put a new plan on the timeline, and return its instant; return nothing if no slice is worth it."""
    plan = log_compaction_plan(state)
    return [announce(state, Action.LOG_COMPACTION, plan)] if plan.operations else []


def log_compaction_plan(state: TableState) -> CompactionPlan:
    """Return the plan of a log compaction of all slices that are worth one."""
    operations = tuple(compaction_operation(state.storage, one) for one in _choose(state))
    return CompactionPlan(operations, strategy=_STRATEGY, preserve_hoodie_metadata=True, missing_schedule_partitions=())


def _choose(state: TableState) -> Iterator[FileSlice]:
    def is_worth(file_slice: FileSlice) -> bool:
        blocks = _blocks(state.storage, file_slice, state.visibility)
        is_partial = any(block.is_partial for block in blocks)  # merged, partial records still make no whole rows
        return not is_partial and len(blocks) >= state.options.services.log_compaction_blocks

    slices = list(mergeable_slices(state))
    return compress(slices, side_by_side(state.storage, is_worth, slices, at_once=FILE_GROUPS))


def _blocks(storage: Storage, file_slice: FileSlice, visibility: Visibility) -> list[LogBlock]:
    blocks = (block for path in file_slice.log_paths for block in LogReader(path, storage=storage))
    return blocks_to_merge(blocks, counts=visibility.counts_block)


def _run(state: TableState, claimed: ServiceClaim) -> Commit:
    writing = with_schema_of_plan(state, write_plan(state, Operation.UPSERT, claimed.instant.time))
    return run_claimed(state, claimed, writing, merge=_compact, name=_LOG_COMPACT)


def _compact(file_slice: FileSlice, plan: WritePlan, storage: Storage, token: WriteToken) -> list[WriteStat]:
    """Write one log file from the log files of a slice; none if all of their blocks have been rolled back."""
    columns = frozenset(plan.schema.arrow_with_meta.names)
    blocks = [
        block_of_query(block, columns, plan.config, plan.history)
        for block in _blocks(storage, file_slice, plan.visibility)
    ]
    instants = list(dict.fromkeys(block.instant or "" for block in reversed(blocks)))
    if not blocks:
        return []
    handle = AppendHandle(
        GroupTarget(storage, plan, token, file_slice.partition_path, file_slice.file_id),
        compacted=instants,
        below=file_slice if plan.logs_name_slices else None,
    )
    try:
        with add_log_file_to_errors(storage, file_slice.log_paths):
            _write(plan, blocks, handle)
        return handle.close()
    except BaseException:
        handle.abandon()
        raise


def _write(plan: WritePlan, blocks: list[LogBlock], handle: AppendHandle) -> None:
    rule = merge_rule(plan.config, plan.schema, None)
    left = merge_log_entries(read_candidates(blocks, plan.schema.arrow_with_meta, rule), rule)
    for batch in merge_slice([], left, rule):
        handle.keep_rows(batch)
    assert isinstance(left.keys, KeyIndex)  # noqa: S101 - positions are used with a base file only
    for chosen, fields in ((left.deleted & left.resets, ()), (left.deleted & ~left.resets, rule.ordering_fields)):
        numbers = np.flatnonzero(chosen)
        if len(numbers):
            entries = pa.array(left.entry[numbers])
            values = [column.take(entries).combine_chunks() for column in left.ordering] if fields else []
            keys = left.keys.keys_of(numbers).combine_chunks()
            handle.delete(keys, delete_ordering(values, fields) if values else None)
