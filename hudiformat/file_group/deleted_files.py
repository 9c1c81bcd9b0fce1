"""Find files that are missing from a listing, and explain which clean, rollback or restore deleted them.

A query names its files when it is planned.  Before the query reads them, another writer may clean them or roll their
write back.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from hudiformat.codec.log.block import LogBlock
from hudiformat.errors import CorruptTableError, FilesGoneError, HudiFormatError, StorageError, warn
from hudiformat.file_group.damage import DamageMode
from hudiformat.file_group.slices import FileSlice, ListedFiles, Visibility, newest_files
from hudiformat.naming.file_names import (
    BaseFileName,
    LogFileName,
    base_name,
    join_path,
    parse_data_file,
)
from hudiformat.storage.protocol import FileInfo, Storage
from hudiformat.timeline.archive.archiving import read_archived
from hudiformat.timeline.cleans import CleanerPlan, CleanMetadata
from hudiformat.timeline.commit_metadata import CommitMetadata
from hudiformat.timeline.config_files import VERSION_WITH_COMPLETION_TIMES
from hudiformat.timeline.contents import read_content
from hudiformat.timeline.table_config import TableConfig
from hudiformat.timeline.timeline import Action, Instant, State, Timeline, load_timeline


@contextmanager
def explain_missing_files(storage: Storage, config: TableConfig, files: Callable[[], Sequence[str]]) -> Iterator[None]:
    """Raise a FilesGoneError if the body of the ``with`` fails because another writer deleted one of its files.

    *files* returns their paths, relative to the table; it is called after an error.

    Raises:
        FilesGoneError: another writer has deleted one of the files.
        StorageError, CorruptTableError: the original error, for any other reason.
    """
    try:
        yield
    except (StorageError, CorruptTableError) as error:
        reason = describe_deletion(storage, config, [path for path in files() if not storage.exists(path)])
        if reason is None:
            raise
        raise FilesGoneError(f"{storage.root}: {reason}", path=storage.root) from error


def files_of(file_slice: FileSlice) -> list[str]:
    """Return the paths of the files of a slice, relative to the table."""
    return [join_path(file_slice.partition_path, name) for name in file_slice.file_names]


def describe_deletion(storage: Storage, config: TableConfig, missing: Sequence[str]) -> str | None:
    """Return a sentence that says which action deleted one of the *missing* files; None if no action did."""
    if not missing:
        return None
    timeline = load_timeline(storage, config)
    for path in missing:
        for clean, deleted in cleaned_files(storage, config, timeline):
            if path in deleted:
                return _describe_clean(path, clean)
        instant = _instant_of(path)
        if instant is not None and _is_rolled_back_or_pending(timeline, instant):
            return f"{path} is of the write {instant}, which was rolled back: ask again"
        if is_of_any_write(config, path) and not _is_of_commit(storage, config, timeline, base_name(path)):
            return f"{path} was of a write that was given up or rolled back: ask again"
    return None


def refuse_cleaned_groups(storage: Storage, config: TableConfig, partition: str, file_ids: Container[str]) -> None:
    """Raise an error if a clean has deleted one of the file groups *file_ids*, which have no files in *partition*.

    Groups that no clean has deleted are accepted: they may never have had files.

    Raises:
        FilesGoneError: a clean has deleted one of them.
    """
    for clean, deleted in cleaned_files(storage, config, load_timeline(storage, config)):
        for path in sorted(deleted):
            folder, _, name = path.rpartition("/")
            parsed = parse_data_file(name)
            if folder == partition and parsed is not None and parsed.file_id in file_ids:
                raise FilesGoneError(f"{storage.root}: {_describe_clean(path, clean)}", path=storage.root)


def _describe_clean(path: str, clean: Instant) -> str:
    return f"{path} was deleted by the clean {clean.time}: ask again, for a later moment if one was named"


def is_of_any_write(config: TableConfig, path: str) -> bool:
    """Return whether the name of a file does not show which write made it.

    This is true of log files in table version 6: their names have the instant of the slice.  So the file may have been
    made by a write that was pending when the file was listed.
    """
    is_log = isinstance(parse_data_file(base_name(path)), LogFileName)
    return is_log and config.version < VERSION_WITH_COMPLETION_TIMES


def _is_of_commit(storage: Storage, config: TableConfig, timeline: Timeline, name: str) -> bool:
    """Return whether a commit on the timeline has written the file *name*, or appended to it."""
    for done in timeline.completed_writes:
        content = _content(storage, config, done)
        stats = content.write_stats if isinstance(content, CommitMetadata) else ()
        if any(name == base_name(stat.path or "") for stat in stats):
            return True
    return False


def cleaned_files(
    storage: Storage, config: TableConfig, timeline: Timeline
) -> Iterator[tuple[Instant, frozenset[str]]]:
    """Yield each clean, the newest first, with the paths of the files that it has deleted or plans to."""
    for clean in reversed(timeline.instants):
        if clean.action is Action.CLEAN:
            yield clean, _paths(_content(storage, config, clean))
    for one in reversed(read_archived(storage, config)):
        if one.instant.action is Action.CLEAN:
            yield one.instant, _paths(one.metadata)


def _paths(content: object) -> frozenset[str]:
    return frozenset(join_path(path, name) for path, name in _list_deleted(content))


def _content(storage: Storage, config: TableConfig, instant: Instant) -> object:
    """Return the metadata of a completed action or the plan of a pending one; None if it cannot be read.

    The file may have been archived after the timeline was listed.
    """
    shown = instant if instant.is_completed else Instant(instant.time, instant.action, State.REQUESTED)
    try:
        return read_content(storage, config, shown)
    except HudiFormatError:
        return None


def deleted_files(content: object) -> Iterator[tuple[str, BaseFileName | LogFileName]]:
    """Yield the partition path and the name of each data file that a clean has deleted, or plans to delete."""
    for path, name in _list_deleted(content):
        parsed = parse_data_file(name)
        if parsed is not None:
            yield path, parsed


def _list_deleted(content: object) -> Iterator[tuple[str, str]]:
    if isinstance(content, CleanMetadata):
        for path, partition in content.partition_metadata.items():
            yield from ((path, base_name(name)) for name in partition.success_delete_files)
    elif isinstance(content, CleanerPlan):
        for path, files in (content.file_paths_to_be_deleted_per_partition or {}).items():
            yield from ((path, base_name(info.file_path or "")) for info in files)


def _instant_of(path: str) -> str | None:
    name = parse_data_file(base_name(path))
    return None if name is None else name.instant


def _is_rolled_back_or_pending(timeline: Timeline, instant: str) -> bool:
    """Return whether a write is neither completed nor archived."""
    done = {one.time for one in timeline.completed_writes}
    return instant not in done and instant >= (timeline.first_active or "")


class ListedTable(Protocol):
    """What is known of a table at one moment, whose listing is checked: see ``hudiformat.table.state.TableState``."""

    @property
    def storage(self) -> Storage:
        """The storage, whose root is the table's base path."""
        ...

    @property
    def config(self) -> TableConfig:
        """The table's properties."""
        ...

    @property
    def timeline(self) -> Timeline:
        """The active timeline."""
        ...

    @property
    def visibility(self) -> Visibility:
        """The rules that decide which files are visible."""
        ...

    @property
    def logs_name_slices(self) -> bool:
        """Whether a log file's name contains the instant of its slice."""
        ...

    def commits(self, writes: Sequence[Instant]) -> Sequence[CommitMetadata]:
        """Return the contents of commits that can be read."""
        ...


