"""Rebuild the content of a completed instant whose file is empty or damaged, from the data files of the instant.

The name of its file alone makes a commit visible, so its rows are not lost.  But writers and services need its content.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pyarrow as pa

from hudiformat.codec.log.frame import BlockType
from hudiformat.codec.log.reader import LogReader
from hudiformat.errors import HudiFormatError
from hudiformat.file_group.base_file.footers import read_footer
from hudiformat.file_group.partitions import list_partitions
from hudiformat.file_group.slices import build_slices, latest_slices
from hudiformat.naming.file_names import BaseFileName, LogFileName, join_path, parse_data_file
from hudiformat.schema.internal_schema import LATEST_SCHEMA
from hudiformat.schema.table_schema import TableSchema
from hudiformat.storage.protocol import FileInfo
from hudiformat.table.file_schemas import schema_in_file
from hudiformat.table.options.values import Operation
from hudiformat.table.state import TableState
from hudiformat.timeline.commit_metadata import CommitMetadata, WriteStat
from hudiformat.timeline.plans import RequestedReplaceMetadata
from hudiformat.timeline.rollbacks import SavepointMetadata, SavepointPartitionMetadata
from hudiformat.timeline.timeline import Action, Instant, State, list_instants
from hudiformat.write.commit.files import log_instants

_UNKNOWN_WRITE = Operation.UPSERT.value
_SERVICES = {Action.COMPACTION: "COMPACT", Action.LOG_COMPACTION: "LOG_COMPACT"}


_MERGING = tuple(_SERVICES.values())
"""The operations whose commits Hudi up to 0.15 marks as compacted; newer releases mark only the first."""


def rebuild_commit(state: TableState, instant: Instant) -> CommitMetadata | None:
    """Rebuild the content of a completed write from its files; return None if the replaced file groups are not known.

    The contents of damaged instants of *state* are not read.

    Raises:
        HudiFormatError: a file of the write cannot be read.
    """
    begun = _begun_states(state, instant)
    operation = _operation(state, instant, begun)
    listed = dict(list_partitions(state.storage, incomplete=True))
    stats = {path: tuple(_stats(state, instant, path, files)) for path, files in listed.items()}
    stats = {path: found for path, found in stats.items() if found}
    replaced: Mapping[str, tuple[str, ...]] | None = None
    if instant.action is Action.REPLACE_COMMIT:
        replaced = _replaced_groups(state, instant, operation, listed, stats)
        if replaced is None:
            return None
    return CommitMetadata(
        operation_type=operation,
        partition_to_write_stats=stats,
        extra_metadata=_schemas(state, instant, stats),
        compacted=operation in _MERGING[: 2 if state.logs_name_slices else 1],
        partition_to_replace_file_ids=replaced,
    )


def _begun_states(state: TableState, instant: Instant) -> list[Instant]:
    """Return the requested and inflight states of a completed instant for which a file exists."""
    every = list_instants(state.storage, state.config.timeline_folder, layout=state.config.layout_version)
    return [one for one in every if one.time == instant.time and not one.is_completed]


def _operation(state: TableState, instant: Instant, begun: list[Instant]) -> str:
    for one in begun:
        if one.action in _SERVICES:
            return _SERVICES[one.action]
        if one.action is Action.CLUSTERING:
            return "CLUSTER"
    for one in begun:
        try:
            content = state.content(one)
        except HudiFormatError:
            continue
        if isinstance(content, RequestedReplaceMetadata) and content.clustering_plan is not None:
            return "CLUSTER"
        if isinstance(content, CommitMetadata) and content.operation_type not in (None, "UNKNOWN"):
            return str(content.operation_type)
    return "UNKNOWN" if instant.action is Action.REPLACE_COMMIT else _UNKNOWN_WRITE


def _stats(state: TableState, instant: Instant, path: str, files: list[FileInfo]) -> Iterator[WriteStat]:
    """Yield the statistics of each file that the instant has written to a partition."""
    named = [(file, name) for file in files if (name := parse_data_file(file.name)) is not None]
    bases = [name for _, name in named if isinstance(name, BaseFileName) and name.instant < instant.time]
    for file, name in named:
        earlier = [base for base in bases if base.file_id == name.file_id]
        before = max(earlier, key=lambda base: base.instant, default=None)
        plain = WriteStat(
            file_id=name.file_id,
            path=join_path(path, file.name),
            prev_commit="null" if before is None else before.instant,
            partition_path=path,
            total_write_bytes=file.size,
            file_size_in_bytes=file.size,
        )
        if isinstance(name, BaseFileName):
            if name.instant == instant.time:
                yield _of_base(state, plain, before)
        elif _has_blocks(state, plain.path or "", name, instant.time):
            yield _of_log(state, plain, name, before, instant.time)


def _has_blocks(state: TableState, path: str, name: LogFileName, time: str) -> bool:
    if not state.logs_name_slices:
        return name.instant == time and not name.is_cdc
    return name.instant <= time and not name.is_cdc and time in log_instants(state.storage, path)


def _of_base(state: TableState, plain: WriteStat, before: BaseFileName | None) -> WriteStat:
    rows = read_footer(state.storage, plain.path or "", pa.schema([]), []).rows
    return replace(
        plain,
        prev_base_file=None if before is None else str(before),
        num_writes=rows,
        num_inserts=rows if before is None else 0,
        num_update_writes=0 if before is None else rows,
    )


def _of_log(
    state: TableState, plain: WriteStat, name: LogFileName, before: BaseFileName | None, time: str
) -> WriteStat:
    written = deleted = 0
    for block in LogReader(plain.path or "", storage=state.storage):
        if block.instant == time and block.type is BlockType.DELETE:
            deleted += block.deletes().num_rows
        elif block.instant == time and block.type.name.endswith("_DATA"):
            written += block.to_arrow().num_rows
    of_slice = name.instant if state.logs_name_slices else time
    return replace(
        plain,
        prev_commit=of_slice if before is None else before.instant,
        num_writes=written,
        num_update_writes=written,
        num_deletes=deleted,
        log_version=name.version,
        log_offset=0,
        base_file="" if before is None else str(before),
        log_files=(str(name),),
    )


def _replaced_groups(
    state: TableState,
    instant: Instant,
    operation: str,
    listed: Mapping[str, list[FileInfo]],
    stats: Mapping[str, tuple[WriteStat, ...]],
) -> Mapping[str, tuple[str, ...]] | None:
    """Return the file groups that a replace commit has removed from the table; None if they are not known."""
    planned = [group for one in _begun_states(state, instant) for group in _planned_groups(state, one)]
    if planned:
        found: dict[str, tuple[str, ...]] = {}
        for path, file_id in planned:
            found[path] = (*found.get(path, ()), file_id)
        return found
    if operation not in (Operation.INSERT_OVERWRITE.value, Operation.INSERT_OVERWRITE_TABLE.value):
        return None
    paths = stats if operation == Operation.INSERT_OVERWRITE.value else listed
    groups = {path: _groups_before(instant.time, listed[path]) for path in paths}
    return {path: ids for path, ids in groups.items() if ids}


def _groups_before(time: str, files: list[FileInfo]) -> tuple[str, ...]:
    names = [name for file in files if (name := parse_data_file(file.name)) is not None]
    return tuple(sorted({name.file_id for name in names if name.instant < time}))


def _planned_groups(state: TableState, begun: Instant) -> Iterator[tuple[str, str]]:
    """Yield the file groups that the plan of a clustering names."""
    try:
        content = state.content(begun) if begun.state is State.REQUESTED else None
    except HudiFormatError:
        return
    plan = content.clustering_plan if isinstance(content, RequestedReplaceMetadata) else None
    for group in (plan.input_groups or ()) if plan is not None else ():
        for one in group.slices or ():
            yield one.partition_path or "", one.file_id or ""


def _schemas(state: TableState, instant: Instant, stats: Mapping[str, tuple[WriteStat, ...]]) -> dict[str, str]:
    """Return the schema of the files, or else of the commit before, and its internal schema if both are equal."""
    name, storage = state.config.name, state.storage
    paths = (stat.path or "" for found in stats.values() for stat in found)
    own = next(filter(None, (schema_in_file(storage, path, table_name=name) for path in paths)), None)
    for done in reversed(state.timeline.completed_writes):
        other = None if done.time >= instant.time else _read_if_sound(state, done)
        if other is None or other.schema is None:
            continue
        if own is None or own.is_like(TableSchema.of_commit(other.schema)):
            return {key: other.extra_metadata[key] for key in ("schema", LATEST_SCHEMA) if key in other.extra_metadata}
        break
    return {} if own is None else {"schema": own.avro}


def _read_if_sound(state: TableState, done: Instant) -> CommitMetadata | None:
    try:
        return state.metadata(done)
    except HudiFormatError:
        return None


def rebuild_savepoint(state: TableState, instant: Instant) -> SavepointMetadata:
    """Rebuild the content of a savepoint: the files of the newest slices as of its commit."""
    partitions = {}
    for path, files in list_partitions(state.storage):
        slices = latest_slices(build_slices(path, files, state.visibility, as_of=instant.time))
        names = [str(one.base_file.name) for one in slices if one.base_file is not None]
        names += [str(log.name) for one in slices for log in one.log_files]
        partitions[path] = SavepointPartitionMetadata(path, tuple(names))
    return SavepointMetadata("", 0, "made again by a repair", partitions)
