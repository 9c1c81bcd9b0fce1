"""The files of a write: their markers, their statistics, and deleting them again.

A marker is an empty file for a data file that an instant is about to make.  From the markers, a process that finds an
incomplete write, Hudi included, knows which files to delete.  A commit finds from them the files of failed attempts of
tasks.  Statistics are recorded in the commit metadata as Hudi's writers record them.

Source: DirectWriteMarkers, WriteMarkers; HoodieAppendHandle.updateWriteStatus, HoodieCreateHandle.setupWriteStatus,
HoodieWriteMergeHandle.close.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from hudiformat.codec.log.reader import LogReader
from hudiformat.codec.log.writer import AppendResult, LogWriter
from hudiformat.errors import StorageError, WriteConflictError
from hudiformat.file_group.base_file.indexed import FileIndexer
from hudiformat.file_group.partitions import list_partitions
from hudiformat.file_group.slices import FileSlice, LogFile
from hudiformat.naming.file_names import BaseFileName, LogFileName, WriteToken, base_name, join_path, parse_data_file
from hudiformat.naming.instants import is_instant
from hudiformat.storage.closing import CompleteFiles, close_synced
from hudiformat.storage.protocol import OutputFile, Storage
from hudiformat.timeline.commit_metadata import (
    CommitMetadata,
    WriteStat,
    decode_commit_metadata,
    encode_commit_metadata,
)
from hudiformat.timeline.config_files import MARKER_FOLDER, META_FOLDER, VERSION_WITH_COMPLETION_TIMES
from hudiformat.timeline.indexed_file import IndexedFile
from hudiformat.timeline.table_config import TableConfig
from hudiformat.timeline.timeline import load_timeline
from hudiformat.write.commit.partitions import leave_partition
from hudiformat.write.commit.plan import WritePlan

RINGS_FOLDER = f"{META_FOLDER}/.bucket_index/consistent_hashing_metadata"
"""Where the buckets of each partition are, with consistent hashing."""

_CREATE = ".marker.CREATE"
_APPEND = ".marker.APPEND"


def create_marker(storage: Storage, instant: str, path: str, *, appends: bool = False) -> None:
    """Leave a marker for the data file *path*, which is about to be made.

    It *appends* to a file group where *path* is a log file of table version 6, though the file is new: Hudi takes no
    other marker for one there, and from version 8 on none of that kind.
    """
    marker = f"{MARKER_FOLDER}/{instant}/{path}{_APPEND if appends else _CREATE}"
    try:
        storage.open_new(marker).close()
    except StorageError:
        if not storage.exists(marker):  # otherwise an earlier attempt has left it
            raise


def marked_files(storage: Storage, instant: str) -> Iterator[str]:
    """The data files that *instant* was about to make, as paths below the table."""
    root = f"{MARKER_FOLDER}/{instant}"
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        for entry in storage.list(f"{root}/{folder}" if folder else root):
            path = join_path(folder, entry.name)
            if entry.is_dir:
                waiting.append(path)
            elif entry.name.endswith((_CREATE, _APPEND)):
                yield path.removesuffix(_CREATE).removesuffix(_APPEND)


def marked_instants(storage: Storage) -> list[str]:
    """The instants that have markers, committed ones whose markers stayed behind among them."""
    return [entry.name for entry in storage.list(MARKER_FOLDER) if entry.is_dir and is_instant(entry.name)]


def delete_markers(storage: Storage, instant: str) -> None:
    """Delete the markers of *instant*."""
    storage.delete_folder(f"{MARKER_FOLDER}/{instant}")


def delete_files(storage: Storage, config: TableConfig, instant: str) -> None:
    """Delete the files of an instant, the partitions that it had just made, and its markers."""
    # Markers alone do not do: Hudi's may have been kept by its timeline server, and a partition is made before them.
    _delete_own(storage, config, instant, {*marked_files(storage, instant), *files_of(storage, instant)})
    delete_torn_logs(storage, config, instant)
    delete_traces(storage, instant)


def delete_torn_logs(storage: Storage, config: TableConfig, instant: str) -> None:
    """Delete the log files that *instant* was about to make and that have no whole block, which would say whose it is.

    Below table version 8 nothing else tells them from those of other writes.
    """
    if config.version < VERSION_WITH_COMPLETION_TIMES:
        for path in marked_files(storage, instant):
            is_log = isinstance(parse_data_file(base_name(path)), LogFileName)
            if is_log and storage.exists(path) and not log_instants(storage, path):
                storage.delete(path)


def delete_strays(storage: Storage, config: TableConfig, instant: str, stats: Iterable[WriteStat]) -> None:
    """Delete the files that *instant* was about to make and that its statistics do not name."""
    kept = named_files(stats)
    _delete_own(storage, config, instant, {path for path in marked_files(storage, instant) if path not in kept})


def check_awaited(storage: Storage, config: TableConfig, instant: str, stats: Sequence[WriteStat]) -> None:
    """Delete the files of a task whose write does not wait for it any more: it was committed without them or given up.

    Its instant tells, which is pending until it is over, and its markers, which are deleted last.  Markers alone do
    not, as the task may have made one of its own since.  A write that is over lists its files once more after that, so
    a file that is made in between is found by one of the two.

    Raises:
        WriteConflictError: the write is over.
    """
    if not stats:
        return
    timeline = load_timeline(storage, config)
    if instant in {one.time for one in timeline.pending} and storage.list(f"{MARKER_FOLDER}/{instant}"):
        return
    _delete_own(storage, config, instant, {path for path in named_files(stats) if path is not None})
    if instant in {one.time for one in timeline.completed}:
        delete_markers(storage, instant)  # the commit has deleted those that there were
    raise WriteConflictError(
        f"{storage.root}: expected the write of the instant {instant} to wait for this task, found it over; the task's "
        "files are deleted, and nothing of them has been committed"
    )


def delete_traces(storage: Storage, instant: str) -> None:
    """Delete the partitions that an instant has just made, whose files are deleted, and its markers."""
    for folder, _ in list(list_partitions(storage)):
        leave_partition(storage, folder, instant)
    _delete_rings(storage, instant, RINGS_FOLDER)
    delete_markers(storage, instant)


def _delete_rings(storage: Storage, instant: str, folder: str) -> None:
    """Delete what a clustering has made of the buckets of partitions."""
    for entry in storage.list(folder):
        path = join_path(folder, entry.name)
        if entry.is_dir:
            _delete_rings(storage, instant, path)
        elif entry.name.startswith(f"{instant}."):
            storage.delete(path)


def named_files(stats: Iterable[WriteStat]) -> set[str | None]:
    """The paths of the data files that *stats* name, change logs among them."""
    return {path for stat in stats for path in (stat.path, *(stat.cdc_stats or ()))}


def files_of(storage: Storage, instant: str) -> Iterator[str]:
    """The paths of the files that have *instant* in their names, of all folders."""
    for folder, entries in list_partitions(storage, incomplete=True):
        for entry in entries:
            parsed = parse_data_file(entry.name)
            if parsed is not None and parsed.instant == instant:
                yield join_path(folder, entry.name)


def _delete_own(storage: Storage, config: TableConfig, instant: str, paths: Iterable[str]) -> None:
    for path in paths:
        if _is_of(storage, config, path, instant):
            storage.delete(path)


def _is_of(storage: Storage, config: TableConfig, path: str, instant: str) -> bool:
    """Whether a file with *instant*'s marker or name is its own; below table version 8 the blocks of logs decide."""
    name = parse_data_file(base_name(path))
    if name is None or path.startswith(f"{META_FOLDER}/"):
        return False  # a marker can have any name
    if config.version >= VERSION_WITH_COMPLETION_TIMES or not isinstance(name, LogFileName):
        return name.instant == instant
    return storage.exists(path) and log_instants(storage, path) == {instant}