def refuse_incomplete(
    state: ListedTable,
    listed: Iterable[tuple[str, list[FileInfo]]],
    *,
    by_folders: bool,
    asked: Callable[[Sequence[str]], Sequence[str]],
    damage: DamageMode,
    seen: ListedFiles,
) -> Iterator[tuple[str, list[FileInfo]]]:
    """Yield the partitions that were *listed*, with their files, and refuse a listing without files of newest slices.

    Some file systems list only folders that have a marker, others are behind, and a file may be lost: rows of files
    that a listing leaves out would be missing from queries and from what writes look up.  So the commits of the active
    timeline are read for a table that is listed *by_folders*.  With a metadata table, whose own folder is listed, and
    on a storage with the capability ``lists_all`` it is the newest write alone, which is read anyway.

    *asked* returns those of some partition paths that were to be listed.  If another writer has deleted a file since
    *state* was read, that is noted in *seen*.

    Raises:
        StorageError: the listing lacks a file that a commit names; if *damage* is skipped, that is a warning.
    """
    expected = newest_files(state.commits(_writes_to_read(state, by_folders=by_folders)), state.visibility)
    for path, files in listed:
        required = expected.pop(path, None)
        if required is not None and not required <= (names := {file.name for file in files}):
            refuse_missing(state.storage, state.config, path, required - names, damage=damage, seen=seen)
        yield path, files
    for path in asked(sorted(expected)):
        refuse_missing(state.storage, state.config, path, expected[path], damage=damage, seen=seen)


