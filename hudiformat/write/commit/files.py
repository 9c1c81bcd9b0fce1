"""The files of a write: where its tasks put them, their statistics, and their deletion.

Statistics are recorded in the commit metadata as Hudi's writers record them.

Source: HoodieAppendHandle.updateWriteStatus, HoodieCreateHandle.setupWriteStatus, HoodieWriteMergeHandle.close.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from hudiformat.codec.log.block import LogBlock
from hudiformat.codec.log.reader import LogReader
from hudiformat.codec.log.writer import AppendResult, LogWriter
from hudiformat.errors import StorageError, WriteConflictError
from hudiformat.file_group.base_file.file_indexes import FileIndexer
from hudiformat.file_group.base_file.format import format_named
from hudiformat.file_group.base_file.parquet import PARQUET
from hudiformat.file_group.bootstrap.sources import SourcedStorage
from hudiformat.file_group.partitions import list_partitions
from hudiformat.file_group.slices import FileSlice, LogFile
from hudiformat.naming.file_names import BaseFileName, LogFileName, WriteToken, base_name, join_path, parse_data_file
from hudiformat.storage.protocol import OutputFile, Storage
from hudiformat.storage.threads import (
    NO_THREADS,
    FileCloser,
    WorkThreads,
    for_each,
    sync_and_close,
)
from hudiformat.timeline.commit_metadata import (
    CommitMetadata,
    IndexedFile,
    WriteStat,
    decode_commit_metadata,
    encode_commit_metadata,
)
from hudiformat.timeline.config_files import MARKER_FOLDER, META_FOLDER, VERSION_WITH_COMPLETION_TIMES
from hudiformat.timeline.table_config import TableConfig
from hudiformat.timeline.timeline import load_timeline
from hudiformat.write.commit.markers import MarkerFile, create_marker, delete_markers, marked_files
from hudiformat.write.commit.partitions import leave_partition
from hudiformat.write.commit.plan import WritePlan

RINGS_FOLDER = f"{META_FOLDER}/.bucket_index/consistent_hashing_metadata"
"""The folder that keeps the buckets of each partition, with consistent hashing."""


def delete_files(storage: Storage, config: TableConfig, instant: str) -> None:
    """Delete the files of an instant, the partitions that it had just created, and its markers."""
    # Markers are not enough: Hudi's timeline server may have kept them, and a partition is created before its markers.
    _delete_own(storage, config, instant, {*marked_files(storage, instant), *files_of(storage, instant)})
    delete_torn_logs(storage, config, instant)
    delete_traces(storage, instant)


def delete_torn_logs(storage: Storage, config: TableConfig, instant: str) -> None:
    """Delete the log files that *instant* was about to create and that have no whole block.

    Below table version 8 only the blocks of a log file say which write it belongs to; a file without blocks is known
    only by its marker.
    """
    if config.version < VERSION_WITH_COMPLETION_TIMES:
        for path in marked_files(storage, instant):
            is_log = isinstance(parse_data_file(base_name(path)), LogFileName)
            if is_log and storage.exists(path) and not log_instants(storage, path):
                storage.delete(path)


def delete_strays(storage: Storage, config: TableConfig, instant: str, stats: Iterable[WriteStat]) -> None:
    """Delete the files that *instant* was about to create and that its statistics do not name."""
    kept = named_files(stats)
    _delete_own(storage, config, instant, {path for path in marked_files(storage, instant) if path not in kept})


def refuse_finished_write(storage: Storage, config: TableConfig, instant: str, stats: Sequence[WriteStat]) -> None:
    """Delete the files of a task if its write is over: committed without them, or abandoned.

    The write still waits for the task if its instant is pending and has markers, which are deleted last.  Markers alone
    prove nothing, because the task itself may have created one since.  A write that is over lists its files once more
    after it has deleted its markers, so a file that is created in between is found either there or here.

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
        delete_markers(storage, instant)  # this task has created them after the commit deleted the others
    raise WriteConflictError(
        f"{storage.root}: expected the write of the instant {instant} to wait for this task, found it over; the task's "
        "files are deleted, and nothing of them has been committed"
    )


