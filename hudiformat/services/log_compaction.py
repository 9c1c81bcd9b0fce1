"""Log compaction: the blocks of a file slice's log files are merged into one log file; the base file stays as it is.

The new blocks name the instants that they stand for.  Readers take them in their place, so the old log files may stay.
Source: HoodieLogCompactionPlanGenerator, HoodieCompactor.logCompact, FileGroupReaderBasedAppendHandle, Hudi 1.2.0;
spec/services.md.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from hudiformat.blocks import LogBlock
from hudiformat.errors import UnsupportedFeatureError
from hudiformat.logfile import LogReader
from hudiformat.merge import KeyIndex, counting_blocks, merge_slice, read_candidates, survivors
from hudiformat.naming import WriteToken, next_instant
from hudiformat.options.enums import Operation
from hudiformat.services.compaction import compaction_operation, groups_in_compaction, slice_of
from hudiformat.table.listing import partition_files
from hudiformat.table.merging import merge_rule
from hudiformat.table.state import TableContext
from hudiformat.timeline import (
    Action,
    CommitMetadata,
    CompactionOperation,
    CompactionPlan,
    CompactionStrategy,
    Instant,
    State,
    TableType,
    WriteStat,
    create_requested,
    read_compaction_plan,
    remove_pending,
    transition_inflight,
)
from hudiformat.transaction.begin import Commit, refuse_unwritable, write_plan
from hudiformat.transaction.files import delete_markers, take_files_away
from hudiformat.transaction.metadata_table import prepare_metadata_table
from hudiformat.transaction.plan import WritePlan, groups_in_clustering
from hudiformat.transaction.publishing import exclusive, publish
from hudiformat.view import FileSlice, Visibility, build_slices, latest_slices
from hudiformat.write.handles.append import AppendHandle
from hudiformat.write.rows import delete_ordering

_LOG_COMPACT = "LOG_COMPACT"
_STRATEGY = CompactionStrategy("org.apache.hudi.table.action.compact.LogCompactionExecutionHelper", {}, 1)


def log_compact(context: TableContext) -> list[Commit]:
    """Run the log compactions that are planned; plan one first where there are none.

    A file slice is worth it from ``hoodie.log.compaction.blocks.threshold`` blocks on.  What others left half-way is
    taken away, as is a plan that a later compaction has overtaken.

    Raises:
        UnsupportedFeatureError: the table is copy-on-write, has a merger of the user's own, or cannot be written.
        LockError: another writer keeps the table's lock.
        CommitError: a log compaction could not be completed.
    """
    _refuse(context)
    with exclusive(context):
        prepare_metadata_table(context)
        pending = [instant for instant in _pending(context) if not _take_overtaken_away(context, instant)]
        if not pending:
            pending = _planned(context)
    return [_run(context, instant) for instant in pending]


def _refuse(context: TableContext) -> None:
    refused = {
        "log compaction of COPY_ON_WRITE tables": context.config.table_type is TableType.COPY_ON_WRITE,
        "log compaction with a merger of one's own": context.merger is not None,
    }
    for feature, present in refused.items():
        if present:
            raise UnsupportedFeatureError(f"{context.storage.root}: there is no {feature}", feature=feature)
    refuse_unwritable(context)


def _pending(context: TableContext) -> list[Instant]:
    return [instant for instant in context.timeline().pending if instant.action is Action.LOG_COMPACTION]


def _take_overtaken_away(context: TableContext, instant: Instant) -> bool:
    """Take an instant away that was begun, or that a compaction came after: its blocks may be in a base file now."""
    compactions = [
        one.time
        for one in context.timeline().instants
        if one.action is Action.COMPACTION or (one.action is Action.COMMIT and one.is_completed)
    ]
    if instant.state is State.REQUESTED and not any(time > instant.time for time in compactions):
        return False
    take_files_away(context.storage, context.config, instant.time)
    remove_pending(context.storage, context.config, instant)
    return True


def _planned(context: TableContext) -> list[Instant]:
    """A new plan, on the timeline; nothing where no slice is worth it."""
    operations = tuple(map(compaction_operation, _chosen(context)))
    if not operations:
        return []
    now = next_instant(context.clock(), context.timeline().latest_instant_time)
    plan = CompactionPlan(operations, strategy=_STRATEGY, preserve_hoodie_metadata=True, missing_schedule_partitions=())
    return [create_requested(context.storage, context.config, now, Action.LOG_COMPACTION, plan)]


def _chosen(context: TableContext) -> Iterator[FileSlice]:
    busy = groups_in_clustering(context) | groups_in_compaction(context)
    visibility = context.visibility()
    for path, files in partition_files(context):
        for file_slice in latest_slices(build_slices(path, files, visibility)):
            if file_slice.log_files and (path, file_slice.file_id) not in busy:
                blocks = _blocks(context, file_slice, visibility)
                is_partial = any(block.is_partial for block in blocks)  # of those a merge makes no whole rows
                if not is_partial and len(blocks) >= context.options.services.log_compaction_blocks:
                    yield file_slice


def _blocks(context: TableContext, file_slice: FileSlice, visibility: Visibility) -> list[LogBlock]:
    folder = f"{file_slice.partition_path}/" if file_slice.partition_path else ""
    paths = [f"{folder}{log.name}" for log in file_slice.log_files]
    blocks = (block for path in paths for block in LogReader(path, storage=context.storage))
    return counting_blocks(blocks, counts=visibility.counts_block)


def _run(context: TableContext, instant: Instant) -> Commit:
    plan = read_compaction_plan(context.storage, context.config, instant)
    instant = transition_inflight(context.storage, context.config, instant)
    writing = write_plan(context, Operation.UPSERT, context.schema(), instant.time)
    by_partition: dict[str, list[WriteStat]] = {}
    for number, operation in enumerate(plan.operations or ()):
        for stat in _compact(context, writing, operation, WriteToken(number, 0, 0)):
            by_partition.setdefault(stat.partition_path or "", []).append(stat)
    metadata = CommitMetadata(
        operation_type=_LOG_COMPACT,
        partition_to_write_stats={path: tuple(stats) for path, stats in sorted(by_partition.items())},
        extra_metadata={"schema": writing.schema.avro},
    )
    with exclusive(context):
        prepare_metadata_table(context)
        done = publish(context.storage, context.config, context.clock, instant, metadata)
    delete_markers(context.storage, instant.time)
    return Commit(done.time, done.action.value, metadata.write_stats)


def _compact(
    context: TableContext, plan: WritePlan, operation: CompactionOperation, token: WriteToken
) -> list[WriteStat]:
    """Write one log file out of those of a slice; none where all of their blocks have been rolled back."""
    file_slice = slice_of(operation)
    blocks = _blocks(context, file_slice, plan.visibility)
    instants = list(dict.fromkeys(block.instant or "" for block in reversed(blocks)))
    if not blocks:
        return []
    handle = AppendHandle(
        context.storage,
        plan,
        token,
        file_slice.partition_path,
        file_slice.file_id,
        compacted=instants,
        below=file_slice if plan.logs_name_slices else None,
    )
    try:
        _write(plan, blocks, handle)
        return handle.close()
    except BaseException:
        handle.abandon()
        raise


def _write(plan: WritePlan, blocks: list[LogBlock], handle: AppendHandle) -> None:
    rule = merge_rule(plan.config, plan.schema, None)
    left = survivors(read_candidates(blocks, plan.schema.arrow_with_meta, rule), rule)
    for batch in merge_slice([], left, rule):
        handle.keep(batch)
    assert isinstance(left.keys, KeyIndex)  # noqa: S101 - positions are used with a base file only
    for gone, fields in ((left.deleted & left.resets, ()), (left.deleted & ~left.resets, rule.ordering_fields)):
        numbers = np.flatnonzero(gone)
        if len(numbers):
            places = pa.array(left.entry[numbers])
            values = [column.take(places).combine_chunks() for column in left.ordering] if fields else []
            keys = left.keys.texts(numbers).combine_chunks()
            handle.delete(keys, delete_ordering(values, fields) if values else None)