def log_instants(storage: Storage, path: str) -> set[str]:
    """The instants of the blocks of a log file; none where its writer gave up, and deleted it, since it was listed."""
    try:
        with LogReader(path, storage=storage) as reader:
            return {block.instant for block in reader if block.instant is not None}
    except StorageError:
        if storage.exists(path):
            raise
        return set()


@dataclass(frozen=True, slots=True)
class GroupTarget:
    """The file group *file_id* of a partition, as one task of a write writes it."""

    storage: Storage
    plan: WritePlan
    token: WriteToken
    partition_path: str
    file_id: str = ""
    complete: CompleteFiles | None = None
    """Takes over the files of the group that are complete; without it they are synced one by one."""
    threads: int = 1
    """How many threads may write a file: with several, rows are written while the next are merged."""

    def of_group(self, file_id: str) -> GroupTarget:
        """The same for another file group of the partition."""
        return replace(self, file_id=file_id)

    def path(self, name: str) -> str:
        """The path of a file of the partition, below the table."""
        return join_path(self.partition_path, name)

    def log_writer(self, name: LogFileName) -> LogWriter:
        """A writer of log files of the group, the first of them *name*; it leaves a marker for each file."""
        plan = self.plan
        return LogWriter(
            self.partition_path,
            name,
            max_size=plan.options.log_max_size,
            sync=plan.options.sync and self.complete is None,
            storage=self.storage,
            on_create=lambda path: create_marker(self.storage, plan.instant, path, appends=plan.logs_name_slices),
            is_own_name=not plan.logs_name_slices,  # from table version 8 on, the instant makes the name unique
            # Without a whole block nothing in such a file would say later which write it is of.
            deletes_failed=plan.logs_name_slices,
            on_complete=None if self.complete is None else self.complete.add,
        )

    def close(self, file: OutputFile) -> None:
        """Close a base file of the group that is complete, now or together with others."""
        if self.complete is not None:
            self.complete.add(file)
        elif self.plan.options.sync:
            close_synced(file)
        else:
            file.close()


