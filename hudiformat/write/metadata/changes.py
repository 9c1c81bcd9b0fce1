"""Describe what an action changes in a table, in the form in which the partitions of its metadata table record it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.codec.statistics import ColumnStatistics
from hudiformat.file_group.keyed_rows import keyed_rows
from hudiformat.file_group.partition_metadata import is_partition
from hudiformat.file_group.reader import SliceReader
from hudiformat.file_group.slices import FileSlice, Visibility, build_slices, latest_slices
from hudiformat.metadata_table.changes import Change
from hudiformat.metadata_table.column_stats import COLUMN_STATS, PARTITION_STATS
from hudiformat.metadata_table.partition import OpenMetadata, Part
from hudiformat.metadata_table.stat_lookup import statistics_of_files, statistics_of_partition
from hudiformat.naming.file_names import base_name, join_path
from hudiformat.schema.meta_fields import RECORD_KEY
from hudiformat.storage.protocol import FileInfo
from hudiformat.storage.threads import FILE_GROUPS, side_by_side
from hudiformat.table.options.values import Operation
from hudiformat.table.schema_files import schema_history
from hudiformat.table.state import TableState
from hudiformat.timeline.cleans import CleanMetadata
from hudiformat.timeline.commit_metadata import CommitMetadata, WriteStat
from hudiformat.timeline.rollbacks import RollbackMetadata

_ADDING = {one.value for one in (Operation.INSERT, Operation.UPSERT, Operation.BULK_INSERT, Operation.DELETE)}
"""Operations that remove no files, except those that they replace by others of the same file group."""


@dataclass(frozen=True)
class MetadataChanges:
    """Makes a :class:`Change` from an action of the table *outer*; *own* is the state of its metadata table.

    *outer* is the state before the action is completed.  *columns* are the columns with statistics; *joined* are those,
    with their types, that had none before a commit.
    """

    outer: TableState
    own: TableState
    columns: Collection[str]
    joined: Mapping[str, pa.DataType] = field(default_factory=dict)

    def of_commit(self, time: str, metadata: CommitMetadata, *, done: str) -> Change:
        """Return the change of a commit at *time*, which is going to be completed at *done* or later."""
        written = metadata.partition_to_write_stats
        replaced = metadata.partition_to_replace_file_ids or {}
        before = self.outer.visibility
        after = replace(
            before,
            completion={**before.completion, time: done},
            replaced={
                **before.replaced,
                **{(path, file_id): time for path, ids in replaced.items() for file_id in ids},
            },
        )
        adds = metadata.operation_type in _ADDING and not replaced
        return Change(
            is_commit=True,
            time=time,
            written=written,
            replaced_keys=lambda: (
                (path, rows[RECORD_KEY].combine_chunks().cast(pa.string())) for path, rows in self._rows_of(replaced)
            ),
            replaced_values=lambda column: (rows for _, rows in self._rows_of(replaced, column)),
            logged_values=lambda column: self._logged_rows(written, after, column),
            emptied=[path for path in replaced if not self._live_files(path, after, written.get(path, ()))],
            adds_only=lambda path: adds and all(map(_replaces_nothing, written.get(path, ()))),
            live=lambda path: self._live_files(path, after, written.get(path, ())),
            known=self.statistics_of_files,
            of_partition=self.statistics_of_partition,
            joined=self.joined,
            older=lambda: ((path, [file.name for file in files]) for path, files in self.outer.files()),
        )

    @staticmethod
    def of_clean(metadata: CleanMetadata) -> Change:
        """Return the change of a clean: no reader needs the files that it deletes."""
        partitions = metadata.partition_metadata.items()
        return Change(
            deleted={path: partition.delete_path_patterns for path, partition in partitions},
            gone=[path for path, partition in partitions if partition.is_partition_deleted],
        )

    def of_rollbacks(
        self,
        rollbacks: Sequence[RollbackMetadata],
        compacted: Collection[str],
        listed: Mapping[str, Mapping[str, Sequence[str]]],
    ) -> Change:
        """Return the change of *rollbacks*; only *compacted* ones are still to be recorded in the metadata table.

        The log blocks of the others have been dropped.  *listed* are files of rolled-back writes that the metadata
        table lists, by write and partition path.
        """
        deleted: defaultdict[str, list[str]] = defaultdict(list)
        undone: set[str] = set()
        for rollback in rollbacks:
            undone.update(rollback.commits_rollback)
            if not any(time in compacted for time in rollback.commits_rollback):
                continue
            for path, partition in rollback.partition_metadata.items():
                deleted[path] += [base_name(file) for file in partition.success_delete_files]
        for path, names in (item for paths in listed.values() for item in paths.items()):
            deleted[path] += [name for name in names if name not in deleted[path]]
        after = self.visibility_without(undone)
        return Change(
            written=kept_files(rollbacks) if self.outer.logs_name_slices else {},
            deleted=deleted,
            # All partitions, because a write that replaced file groups has left no files in their partitions.
            undone=[path for path, _ in self.outer.files()],
            gone=[path for path in deleted if not self._is_partition(path)],
            live=lambda path: self._live_files(path, after, ()),
            known=self.statistics_of_files,
        )

    def visibility_without(self, undone: Collection[str]) -> Visibility:
        """Return which files are visible once the instants *undone* are rolled back."""
        before = self.outer.visibility
        completion = {time: done for time, done in before.completion.items() if time not in undone}
        return replace(before, completion=completion, pending=before.pending | frozenset(undone))

    def slices(self, path: str, visibility: Visibility) -> list[FileSlice]:
        """Return the newest file slices of a partition."""
        return latest_slices(build_slices(path, self._files(path, ()), visibility))

    def values(self, one: FileSlice, visibility: Visibility, columns: Sequence[str]) -> pa.Table:
        """Read a slice, and return its record keys and *columns*, which are dotted paths."""
        return keyed_rows(self._reader(visibility), self.outer.storage, one, columns)

    def statistics_of_files(self, path: str) -> Mapping[str, Mapping[str, ColumnStatistics | None]]:
        """Return the statistics that the metadata table has of the files of the partition *path*."""
        return statistics_of_files(self._of_files, path, self.columns)

    def statistics_of_partition(self, path: str) -> Mapping[str, ColumnStatistics]:
        """Return the statistics that the metadata table has of the whole partition *path*."""
        return statistics_of_partition(self._of_partitions, path, self.columns)

    @cached_property
    def _opened(self) -> OpenMetadata:
        outer, own = self.outer, self.own
        return OpenMetadata.of(outer.storage, outer.config, outer.timeline, own.config, own.timeline)

    @cached_property
    def _of_files(self) -> Sequence[Part]:
        return self._opened.parts(COLUMN_STATS)

    @cached_property
    def _of_partitions(self) -> Sequence[Part]:
        return self._opened.parts(PARTITION_STATS)

    def _live_files(self, path: str, visibility: Visibility, written: Iterable[WriteStat]) -> list[str]:
        slices = latest_slices(build_slices(path, self._files(path, written), visibility))
        bases = [str(one.base_file.name) for one in slices if one.base_file is not None]
        return bases + [str(log.name) for one in slices for log in one.log_files]

    def _files(self, path: str, written: Iterable[WriteStat]) -> list[FileInfo]:
        """Return the files of a partition, and those that were *written*."""
        made = [FileInfo(base_name(stat.path), stat.file_size_in_bytes, is_dir=False) for stat in written if stat.path]
        known = {file.name for file in made}
        return [*made, *(file for file in self.outer.partition_files(path) if file.name not in known)]

    def _rows_of(self, replaced: Mapping[str, Sequence[str]], *columns: str) -> Iterator[tuple[str, pa.Table]]:
        """Read file groups, and yield their record keys and *columns*, which are dotted paths, by partition path."""
        reader, storage = self._reader(self.outer.visibility), self.outer.storage
        listed = zip(replaced.items(), self.outer.files_of_each(replaced), strict=True)
        slices = [one for (path, ids), _ in listed for one in self.outer.slices(path) if one.file_id in ids]
        every = side_by_side(
            storage, lambda one: keyed_rows(reader, storage, one, columns), slices, at_once=FILE_GROUPS
        )
        yield from zip((one.partition_path for one in slices), every, strict=True)

    def _logged_rows(
        self, written: Mapping[str, Sequence[WriteStat]], after: Visibility, column: str
    ) -> Iterator[tuple[pa.Table, pa.Table]]:
        """Yield the rows that new log files may have changed, before and after, if their writers did not merge them."""
        old, new = self._reader(self.outer.visibility), self._reader(after)
        for path, stats in written.items():
            touched = _touched_keys(stats)
            if not touched:
                continue
            before = {one.file_id: one for one in self.outer.slices(path)}
            for one in latest_slices(build_slices(path, self._files(path, stats), after)):
                if one.file_id in touched:
                    keys = touched[one.file_id]
                    yield (
                        keyed_rows(old, self.outer.storage, before.get(one.file_id), (column,), keys=keys),
                        keyed_rows(new, self.outer.storage, one, (column,), keys=keys),
                    )

    def _reader(self, visibility: Visibility) -> SliceReader:
        outer = self.outer
        return SliceReader(
            outer.config,
            outer.schema,
            visibility,
            merger=outer.context.merger,
            history=schema_history(outer),
            with_keys=True,
        )

    def _is_partition(self, path: str) -> bool:
        return is_partition(self.outer.storage, path, self.outer.config)


def kept_files(rollbacks: Iterable[RollbackMetadata]) -> dict[str, list[WriteStat]]:
    """Return the log files of rolled-back writes that version 6 keeps, and the log files with blocks that hide theirs.

    Those of one of the *rollbacks* are gone if a later one deletes their slice, as in a restore.

    Source: HoodieTableMetadataUtil.convertMetadataToRecords of a rollback, Hudi 1.2.0.
    """
    found: defaultdict[str, dict[str, WriteStat]] = defaultdict(dict)
    for rollback in rollbacks:
        for folder, partition in rollback.partition_metadata.items():
            for path in partition.success_delete_files:
                found[folder].pop(base_name(path), None)
            for files in (partition.rollback_log_files, partition.log_files_from_failed_commit):
                for path, size in (files or {}).items():
                    name = base_name(path)
                    found[folder][name] = WriteStat(path=join_path(folder, name), file_size_in_bytes=size)
    return {folder: list(stats.values()) for folder, stats in found.items() if stats}


def _replaces_nothing(stat: WriteStat) -> bool:
    """Return whether a file replaces no other: a log file, or the first base file of a group."""
    return base_name(stat.path or "").startswith(".") or stat.prev_base_file is None


def _touched_keys(stats: Iterable[WriteStat]) -> dict[str, pa.Array]:
    """Return the record keys that were written to log files, by file group."""
    found: defaultdict[str, list[pa.Array]] = defaultdict(list)
    for stat in stats:
        if stat.file_id and stat.indexed is not None and stat.indexed.touched is not None:
            found[stat.file_id].append(stat.indexed.touched)
    return {file_id: pc.unique(pa.chunked_array(keys)) for file_id, keys in found.items()}