def delete_traces(storage: Storage, instant: str) -> None:
    """Delete the partitions that an instant has just created and whose files are deleted, and its markers."""
    without_data = [path for path, files in list_partitions(storage) if len(files) <= 1]
    for_each(storage, lambda path: leave_partition(storage, path, instant), without_data)
    _delete_rings(storage, instant, RINGS_FOLDER)
    delete_markers(storage, instant)


def _delete_rings(storage: Storage, instant: str, folder: str) -> None:
    """Delete the buckets of partitions that a clustering at *instant* has stored."""
    for entry in storage.list(folder):
        path = join_path(folder, entry.name)
        if entry.is_dir:
            _delete_rings(storage, instant, path)
        elif entry.name.startswith(f"{instant}."):
            storage.delete(path)


def named_files(stats: Iterable[WriteStat]) -> set[str | None]:
    """Return the paths of the data files that *stats* name, including change logs."""
    return {path for stat in stats for path in (stat.path, *(stat.cdc_stats or ()))}


def files_of(storage: Storage, instant: str) -> Iterator[str]:
    """Yield the paths of the files of all folders that have *instant* in their names."""
    for folder, entries in list_partitions(storage, incomplete=True):
        for entry in entries:
            parsed = parse_data_file(entry.name)
            if parsed is not None and parsed.instant == instant:
                yield join_path(folder, entry.name)


def _delete_own(storage: Storage, config: TableConfig, instant: str, paths: Iterable[str]) -> None:
    def delete(path: str) -> None:
        if _is_of(storage, config, path, instant):
            storage.delete(path)

    for_each(storage, delete, paths)


def _is_of(storage: Storage, config: TableConfig, path: str, instant: str) -> bool:
    """Return whether a file with the marker or the name of *instant* belongs to it.

    Below table version 8 a log file belongs to the instant if all of its blocks do.
    """
    name = parse_data_file(base_name(path))
    if name is None or path.startswith(f"{META_FOLDER}/"):
        return False  # a marker can have any name
    if config.version >= VERSION_WITH_COMPLETION_TIMES or not isinstance(name, LogFileName):
        return name.instant == instant
    return storage.exists(path) and log_instants(storage, path) == {instant}


def log_instants(storage: Storage, path: str) -> set[str]:
    """Return the instants of the blocks of a log file."""
    return _of_blocks(storage, path, lambda block: block.instant)


def log_targets(storage: Storage, path: str) -> set[str]:
    """Return the instants whose blocks a log file takes back."""
    return _of_blocks(storage, path, lambda block: block.target_instant)