def _writes_to_read(state: ListedTable, *, by_folders: bool) -> Sequence[Instant]:
    """Return the writes whose files are compared with a listing: the newest where it is known to have all files."""
    writes = state.timeline.completed_writes
    return writes if by_folders and not state.storage.capabilities.lists_all else writes[-1:]


def refuse_lost_base_file(
    storage: Storage, config: TableConfig, file_slice: FileSlice, blocks: Iterable[LogBlock], *, damage: DamageMode
) -> None:
    """Refuse a slice without base file whose log *blocks* have record positions in one.

    From table version 8 on, neither names of log files nor their commits have to show that there was a base file.

    Raises:
        StorageError: the base file is lost; with damage skipped, a warning.
    """
    instant = next((found for block in blocks if (found := block.base_instant_of_positions) is not None), None)
    name = None if instant is None else _name_of_base_file(storage, config, file_slice.file_id, instant)
    if name is not None:
        _report_lost(storage, join_path(file_slice.partition_path, name), "base file", "a log file", damage=damage)


def _name_of_base_file(storage: Storage, config: TableConfig, file_id: str, instant: str) -> str | None:
    """Return the name of the base file of a completed write; a pattern if its commit has been archived.

    None if the active timeline has no such write, or another kind of file of it.
    """
    timeline = load_timeline(storage, config)
    if timeline.first_active is None or instant < timeline.first_active:
        return f"{file_id}_*_{instant}"
    for done in timeline.completed_writes:
        content = _content(storage, config, done) if done.time == instant else None
        for stat in content.write_stats if isinstance(content, CommitMetadata) else ():
            name = base_name(stat.path or "")
            if stat.file_id == file_id and isinstance(parse_data_file(name), BaseFileName):
                return name
    return None


def _report_lost(storage: Storage, file: str, kind: str, namer: str, *, damage: DamageMode) -> None:
    named = f"{storage.root}: the {kind} {file}, which {namer} names,"
    if damage is DamageMode.SKIP:
        warn(f"{named} is not there: lost to damage: its rows, or their newest versions")
        return
    raise StorageError(
        f"{named} is not there; hudiformat repair goes back to what is left, hudiformat.damage=skip reads it",
        path=f"{storage.root}/{file}",
    )


def refuse_missing(
    storage: Storage,
    config: TableConfig,
    path: str,
    names: Iterable[str],
    *,
    damage: DamageMode,
    seen: ListedFiles | None = None,
) -> None:
    """Refuse a listing of the partition *path* without *names*, unless other writers have deleted them.

    A clean may have deleted the newest files that the active timeline names if newer commits are archived.

    Raises:
        StorageError: one of the files was not deleted by a clean, a rollback or a restore; with damage skipped, a
            warning.
    """
    timeline = load_timeline(storage, config)
    cleaned = frozenset[str]().union(*(files for _, files in cleaned_files(storage, config, timeline)))
    lost = [file for name in sorted(names) if (file := join_path(path, name)) not in cleaned]
    if seen is not None and len(lost) < len(set(names)):
        seen.note_deletion()
    for file in lost:
        kind = "log file" if base_name(file).startswith(".") else "base file"
        named = f"{storage.root}: the {kind} {file}, which a commit names,"
        if storage.exists(file):
            raise StorageError(
                f"{named} is there, but was not listed: the folder has no .hoodie_partition_metadata, the metadata "
                "table lacks it, or the storage does not list all there is; hudiformat verify tells the first two, "
                "hudiformat store check the last",
                path=f"{storage.root}/{file}",
            )
        if describe_deletion(storage, config, [file]) is not None:
            if seen is not None:
                seen.note_deletion()
        else:
            _report_lost(storage, file, kind, "a commit", damage=damage)