@dataclass(frozen=True, slots=True)
class WriteCounts:
    """How many records an append wrote, updated, inserted and deleted."""

    writes: int = 0
    updates: int = 0
    inserts: int = 0
    deletes: int = 0

    def __add__(self, other: WriteCounts) -> WriteCounts:
        return WriteCounts(
            self.writes + other.writes,
            self.updates + other.updates,
            self.inserts + other.inserts,
            self.deletes + other.deletes,
        )


@dataclass(slots=True)
class LogFileStats:
    """Adds up what was appended to each log file of a file group.

    *instant* is the one in their names; *below* the slice that the statistics name, if any.
    """

    partition_path: str
    file_id: str
    instant: str
    below: FileSlice | None = None
    _files: dict[str, tuple[WriteCounts, int, int]] = field(default_factory=dict)
    _indexed: dict[str, FileIndexer] = field(default_factory=dict)

    def add(self, result: AppendResult, counts: WriteCounts, indexer: FileIndexer | None = None) -> None:
        """Count an append; *indexer* has what the metadata table keeps of it."""
        name = base_name(result.path)
        if indexer is not None:
            self._indexed[name] = self._indexed[name] + indexer if name in self._indexed else indexer
        before, offset, size = self._files.get(name, (WriteCounts(), result.offset, 0))
        self._files[name] = (before + counts, offset, size + result.size)

    @property
    def logs(self) -> list[LogFile]:
        """The log files, in the order in which they were begun."""
        return [LogFile(LogFileName.parse(name), size) for name, (_, _, size) in self._files.items()]

    def index(self, indexer: FileIndexer) -> None:
        """Add to what the metadata table keeps of the last log file."""
        name = next(reversed(self._files))
        self._indexed[name] = self._indexed[name] + indexer if name in self._indexed else indexer

    def finish(self) -> list[WriteStat]:
        """One statistic per log file, in the order in which the files were begun."""
        return [self._stat(name, *entry) for name, entry in self._files.items()]

    def _stat(self, name: str, counts: WriteCounts, offset: int, size: int) -> WriteStat:
        below = self.below
        base = "" if below is None or below.base_file is None else str(below.base_file.name)
        logs = () if below is None else tuple(below.log_names)
        return WriteStat(
            file_id=self.file_id,
            path=join_path(self.partition_path, name),
            prev_commit=self.instant if below is None else below.base_instant,
            partition_path=self.partition_path,
            num_writes=counts.writes,
            num_update_writes=counts.updates,
            num_inserts=counts.inserts,
            num_deletes=counts.deletes,
            total_write_bytes=size,
            file_size_in_bytes=size,
            log_version=LogFileName.parse(name).version,
            log_offset=offset,
            base_file=base,
            log_files=(*logs, name),
            indexed=self._indexed[name].finish() if name in self._indexed else None,
        )


def base_file_stat(
    *,
    partition_path: str,
    file_id: str,
    path: str,
    rows: int,
    size: int,
    counts: WriteCounts | None = None,
    previous: BaseFileName | None = None,
    indexed: IndexedFile | None = None,
) -> WriteStat:
    """The statistic of a base file; *size* in bytes, *rows* all of its rows; *indexed* is for the metadata table.

    *counts* and *previous*, the base file that it replaces, are given for a group that existed before.
    """
    counted = WriteCounts(inserts=rows) if counts is None else counts
    return WriteStat(
        file_id=file_id,
        path=path,
        # "null" is what Hudi writes where a file group has no earlier commit
        prev_commit="null" if previous is None else previous.instant,
        prev_base_file=None if previous is None else str(previous),
        partition_path=partition_path,
        num_writes=rows,
        num_inserts=counted.inserts,
        num_update_writes=counted.updates,
        num_deletes=counted.deletes,
        total_write_bytes=size,
        file_size_in_bytes=size,
        indexed=indexed,
    )


def encode_write_stats(stats: Iterable[WriteStat]) -> bytes:
    """Statistics as a message from one process to another, with what they have for the metadata table."""
    every = tuple(stats)
    return pickle.dumps((_plain_stats(every), [stat.indexed for stat in every]))


def _plain_stats(stats: tuple[WriteStat, ...]) -> bytes:
    return encode_commit_metadata(CommitMetadata(partition_to_write_stats={"": stats}))


def decode_write_stats(message: bytes) -> tuple[WriteStat, ...]:
    """The statistics out of :func:`encode_write_stats`."""
    plain, indexed = pickle.loads(message)  # noqa: S301 - of a task of this write, which sends pickles anyway
    stats = decode_commit_metadata(plain, path="a task's message").write_stats
    return tuple(replace(stat, indexed=found) for stat, found in zip(stats, indexed, strict=True))
