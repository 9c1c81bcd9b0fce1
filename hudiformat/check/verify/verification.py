"""Find what is wrong with a table: damaged, missing or orphaned files, and instants that never completed.

Nothing is changed.  Rules: spec/services.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from hudiformat.check.verify.finding import TableFinding, TableFindingKind
from hudiformat.check.verify.folder_check import (
    findings_of_leftovers,
    findings_of_orphans,
    findings_of_partitions,
    findings_of_temporaries,
)
from hudiformat.check.verify.key_check import findings_of_keys
from hudiformat.check.verify.label_check import findings_of_labels, findings_of_times
from hudiformat.check.verify.metadata_check import findings_of_metadata_table
from hudiformat.check.verify.timeline_check import findings_of_archive, findings_of_instants, findings_of_properties
from hudiformat.codec.log.verify import scan_findings
from hudiformat.errors import HudiFormatError, NameFormatError, SchemaError, StorageError, UnsupportedFeatureError
from hudiformat.file_group.judged_times import judge_base_file, judge_log_file
from hudiformat.file_group.partitions import list_partitions
from hudiformat.file_group.slices import FileSlice, build_slices, latest_slices
from hudiformat.naming.file_names import BaseFileName, LogFileName, base_name, join_path, stored_name
from hudiformat.progress import Bar, no_bar
from hudiformat.schema.internal_schema import SchemaHistory
from hudiformat.storage.opening import open_storage
from hudiformat.storage.protocol import FileInfo, Storage
from hudiformat.storage.threads import side_by_side
from hudiformat.table.schema_files import schema_history
from hudiformat.table.state import TableContext, TableState
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.timeline.timeline import Instant, instant_path


@dataclass(frozen=True, slots=True)
class _Named:
    """A data file with its name in its partition."""

    name: BaseFileName | LogFileName
    path: str


def verify_table(
    context: TableContext, *, contents: bool = True, keys: bool = False, labels: bool = False, bar: Bar = no_bar
) -> Iterator[TableFinding]:
    """Yield what is wrong with a table: findings about its timeline first, then about one partition after the other.

    With *contents* the rows of the newest slices are read, in bounded memory; without, no data file is opened.  With
    *keys*, keys that are in two file groups of a partition are found, too, with one partition in memory at a time.
    With *labels*, base files are found that label times otherwise than the table, which Hudi's readers correct.  *bar*
    shows how many bytes of the newest slices have been read.

    Raises:
        StorageError: a folder cannot be listed.
        UnsupportedFeatureError: with *keys*, the table has no meta fields.
    """
    yield from findings_of_properties(context.storage)
    yield from verify_state(context.state(), contents=contents, keys=keys, labels=labels, bar=bar)


def verify_state(
    state: TableState, *, contents: bool = True, keys: bool = False, labels: bool = False, bar: Bar = no_bar
) -> Iterator[TableFinding]:
    """Yield findings about one state of a table, as :func:`verify_table` does, except those about its properties.

    If the file of a completed write cannot be read, or from table version 8 on a file of the archived timeline, it is
    not known which files belong to the table, and only the timeline is checked.
    """
    unknown = False
    for finding in findings_of_instants(state):
        unknown |= finding.kind is TableFindingKind.DAMAGED and _is_of_write(state, finding)
        yield finding
    for finding in findings_of_archive(state.storage, state.config, contents=contents):
        unknown |= not state.logs_name_slices  # the archived timeline is needed to find the slice of a log file
        yield finding
    if unknown:
        return
    yield from findings_of_partitions(state)
    yield from _of_files(state, contents=contents, bar=bar)
    yield from findings_of_temporaries(state.storage)
    yield from findings_of_leftovers(state)
    yield from findings_of_metadata_table(state, contents=contents)
    if labels:
        yield from findings_of_labels(state)
    if keys:
        yield from findings_of_keys(state)


def _of_files(state: TableState, *, contents: bool, bar: Bar) -> Iterator[TableFinding]:
    """Yield findings about data files that are orphaned, missing or, with *contents*, damaged."""
    named, changes = _named_by_commits(state)
    newest: list[FileSlice] = []
    for partition, listed in list_partitions(state.storage, incomplete=True):
        entries = [*listed, *_registered(listed, named.get(partition, {}))]
        files = [found for entry in entries if (found := _parse_name(partition, entry.name))]
        yield from findings_of_orphans(state.timeline, [(file.path, file.name.instant) for file in files])
        slices = latest_slices(build_slices(partition, entries, state.visibility))
        yield from _missing_files(slices, files, named.pop(partition, {}))
        yield from _missing_changes(files, changes.get(partition, {}))
        newest += slices if contents else ()
    yield from _of_slices(state, newest, bar)
    for paths in named.values():  # partitions that no longer exist
        for path, instant in paths.items():
            yield TableFinding(TableFindingKind.MISSING, path, "its partition is not there", (instant,))


def _of_slices(state: TableState, slices: Sequence[FileSlice], bar: Bar) -> Iterator[TableFinding]:
    """Yield findings about the files of *slices*; with an executor, tasks look for them."""
    if not slices:
        return
    context, schema, history = state.context, stored_schema(state), schema_history(state)
    look: Callable[[FileSlice], Iterable[TableFinding]] = partial(_findings, state.storage, schema, history)
    if context.executor is not None:
        look = partial(findings_of_slice, state.storage.root, schema, history)
    done = 0
    with bar(sum(one.size for one in slices)) as show:
        for one, findings in zip(slices, context.each(look, slices, name=f"verify {state.config.name}"), strict=True):
            yield from findings
            show(done := done + one.size)


def _is_of_write(state: TableState, finding: TableFinding) -> bool:
    """Return whether a finding is about the file of a completed write."""
    return any(finding.path == instant_path(state.config, one) for one in state.timeline.completed_writes)


def stored_schema(state: TableState) -> pa.Schema:
    """Return the columns of the table's files, including meta fields."""
    return state.schema.arrow_with_meta if state.config.populate_meta_fields else state.schema.arrow