def _of_blocks(storage: Storage, path: str, value: Callable[[LogBlock], str | None]) -> set[str]:
    """Return a value of each block of a log file.

    There are none if its writer gave up and deleted the file after it was listed.
    """
    try:
        with LogReader(path, storage=storage) as reader:
            return {found for block in reader if (found := value(block)) is not None}
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
    complete: FileCloser | None = None
    """Collects the complete files of the group to sync them together; if None, they are synced one by one."""
    markers: MarkerFile | None = None
    """Has the markers of many files; if None, each is a file of its own."""
    threads: WorkThreads = NO_THREADS
    """Threads that help to write a file: if there are some, rows are written while the next ones are merged."""

    def of_group(self, file_id: str) -> GroupTarget:
        """Return the target of another file group of the same partition."""
        return replace(self, file_id=file_id)

    @property
    def keeps_files_alone(self) -> bool:
        """Whether the write keeps nothing but its base files, which are Parquet and have the columns of the table.

        Other writes need each row: for indexes, for a change log, or to rename columns.
        """
        plan = self.plan
        needs_rows = plan.indexes is not None or plan.config.cdc_enabled or plan.history is not None
        is_parquet = format_named(plan.config.base_file_format) is PARQUET
        has_sources = isinstance(self.storage, SourcedStorage)
        return is_parquet and not has_sources and not needs_rows and plan.config.populate_meta_fields

    def path(self, name: str) -> str:
        """Return the path of a file of the partition, below the table."""
        return join_path(self.partition_path, name)

    def log_writer(self, name: LogFileName) -> LogWriter:
        """Return a writer of log files of the group, the first of them *name*, which creates a marker for each file."""
        plan = self.plan
        return LogWriter(
            self.partition_path,
            name,
            max_size=plan.options.log_max_size,
            sync=plan.options.sync and self.complete is None,
            storage=self.storage,
            on_create=partial(self.create_marker, appends=plan.logs_name_slices),
            is_own_name=not plan.logs_name_slices,  # from table version 8 on, the instant makes the name unique
            # A file without a whole block could not be attributed to its write later, so it is deleted at once.
            deletes_failed=plan.logs_name_slices,
            appends=plan.logs_name_slices and plan.options.log_append,
            on_complete=None if self.complete is None else self.complete.add,
        )

    def create_marker(self, path: str, *, appends: bool = False) -> None:
        """Create a marker for a file of the group that is about to be created; *appends* as for a single marker."""
        if self.markers is None or not self.markers.add(path, appends=appends):
            create_marker(self.storage, self.plan.instant, path, appends=appends)

    def close(self, file: OutputFile) -> None:
        """Close a complete base file of the group, at once or together with others."""
        if self.complete is not None:
            self.complete.add(file)
        elif self.plan.options.sync:
            sync_and_close(file)
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

    *instant* is the one in the names of the log files; *below* is the slice that the statistics name, if any.
    """

    partition_path: str
    file_id: str
    instant: str
    below: FileSlice | None = None
    _files: dict[str, tuple[WriteCounts, int, int]] = field(default_factory=dict)
    _indexed: dict[str, FileIndexer] = field(default_factory=dict)

    def add(self, result: AppendResult, counts: WriteCounts, indexer: FileIndexer | None = None) -> None:
        """Count an append; *indexer* has collected what the metadata table keeps of it."""
        name = base_name(result.path)
        if indexer is not None:
            self._indexed[name] = self._indexed[name] + indexer if name in self._indexed else indexer
        before, offset, size = self._files.get(name, (WriteCounts(), result.offset, 0))
        self._files[name] = (before + counts, offset, size + result.size)

    @property
    def logs(self) -> list[LogFile]:
        """The log files, in the order in which they were begun."""
        return [LogFile(LogFileName.parse(name), offset + size) for name, (_, offset, size) in self._files.items()]

    def index(self, indexer: FileIndexer) -> None:
        """Add *indexer* to what the metadata table keeps of the last log file."""
        name = next(reversed(self._files))
        self._indexed[name] = self._indexed[name] + indexer if name in self._indexed else indexer

    def finish(self) -> list[WriteStat]:
        """Return one statistic per log file, in the order in which the files were begun."""
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
            file_size_in_bytes=offset + size,
            log_version=LogFileName.parse(name).version,
            log_offset=offset,
            base_file=base,
            log_files=logs if name in logs else (*logs, name),
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
    """Return the statistic of a base file of *size* bytes with *rows* rows; *indexed* is for the metadata table.

    *counts* and *previous*, the base file that the new one replaces, are passed for a group that existed before.
    """
    counted = WriteCounts(inserts=rows) if counts is None else counts
    return WriteStat(
        file_id=file_id,
        path=path,
        # "null" is what Hudi writes where a file group has no earlier commit
        prev_commit="null" if previous is None else previous.instant,
        prev_base_file=None if previous is None else previous.stored_as,
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
    """Encode statistics, with what they have for the metadata table, as a message from one process to another."""
    every = tuple(stats)
    return pickle.dumps((_plain_stats(every), [stat.indexed for stat in every]))


def _plain_stats(stats: tuple[WriteStat, ...]) -> bytes:
    return encode_commit_metadata(CommitMetadata(partition_to_write_stats={"": stats}))


def decode_write_stats(message: bytes) -> tuple[WriteStat, ...]:
    """Decode a message of :func:`encode_write_stats`."""
    plain, indexed = pickle.loads(message)  # noqa: S301 - of a task of this write, which sends pickles anyway
    stats = decode_commit_metadata(plain, path="a task's message").write_stats
    return tuple(replace(stat, indexed=found) for stat, found in zip(stats, indexed, strict=True))
