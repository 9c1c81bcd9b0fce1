"""What is wrong with a table: files that are damaged, missing or orphaned, and instants that never completed.

Nothing is changed.  Rules: spec/services.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial

import pyarrow as pa

from hudiformat.errors import HudiFormatError, NameFormatError, without_offset
from hudiformat.logfile import findings_of
from hudiformat.naming import BaseFileName, LogFileName, base_name, join_path
from hudiformat.query import old_spill_folders, scan_batches
from hudiformat.services import OLD, is_old, temporary_files
from hudiformat.storage import Storage, open_storage
from hudiformat.table import SchemaHistory, TableContext, TableState, schema_history
from hudiformat.timeline import Instant, Timeline, WriteStat, instant_path
from hudiformat.view import FileSlice, build_slices, latest_slices, list_partitions


class TableFindingKind(Enum):
    """What can be wrong with a part of a table.

    Source: spec/services.md, "Verifying".
    """

    UNCOMMITTED = "uncommitted"
    """An instant that was requested or begun and is not complete: its writer is at work, or died.  Readers skip it."""
    ORPHAN = "orphan"
    """A data file whose instant is nowhere: what a writer made after it had been rolled back.  Readers skip it.

    Or a temporary file, or a spill folder on this machine, of a process that was killed."""
    MISSING = "missing"
    """A file of the newest slice of its group that a commit names and that is not there: its rows are lost."""
    DAMAGED = "damaged"
    """A file that cannot be read, as a whole or in a part."""


@dataclass(frozen=True, slots=True)
class TableFinding:
    """One thing that is wrong with a table; ``path`` is below the table, ``instants`` are those that it concerns.

    Source: spec/services.md, "Verifying".
    """

    kind: TableFindingKind
    path: str
    message: str
    instants: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Named:
    """A data file, by the name that it has in its partition."""

    name: BaseFileName | LogFileName
    path: str


def verify_table(context: TableContext, *, contents: bool = True) -> Iterator[TableFinding]:
    """What is wrong with a table: its timeline first, then its partitions, one after the other.

    With *contents* the rows of the newest slices are read, in bounded memory; without, no data file is opened.

    Raises:
        StorageError: a folder cannot be listed.
    """
    state = context.state()
    yield from _of_timeline(state)
    named = _named_by_commits(state)
    for_tasks: list[FileSlice] = []
    for partition, entries in list_partitions(state.storage):
        files = [found for entry in entries if (found := _parsed(partition, entry.name))]
        yield from _orphans(state.timeline, files)
        slices = latest_slices(build_slices(partition, entries, state.visibility))
        yield from _missing(slices, files, named.pop(partition, {}))
        if contents and context.run_each is None:
            for item in slices:
                yield from _of_slice(state.storage, state.schema.arrow, schema_history(state), item)
        elif contents:
            for_tasks += slices
    if for_tasks:
        look = partial(findings_of_slice, state.storage.root, state.schema.arrow, schema_history(state))
        for findings in context.each(look, for_tasks):
            yield from findings
    yield from _leftovers(state.storage)
    for paths in named.values():  # of partitions that are not there at all
        for path, instant in paths.items():
            yield TableFinding(TableFindingKind.MISSING, path, "its partition is not there", (instant,))


def _missing(slices: Sequence[FileSlice], files: Sequence[_Named], named: Mapping[str, str]) -> Iterator[TableFinding]:
    """The files of a partition that commits have *named*, each with its instant, and that are not among its *files*."""
    newest = {item.file_id: item.base_instant for item in slices}
    there = {file.path for file in files}
    for path, instant in named.items():
        file = _parsed("", base_name(path))
        if file is not None and path not in there and instant >= newest.get(file.name.file_id, ""):
            yield TableFinding(TableFindingKind.MISSING, path, "a commit names it, and it is not there", (instant,))


def _leftovers(storage: Storage) -> Iterator[TableFinding]:
    for path, file in temporary_files(storage):
        if is_old(file):
            message = "a temporary file of a process that was killed; a clean deletes it"
            yield TableFinding(TableFindingKind.ORPHAN, path, message)
    for folder in old_spill_folders(seconds=OLD):
        message = "a spill folder of a process that was killed, on this machine; a clean deletes it"
        yield TableFinding(TableFindingKind.ORPHAN, str(folder), message)


def _of_timeline(state: TableState) -> Iterator[TableFinding]:
    for instant in state.timeline.instants:
        path = instant_path(state.config, instant)
        if not instant.is_completed:
            yield TableFinding(TableFindingKind.UNCOMMITTED, path, str(instant), (instant.time,))
        try:
            state.content(instant)
        except HudiFormatError as error:
            yield TableFinding(TableFindingKind.DAMAGED, path, str(error), (instant.time,))


def _named_by_commits(state: TableState) -> dict[str, dict[str, str]]:
    """For each partition the files that completed writes of the active timeline have made, and the newest's instant.

    Those of file groups that were replaced since are left out.
    """
    found: dict[str, dict[str, str]] = defaultdict(dict)
    replaced = state.visibility.replaced
    for write in state.timeline.completed_writes:
        for stat in _stats(state, write):
            partition, file_id = stat.partition_path or "", stat.file_id or ""
            if stat.path is not None and (partition, file_id) not in replaced:
                found[partition][stat.path] = write.time
    return found


def _stats(state: TableState, write: Instant) -> Iterator[WriteStat]:
    try:
        yield from state.metadata(write).write_stats
    except HudiFormatError:
        return  # the timeline's findings report it


def _orphans(timeline: Timeline, files: list[_Named]) -> Iterator[TableFinding]:
    known = {instant.time for instant in timeline.instants}
    first = timeline.first_active or ""
    for file in files:
        instant = file.name.instant
        if instant not in known and instant >= first:
            message = "its instant is not on the timeline"
            yield TableFinding(TableFindingKind.ORPHAN, file.path, message, (instant,))


def findings_of_slice(
    root: str, schema: pa.Schema, history: SchemaHistory | None, file_slice: FileSlice
) -> list[TableFinding]:
    """What is wrong with the files of a slice; in a task."""
    return list(_of_slice(open_storage(root), schema, history, file_slice))


def _of_slice(
    storage: Storage, schema: pa.Schema, history: SchemaHistory | None, file_slice: FileSlice
) -> Iterator[TableFinding]:
    if file_slice.base_file is not None:
        path = join_path(file_slice.partition_path, str(file_slice.base_file.name))
        try:
            for _ in scan_batches(storage, path, schema, history=history):
                pass
        except HudiFormatError as error:
            yield TableFinding(TableFindingKind.DAMAGED, path, str(error), (file_slice.base_file.name.instant,))
    for log in file_slice.log_files:
        path = join_path(file_slice.partition_path, str(log.name))
        for finding in findings_of(path, storage=storage):
            place = f"{finding.kind.value} of {finding.length} bytes at byte {finding.offset}"
            message = f"{place}: {without_offset(finding.message)}"
            yield TableFinding(TableFindingKind.DAMAGED, path, message, finding.instants or (log.name.instant,))


def _parsed(partition: str, name: str) -> _Named | None:
    try:
        parsed = LogFileName.parse(name) if name.startswith(".") else BaseFileName.parse(name)
    except NameFormatError:
        return None  # not Hudi's, or no data
    return _Named(parsed, join_path(partition, name))