def _registered(listed: Sequence[FileInfo], named: Mapping[str, str]) -> Iterator[FileInfo]:
    """Yield the files of others among *listed*, by the names under which commits have registered them."""
    there = {file.name: file for file in listed}
    for name in map(base_name, named):
        stored = there.get(stored_name(name))
        if stored is not None and stored.name != name:
            yield replace(stored, name=name)


def _missing_files(
    slices: Sequence[FileSlice], files: Sequence[_Named], named: Mapping[str, str]
) -> Iterator[TableFinding]:
    """Yield the *named* files of a partition, with their instants, that are not among its *files*."""
    newest = {item.file_id: item.base_instant for item in slices}
    there = {file.path for file in files}
    for path, instant in named.items():
        file = _parse_name("", base_name(path))
        if file is not None and path not in there and instant >= newest.get(file.name.file_id, ""):
            yield TableFinding(TableFindingKind.MISSING, path, "a commit names it, and it is not there", (instant,))


def _missing_changes(files: Sequence[_Named], named: Mapping[str, str]) -> Iterator[TableFinding]:
    """Yield the change logs that do not exist although their base files do.

    A clean deletes a change log together with its base file.  *named* has the base file of each change log.
    """
    there = {file.path for file in files}
    for path, base in named.items():
        file = _parse_name("", base_name(path))
        if base in there and path not in there and file is not None:
            message = "a commit names it, and it is not there: change queries over the commit fail"
            yield TableFinding(TableFindingKind.MISSING, path, message, (file.name.instant,))


def _named_by_commits(state: TableState) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]]:
    """Return the files and the change logs of each partition that completed writes of the active timeline name.

    A file has the instant of the newest write that names it, a change log has its base file.  Files of file groups that
    were replaced since are left out.
    """
    found: dict[str, dict[str, str]] = defaultdict(dict)
    changes: dict[str, dict[str, str]] = defaultdict(dict)
    replaced = state.visibility.replaced
    writes = state.timeline.completed_writes
    for write, stats in zip(writes, side_by_side(state.storage, partial(_stats, state), writes), strict=True):
        for stat in stats:
            partition, file_id = stat.partition_path or "", stat.file_id or ""
            if stat.path is not None and (partition, file_id) not in replaced:
                found[partition][stat.path] = write.time
                changes[partition] |= dict.fromkeys(stat.cdc_stats or (), stat.path)
    return found, changes


def _stats(state: TableState, write: Instant) -> Sequence[WriteStat]:
    try:
        return state.metadata(write).write_stats
    except HudiFormatError:
        return ()  # the timeline's findings report it


def findings_of_slice(
    root: str, schema: pa.Schema, history: SchemaHistory | None, file_slice: FileSlice
) -> list[TableFinding]:
    """Return findings about the files of a slice; this runs in a task."""
    return _findings(open_storage(root), schema, history, file_slice)


def _findings(
    storage: Storage, schema: pa.Schema, history: SchemaHistory | None, file_slice: FileSlice
) -> list[TableFinding]:
    return list(_of_slice(storage, schema, history, file_slice))


def _of_slice(
    storage: Storage, schema: pa.Schema, history: SchemaHistory | None, file_slice: FileSlice
) -> Iterator[TableFinding]:
    if file_slice.base_file is not None:
        path = file_slice.base_path
        try:
            yield from findings_of_times(path, judge_base_file(storage, path, schema, history=history))
        except UnsupportedFeatureError:
            pass  # as in log files: what is not supported is not damaged
        except HudiFormatError as error:
            kind = TableFindingKind.SCHEMA if isinstance(error, SchemaError) else TableFindingKind.DAMAGED
            if not _was_deleted(storage, path):
                yield TableFinding(kind, path, str(error), (file_slice.base_file.name.instant,))
    for log in file_slice.log_files:
        path = join_path(file_slice.partition_path, str(log.name))
        try:
            findings = list(scan_findings(path, storage=storage))
        except StorageError:
            if not _was_deleted(storage, path):
                raise
            continue
        for finding in findings:
            place = f"{finding.kind.value} of {finding.length} bytes at byte {finding.offset}"
            message = f"{place}: {finding.fault}"
            yield TableFinding(TableFindingKind.DAMAGED, path, message, finding.instants or (log.name.instant,))
        if not findings:
            with suppress(HudiFormatError):  # a whole block that does not fit the table
                yield from findings_of_times(path, judge_log_file(storage, path, schema, history=history))


def _was_deleted(storage: Storage, path: str) -> bool:
    """Return whether another writer deleted a file since it was listed, by a clean or because it gave up its write."""
    return not storage.exists(path)


def _parse_name(partition: str, name: str) -> _Named | None:
    try:
        parsed = LogFileName.parse(name) if name.startswith(".") else BaseFileName.parse(name)
    except NameFormatError:
        return None  # not Hudi's, or no data
    return _Named(parsed, join_path(partition, name))
