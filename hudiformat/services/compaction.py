"""Compaction: the log files of file slices are merged into new base files.

It is planned first: what is written after that moment belongs to the next slice, so writers need not wait.
Source: ScheduleCompactionActionExecutor, BaseHoodieCompactionPlanGenerator, HoodieCompactor, Hudi 1.2.0;
spec/services.md.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from hudiformat.basefile.meta_fields import FILE_NAME, add_file_name
from hudiformat.errors import UnsupportedFeatureError
from hudiformat.naming import BaseFileName, LogFileName, WriteToken, next_instant
from hudiformat.options.enums import Operation
from hudiformat.query.slice_reader import SliceReader
from hudiformat.table.listing import partition_files
from hudiformat.table.state import TableContext
from hudiformat.timeline import (
    VERSION_WITH_COMPLETION_TIMES,
    Action,
    CommitMetadata,
    CompactionOperation,
    CompactionPlan,
    Instant,
    State,
    TableType,
    WriteStat,
    create_requested,
    read_compaction_plan,
    transition_inflight,
)
from hudiformat.transaction.begin import Commit, refuse_unwritable
from hudiformat.transaction.files import WriteCounts, base_file_stat, take_files_away
from hudiformat.transaction.metadata_table import prepare_metadata_table
from hudiformat.transaction.plan import WritePlan, groups_in_clustering
from hudiformat.transaction.publishing import exclusive, publish
from hudiformat.transaction.rollback import WRITES
from hudiformat.view import BaseFile, FileSlice, LogFile, build_slices, latest_slices
from hudiformat.write.handles.create import OpenBaseFile

_COMPACT = "COMPACT"
_MIB = 1024 * 1024


def schedule_compaction(context: TableContext) -> Instant | None:
    """Plan to merge the log files that there are; None where there are none.

    File groups that are being compacted or clustered already are left out.  Slices are worth it by
    ``hoodie.compaction.logfile.size.threshold`` and ``hoodie.compaction.logfile.num.threshold``; those with the most
    bytes of logs come first, until ``hoodie.compaction.target.io`` is reached.

    In table version 6 nothing is planned while a write is pending: its log files would belong to the slice that is
    merged, and be lost.

    Raises:
        UnsupportedFeatureError: the table has no log files to merge, being copy-on-write, or cannot be written.
        LockError: another writer keeps the table's lock.

    Source: LogFileSizeBasedCompactionStrategy, BoundedIOCompactionStrategy.
    """
    _refuse(context)
    with exclusive(context):
        writing = any(pending.action in WRITES for pending in context.timeline().pending)
        if writing and context.config.version < VERSION_WITH_COMPLETION_TIMES:
            return None
        operations = tuple(map(compaction_operation, _chosen(context)))
        if not operations:
            return None
        now = next_instant(context.clock(), context.timeline().latest_instant_time)
        plan = CompactionPlan(operations, missing_schedule_partitions=())
        return create_requested(context.storage, context.config, now, Action.COMPACTION, plan)


def compact(context: TableContext) -> list[Commit]:
    """Run the compactions that are planned, or that others left half-way; plan one first where there are none.

    Raises:
        UnsupportedFeatureError: as for :func:`schedule_compaction`.
        LockError: another writer keeps the table's lock.
        CommitError: a compaction could not be completed; it stays planned.
    """
    _refuse(context)
    pending = _pending(context)
    if not pending and schedule_compaction(context) is not None:
        pending = _pending(context)
    return [_run(context, instant) for instant in pending]


def _pending(context: TableContext) -> list[Instant]:
    return [instant for instant in context.timeline().pending if instant.action is Action.COMPACTION]


def _refuse(context: TableContext) -> None:
    if context.config.table_type is TableType.COPY_ON_WRITE:
        raise UnsupportedFeatureError(
            f"{context.storage.root}: a copy-on-write table has no log files that could be compacted",
            feature="compaction of COPY_ON_WRITE tables",
        )
    refuse_unwritable(context)


def _chosen(context: TableContext) -> Iterator[FileSlice]:
    options, visibility = context.options.services, context.visibility()
    busy = groups_in_clustering(context) | groups_in_compaction(context)
    waiting = [
        file_slice
        for path, files in partition_files(context)
        for file_slice in latest_slices(build_slices(path, files, visibility))
        if file_slice.log_files and (path, file_slice.file_id) not in busy
    ]
    left = options.compaction_target_io_mb * _MIB
    for file_slice in sorted(waiting, key=_log_bytes, reverse=True):
        is_worth_it = len(file_slice.log_files) >= options.compaction_log_files
        if is_worth_it and _log_bytes(file_slice) >= options.compaction_log_size:
            left -= 2 * file_slice.size  # read once, and about as much is written
            yield file_slice
            if left <= 0:
                return


def _log_bytes(file_slice: FileSlice) -> int:
    return sum(log.size for log in file_slice.log_files)


def groups_in_compaction(context: TableContext) -> set[tuple[str, str]]:
    """The file groups of pending compactions and log compactions, by partition path and file id."""
    actions = (Action.COMPACTION, Action.LOG_COMPACTION)
    plans = (
        read_compaction_plan(context.storage, context.config, instant)
        for instant in context.timeline().pending
        if instant.action in actions
    )
    return {(one.partition_path or "", one.file_id or "") for plan in plans for one in plan.operations or ()}


def compaction_operation(file_slice: FileSlice) -> CompactionOperation:
    """What a plan says of a slice that is to be merged."""
    base, logs = file_slice.base_file, _log_bytes(file_slice)
    written = base.size if base is not None else logs
    return CompactionOperation(
        base_instant_time=file_slice.base_instant,
        delta_file_paths=tuple(str(log.name) for log in file_slice.log_files),
        data_file_path=None if base is None else str(base.name),
        file_id=file_slice.file_id,
        partition_path=file_slice.partition_path,
        metrics={
            "TOTAL_LOG_FILES": float(len(file_slice.log_files)),
            "TOTAL_LOG_FILES_SIZE": float(logs),
            "TOTAL_IO_READ_MB": float(file_slice.size // _MIB),
            "TOTAL_IO_WRITE_MB": float(written // _MIB),
            "TOTAL_IO_MB": float((file_slice.size + written) // _MIB),
        },
    )


def _run(context: TableContext, instant: Instant) -> Commit:
    storage, config = context.storage, context.config
    plan = read_compaction_plan(storage, config, instant)
    if instant.state is State.INFLIGHT:  # somebody began and was stopped
        take_files_away(storage, config, instant.time)
    else:
        instant = transition_inflight(storage, config, instant)
    writing = WritePlan(
        root=storage.root,
        config=config,
        schema=context.schema(),
        options=context.options,
        operation=Operation.UPSERT,
        instant=instant.time,
        visibility=context.visibility(),
    )
    by_partition: dict[str, list[WriteStat]] = {}
    for number, operation in enumerate(plan.operations or ()):
        stat = _merge(context, writing, operation, WriteToken(number, 0, 0))
        by_partition.setdefault(stat.partition_path or "", []).append(stat)
    metadata = CommitMetadata(
        operation_type=_COMPACT,
        partition_to_write_stats={path: tuple(stats) for path, stats in sorted(by_partition.items())},
        extra_metadata={"schema": writing.schema.avro},
        compacted=True,
    )
    with exclusive(context):
        prepare_metadata_table(context)
        done = publish(storage, config, context.clock, instant, metadata)
    storage.delete(f".hoodie/.temp/{instant.time}")
    return Commit(done.time, done.action.value, metadata.write_stats)


def _merge(context: TableContext, plan: WritePlan, operation: CompactionOperation, token: WriteToken) -> WriteStat:
    """Write the next base file of a file group out of a slice of it."""
    file_slice = slice_of(operation)
    reader = SliceReader(
        plan.config,
        plan.schema,
        plan.visibility,
        merger=context.merger,
        merge_memory=context.options.merge_memory,
    )
    file = OpenBaseFile(context.storage, plan, token, file_slice.partition_path, file_slice.file_id)
    try:
        for batch in reader.scan_stored(context.storage, file_slice):
            bare = pa.Table.from_batches([batch.drop_columns([FILE_NAME])])
            file.write(add_file_name(bare, file.name))
        rows, size = file.rows, file.close()
    except BaseException:
        file.abandon()
        raise
    base = file_slice.base_file
    return base_file_stat(
        partition_path=file_slice.partition_path,
        file_id=file_slice.file_id,
        path=file.path,
        rows=rows,
        size=size,
        counts=WriteCounts(),
        previous=None if base is None else base.name,
    )


def slice_of(operation: CompactionOperation) -> FileSlice:
    """The file slice that a plan says is to be merged."""
    base = operation.data_file_path
    return FileSlice(
        partition_path=operation.partition_path or "",
        file_id=operation.file_id or "",
        base_instant=operation.base_instant_time or "",
        base_file=None if base is None else BaseFile(BaseFileName.parse(base), 0),
        log_files=tuple(LogFile(LogFileName.parse(name), 0) for name in operation.delta_file_paths or ()),
    )
