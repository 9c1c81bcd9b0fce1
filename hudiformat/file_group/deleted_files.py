"""Explain why files of a slice are missing: which clean, rollback or restore deleted them.

A query names its files when it is planned.  Before the query reads them, another writer may clean them or roll their
write back.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager

from hudiformat.errors import CorruptTableError, FilesGoneError, HudiFormatError, StorageError
from hudiformat.file_group.slices import FileSlice
from hudiformat.naming.file_names import (
    BaseFileName,
    LogFileName,
    base_name,
    join_path,
    parse_data_file,
)
from hudiformat.storage.protocol import Storage
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
