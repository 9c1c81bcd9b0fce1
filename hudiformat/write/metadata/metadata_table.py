"""Keep a table's metadata table up to date: record each action in all of its partitions.

Rules: spec/metadata-table.md.  Source: HoodieBackedTableMetadataWriter, Hudi 1.2.0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import pyarrow as pa

from hudiformat.codec.log.build import delete_block, rollback_block
from hudiformat.codec.log.reader import LogReader
from hudiformat.codec.log.writer import LogWriter
from hudiformat.file_group.slices import FileSlice
from hudiformat.metadata_table.changes import IndexKind, KeyedRecords
from hudiformat.metadata_table.kinds.files import FILES
from hudiformat.metadata_table.kinds.record_index import group_of_path
from hudiformat.metadata_table.listing import Listing
from hudiformat.metadata_table.partition import OpenMetadata
from hudiformat.metadata_table.record_locations import RecordLocation
from hudiformat.metadata_table.updates import encode_log_blocks, file_groups_of
from hudiformat.naming.file_names import LogFileName, WriteToken, base_name, join_path, parse_data_file
from hudiformat.naming.instants import next_instant
from hudiformat.schema.table_schema import TableSchema
from hudiformat.storage.folder import FolderStorage
from hudiformat.storage.threads import FILE_GROUPS, FileCloser, side_by_side
from hudiformat.table.options.values import WriteOptions
from hudiformat.table.state import TableContext, TableState
from hudiformat.timeline.cleans import CleanMetadata
from hudiformat.timeline.commit_metadata import CommitMetadata, WriteStat
from hudiformat.timeline.config_files import META_FOLDER, METADATA_FOLDER, load_table_config
from hudiformat.timeline.contents import Metadata, begin_instant, complete_instant, remove_pending
from hudiformat.timeline.plans import IndexCommitMetadata
from hudiformat.timeline.rollbacks import RestoreMetadata, RollbackMetadata
from hudiformat.timeline.timeline import Action, Instant, State, instant_path
from hudiformat.write.metadata.changes import MetadataChanges, kept_files
from hudiformat.write.metadata.correcting import Correction
from hudiformat.write.metadata.indexes import indexed_columns, is_of_records, joining_columns, kinds_of

_TOKEN = str(WriteToken(0, 0, 0))
_ROLLBACK_SUFFIX = "006"
"""Source: HoodieBackedTableMetadataWriterTableVersionSix.getRollbackOperationSuffix."""
FILE_ID = "files-0000-0"
"""The only file group of the partition ``files``.  Source: HoodieTableMetadataUtil.getFileIDForFileGroup."""


@dataclass(frozen=True)
class MetadataTable:
    """The metadata table of a table, with the states of both: the metadata table is a table, too."""

    outer: TableState
    own: TableState

    @classmethod
    def of(cls, outer: TableState) -> MetadataTable:
        """Return the metadata table of the table *outer*, which must have one with the partition ``files``."""
        known = outer.under_the_lock.get(METADATA_FOLDER)
        if known is not None:
            return cls(outer, known)
        storage, parsed = FolderStorage(outer.storage, METADATA_FOLDER), outer.context.parsed.of_metadata_table
        config = load_table_config(storage) if parsed.config is None else parsed.config
        return cls(outer, TableContext(storage, config, WriteOptions(), outer.context.clock, parsed=parsed).state())

    def remember(self) -> None:
        """Make the next :meth:`of` return this again for the same state of the table, whose lock is held until then."""
        self.outer.under_the_lock[METADATA_FOLDER] = self.own

    @property
    def next_instant(self) -> str:
        """An instant after all instants of both timelines."""
        times = (self.outer.timeline.latest_instant_time, self.own.timeline.latest_instant_time)
        return next_instant(self.outer.context.clock(), max(filter(None, times), default=None))

    def refresh(self) -> MetadataTable:
        """Return the metadata table with its state after a change."""
        return replace(self, own=self.own.context.state())

    def open_existing(self) -> OpenMetadata:
        """Open the metadata table for reading."""
        return OpenMetadata.of(
            self.outer.storage, self.outer.config, self.outer.timeline, self.own.config, self.own.timeline
        )

    def kinds(self, schema: TableSchema | None = None) -> list[IndexKind]:
        """Return the kinds of its partitions; *schema* has the table's columns, if they are not those of *outer*."""
        return kinds_of(self.outer, schema, self.own.schema.avro_with_meta)

    def record(self, instant: Instant, metadata: Metadata) -> str | None:
        """Commit what *instant* changes in the table, and return the completion time, or None if it changes nothing.

        What an earlier attempt at the same instant recorded is removed first.
        """
        if isinstance(metadata, IndexCommitMetadata):
            return None  # the delta commit of the indexing has built a partition, and there is nothing else to record
        self.outer.under_the_lock.clear()  # from here on the state of the metadata table changes
        table = self.remove_commit(instant.time)
        if isinstance(metadata, RollbackMetadata):
            return table._record_rollbacks(instant.time, [metadata])  # noqa: SLF001 - of the same class
        if isinstance(metadata, RestoreMetadata):
            every = (rollback for group in metadata.hoodie_restore_metadata.values() for rollback in group)
            return table._record_rollbacks(instant.time, [one for one in every if one is not None])  # noqa: SLF001 - of the same class
        if isinstance(metadata, CommitMetadata):
            schema = None if metadata.schema is None else TableSchema(metadata.schema)
            change = table._changes(schema).of_commit(instant.time, metadata, done=table.next_instant)  # noqa: SLF001 - of the same class
            kinds = table.kinds(schema)
            return table._commit(instant.time, [(kind, kind.records(change)) for kind in kinds])  # noqa: SLF001 - of the same class
        if isinstance(metadata, CleanMetadata):
            change = MetadataChanges.of_clean(metadata)
            records = [(kind, kind.records(change)) for kind in table.kinds()]
            return table._commit(instant.time, records)  # noqa: SLF001 - of the same class
        return None

    def remove_commit(self, time: str) -> MetadataTable:
        """Remove the delta commit *time*, if there is one, and return the metadata table after that.

        The delta commit has never been valid, because its instant is not completed on the table's timeline.  So the
        metadata table's timeline gets no rollback.
        """
        storage, config = self.own.storage, self.own.config
        recorded = [
            instant
            for instant in self.own.timeline.instants
            if instant.time == time and instant.action is Action.DELTA_COMMIT
        ]
        for instant in recorded:
            if instant.is_completed:
                storage.delete(instant_path(config, instant))
            self._hide_blocks(time)
            for path in self._files_of(time):
                storage.delete(path)
            remove_pending(storage, config, Instant(time, Action.DELTA_COMMIT, State.INFLIGHT))
        return self.refresh() if recorded else self

    def _files_of(self, time: str) -> list[str]:
        """Return the paths of the files of a delta commit, in all partitions.

        From table version 8 on, the names of the files show it; in version 6 the blocks of log files do.
        """
        storage = self.own.storage
        folders = [entry.name for entry in storage.list("") if entry.is_dir and entry.name != META_FOLDER]
        files = [f"{folder}/{entry.name}" for folder in folders for entry in storage.list(folder) if not entry.is_dir]
        if self.own.logs_name_slices:
            logs = (path for path in files if isinstance(parse_data_file(base_name(path)), LogFileName))
            # A file without a whole block belongs to a writer that died: living writers write theirs under the lock.
            return [path for path in logs if self._blocks_of(path) <= {time, ""}]
        return [path for path in files if (name := parse_data_file(base_name(path))) and name.instant == time]

    def _hide_blocks(self, time: str) -> None:
        """Hide the blocks of a delta commit in log files that also have blocks of others, as in version 6."""
        if not self.own.logs_name_slices:
            return
        for name in self.outer.config.metadata_partitions:
            for one in self.own.slices(name):
                if any({time} < self._blocks_of(path) for path in one.log_paths):
                    with LogWriter(name, self._log_name(one), storage=self.own.storage) as writer:
                        writer.append(rollback_block(instant=f"{time}{_ROLLBACK_SUFFIX}", target=time))

    def _blocks_of(self, path: str) -> set[str]:
        """Return the instants of the blocks of a log file; an empty text stands for a damaged block."""
        return {block.instant or "" for block in LogReader(path, storage=self.own.storage)}

    def _log_name(self, one: FileSlice) -> LogFileName:
        """Return the name of the next log file of a slice in version 6, which names the slice, not the delta commit."""
        planned = self.own.in_compaction.get((one.partition_path, one.file_id))
        instant = one.base_instant if planned is None else planned.instant.time
        versions = (log.name.version for log in one.log_files if log.name.instant == instant)
        return LogFileName(one.file_id, instant, max(versions, default=0) + 1, str(WriteToken(0, 0, 0)))

    def _changes(self, schema: TableSchema | None = None) -> MetadataChanges:
        return MetadataChanges(
            self.outer, self.own, indexed_columns(self.outer, schema), joining_columns(self.outer, schema)
        )

    def _record_rollbacks(self, time: str, rollbacks: list[RollbackMetadata]) -> str | None:
        """Drop the delta commits of rolled-back writes; write records that undo those already in a base file."""
        every = [target for rollback in rollbacks for target in rollback.commits_rollback]
        recorded = {one.time for one in self.own.timeline.instants if one.action is Action.DELTA_COMMIT}
        listed = self._listed_files(
            {target for target in every if target not in recorded or self._is_compacted(target)}
        )
        compacted = [target for target in every if self._is_compacted(target) or target in listed]
        has_records = any(is_of_records(name) for name in self.outer.config.metadata_partitions)
        touched = self._groups_of(every) if compacted and has_records else set[RecordLocation]()
        current = self
        for target in every:
            if target not in compacted:
                current = current.remove_commit(target)
        if not (compacted or (self.own.logs_name_slices and kept_files(rollbacks))):
            return None
        # Read the state again: it no longer has the delta commits that were removed, whose files are deleted.
        table = MetadataTable.of(self.outer.context.state())
        changes, kinds = table._changes(), table.kinds()  # noqa: SLF001 - of the same class
        change = changes.of_rollbacks(rollbacks, compacted, listed)
        records = [(kind, kind.records(change)) for kind in kinds if not is_of_records(kind.name)]
        if compacted and len(records) < len(kinds):
            schema, left = table.own.schema.avro_with_meta, changes.visibility_without(every)
            records += Correction(changes, table.open_existing(), schema, touched, left).records(kinds, time)
        return table._commit(time, records)  # noqa: SLF001 - of the same class

    def _groups_of(self, times: Collection[str]) -> set[RecordLocation]:
        """Return the file groups that have files of the writes at *times*, as far as the metadata table lists them."""
        return {
            RecordLocation(path, name.file_id)
            for path, files in Listing(self.open_existing().parts(FILES), self.outer.storage.root)
            for file in files
            if (name := parse_data_file(file.name)) is not None and name.instant in times
        }

    def _is_compacted(self, time: str) -> bool:
        timeline = self.own.timeline
        recorded = (one for one in timeline.instants if one.time == time and one.action is Action.DELTA_COMMIT)
        instant = next(recorded, None)
        if instant is None:
            return time < (timeline.first_active or "")
        end = time if self.own.logs_name_slices and instant.is_completed else instant.completion_time
        if end is None:
            return False
        return any(one.action is Action.COMMIT and one.time > end for one in timeline.completed) or any(
            built > end for built in self._built
        )

    @cached_property
    def _built(self) -> list[str]:
        """When the indexes with a base file were completed that were built after the list of files."""
        slices = (one for name in self.outer.config.metadata_partitions for one in self.own.slices(name))
        times = {one.base_instant for one in slices if one.base_file is not None}
        deltas = (one for one in self.own.timeline.completed if one.action is Action.DELTA_COMMIT)
        return [one.completion_time or one.time for one in deltas if one.time in times]

    def _listed_files(self, times: Collection[str]) -> dict[str, dict[str, list[str]]]:
        """Return the files of the writes at *times* that are listed, by write and partition path.

        A write has no delta commit here if the metadata table was created after it.  And a restore that was interrupted
        has deleted some files of a write before it goes on, and no longer knows their names.
        """
        found: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for path, files in Listing(self.open_existing().parts(FILES), self.outer.storage.root) if times else ():
            for file in files:
                name = parse_data_file(file.name)
                if name is not None and name.instant in times:
                    found[name.instant][path].append(file.name)
        return {time: dict(paths) for time, paths in found.items()}

    def _commit(self, time: str, records: Sequence[tuple[IndexKind, KeyedRecords]]) -> str | None:
        given = [(kind, found) for kind, found in records if found]
        if not given:
            return None
        storage, config, schema = self.own.storage, self.own.config, self.own.schema
        begun = begin_instant(storage, config, time, Action.DELTA_COMMIT, CommitMetadata("UPSERT_PREPPED"))
        stats: defaultdict[str, list[WriteStat]] = defaultdict(list)
        with FileCloser(storage, sync=self.outer.options.sync) as files:
            waiting = [one for kind, found in given for one in self._log_files(kind, time, found)]
            for stat in side_by_side(storage, partial(self._append, time, files), waiting, at_once=FILE_GROUPS):
                stats[stat.partition_path or ""].append(stat)
        written = {partition: tuple(found) for partition, found in stats.items()}
        metadata = CommitMetadata("UPSERT_PREPPED", written, {"schema": schema.avro})
        # next_instant does not know *time* yet: the state was read before this delta commit began.
        now = next_instant(self.outer.context.clock(), max(time, self.next_instant))
        complete_instant(storage, config, begun, metadata, completion_time=now)
        return now

    def _log_files(self, kind: IndexKind, time: str, records: KeyedRecords) -> Iterator[_LogFile]:
        """Yield the log files of a partition that get records; the hash of a key determines its file group.

        A file group begins with log files of all of its partition's groups, as in Hudi.
        """
        names = self._log_names(kind.name, time)
        if not records.parts:
            every = zip(names, _split(records, kind, len(names)), strict=True)
            yield from (_LogFile(kind.name, name, found) for name, found in every if found)
        for path, part in records.parts.items():
            prefix = group_of_path(path)
            own = [name for name in names if name.file_id.startswith(prefix)]
            used = own or [LogFileName(f"{prefix}0000-0", time, 1, _TOKEN)]
            every = zip(used, _split(part, kind, len(used)), strict=True)
            yield from (_LogFile(kind.name, name, found, begins=not own) for name, found in every if found or not own)

    def _append(self, time: str, files: FileCloser, log: _LogFile) -> WriteStat:
        """Write a log file, which is on disk once *files* is closed."""
        partition, name, found = log.partition, log.name, log.records
        schema = self.own.schema.avro_with_meta
        with LogWriter(partition, name, storage=self.own.storage, sync=False, on_complete=files.add) as writer:
            blocks = [delete_block(found.dropped.slice(0, 0), instant=time, partition_path=partition)] * log.begins
            blocks += encode_log_blocks(found, partition=partition, instant=time, schema=schema)
            appended = writer.append(*blocks)
        return WriteStat(
            file_id=name.file_id,
            path=join_path(partition, base_name(appended.path)),  # Hudi's rollback deletes this path
            prev_commit=name.instant,
            partition_path=partition,
            num_writes=len(found.keys),
            num_update_writes=len(found.keys),
            num_deletes=len(found.dropped),
            total_write_bytes=appended.size,
            file_size_in_bytes=appended.size,
            log_version=LogFileName.parse(base_name(appended.path)).version,
            log_offset=appended.offset,
            base_file="",
            log_files=(base_name(appended.path),),
        )

    def _log_names(self, partition: str, time: str) -> list[LogFileName]:
        """Return the names of the next log files of a partition's file groups, in the order of the groups."""
        if self.own.logs_name_slices:
            return [self._log_name(one) for one in self.own.slices(partition)]
        groups = [FILE_ID] if partition == FILES else [one.file_id for one in self.own.slices(partition)]
        return [LogFileName(file_id, time, 1, _TOKEN) for file_id in groups]


@dataclass(frozen=True, slots=True)
class _LogFile:
    """A log file that gets *records*; if it *begins* its file group, an empty block comes first, as in Hudi."""

    partition: str
    name: LogFileName
    records: KeyedRecords
    begins: bool = False


def _split(records: KeyedRecords, kind: IndexKind, count: int) -> list[KeyedRecords]:
    """Return the records of each of *count* file groups."""
    if count == 1:
        return [records]
    numbers, dropped = (file_groups_of(kind.part_to_hash(keys), count) for keys in (records.keys, records.dropped))
    rows = [pa.array(np.flatnonzero(numbers == group)) for group in range(count)]
    dropped_rows = [pa.array(np.flatnonzero(dropped == group)) for group in range(count)]
    return [
        KeyedRecords(records.keys.take(one), records.values.take(one), records.dropped.take(other))
        for one, other in zip(rows, dropped_rows, strict=True)
    ]
