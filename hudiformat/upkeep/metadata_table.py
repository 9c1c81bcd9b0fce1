"""Keeping up a table's metadata table: each action is recorded in all of its partitions.

Rules: spec/metadata-table.md.  Source: HoodieBackedTableMetadataWriter, Hudi 1.2.0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from hudiformat.blocks import delete_block
from hudiformat.logfile import LogWriter
from hudiformat.metadata import (
    FILES,
    METADATA_FOLDER,
    IndexKind,
    KeyedRecords,
    Listing,
    OpenMetadata,
    RecordLocation,
    encode_log_blocks,
    file_groups_of,
    group_of_path,
)
from hudiformat.naming import LogFileName, WriteToken, base_name, next_instant, parse_data_file
from hudiformat.options import WriteOptions
from hudiformat.storage import FolderStorage
from hudiformat.table import TableContext, TableSchema, TableState
from hudiformat.timeline import (
    META_FOLDER,
    Action,
    CleanMetadata,
    CommitMetadata,
    Instant,
    Metadata,
    RestoreMetadata,
    RollbackMetadata,
    State,
    WriteStat,
    complete,
    create_requested,
    instant_path,
    load_table_config,
    remove_pending,
    transition_inflight,
)
from hudiformat.upkeep.changes import MetadataChanges
from hudiformat.upkeep.correcting import Correction
from hudiformat.upkeep.kinds import indexed_columns, is_of_records, kinds_of

FILE_ID = "files-0000-0"
"""The one file group of the partition ``files``.  Source: HoodieTableMetadataUtil.getFileIDForFileGroup."""


@dataclass(frozen=True, slots=True)
class MetadataTable:
    """The metadata table of a table: the states of both, as the metadata table is a table too."""

    outer: TableState
    own: TableState

    @classmethod
    def of(cls, outer: TableState) -> MetadataTable:
        """The metadata table of the table with the state *outer*, which has one with the partition ``files``."""
        storage = FolderStorage(outer.storage, METADATA_FOLDER)
        context = TableContext(storage, load_table_config(storage), WriteOptions(), outer.context.clock)
        return cls(outer, context.state())

    @property
    def next_instant(self) -> str:
        """An instant after all of both timelines."""
        times = (self.outer.timeline.latest_instant_time, self.own.timeline.latest_instant_time)
        return next_instant(self.outer.context.clock(), max(filter(None, times), default=None))

    def refreshed(self) -> MetadataTable:
        """The same with the state of the metadata table as it is after a change."""
        return replace(self, own=self.own.context.state())

    def opened(self) -> OpenMetadata:
        """The metadata table for reading."""
        return OpenMetadata.of(
            self.outer.storage, self.outer.config, self.outer.timeline, self.own.config, self.own.timeline
        )

    def kinds(self, schema: TableSchema | None = None) -> list[IndexKind]:
        """The kinds of its partitions; *schema* is that of the table's columns, if it is not that of *outer*."""
        return kinds_of(self.outer, schema, self.own.schema.avro_with_meta)

    def record(self, instant: Instant, metadata: Metadata) -> str | None:
        """Commit what *instant* changes in the table; the completion time, or None where it changes nothing.

        What an earlier attempt at the same instant recorded is removed first.
        """
        table = self.without(instant.time)
        if isinstance(metadata, RollbackMetadata):
            return table._undo(instant.time, [metadata])  # noqa: SLF001 - of the same class
        if isinstance(metadata, RestoreMetadata):
            every = (rollback for group in metadata.hoodie_restore_metadata.values() for rollback in group)
            return table._undo(instant.time, [one for one in every if one is not None])  # noqa: SLF001
        if isinstance(metadata, CommitMetadata):
            change = table._changes().of_commit(instant.time, metadata, done=table.next_instant)  # noqa: SLF001
            named = metadata.schema
            kinds = table.kinds(None if named is None else TableSchema(named))
            return table._commit(instant.time, [(kind, kind.records(change)) for kind in kinds])  # noqa: SLF001
        if isinstance(metadata, CleanMetadata):
            change = MetadataChanges.of_clean(metadata)
            records = [(kind, kind.records(change)) for kind in table.kinds()]
            return table._commit(instant.time, records)  # noqa: SLF001
        return None

    def without(self, time: str) -> MetadataTable:
        """Remove the delta commit *time*, where there is one; the metadata table after that.

        It has never been valid, as its instant is not completed on the table's timeline.  So there is no rollback on
        the metadata table's timeline.
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
            for path in self._files_of(time):
                storage.delete(path)
            remove_pending(storage, config, Instant(time, Action.DELTA_COMMIT, State.INFLIGHT))
        return self.refreshed() if recorded else self

    def _files_of(self, time: str) -> list[str]:
        """The paths of the files of a delta commit, in all partitions: from table version 8 on, their names say it."""
        storage = self.own.storage
        folders = [entry.name for entry in storage.list("") if entry.is_dir and entry.name != META_FOLDER]
        files = [f"{folder}/{entry.name}" for folder in folders for entry in storage.list(folder) if not entry.is_dir]
        return [path for path in files if (name := parse_data_file(base_name(path))) and name.instant == time]

    def _changes(self) -> MetadataChanges:
        return MetadataChanges(self.outer, self.own, indexed_columns(self.outer))

    def _undo(self, time: str, rollbacks: list[RollbackMetadata]) -> str | None:
        """Drop the delta commits of rolled-back writes; those that are in a base file are undone by records."""
        every = [target for rollback in rollbacks for target in rollback.commits_rollback]
        listed = self._listed_of(every)
        compacted = [target for target in every if self._is_compacted(target) or target in listed]
        for target in every:
            if target not in compacted:
                self.without(target)
        if not compacted:
            return None
        table = MetadataTable.of(self.outer.context.state())  # without what was rolled back, whose files are gone
        changes, kinds = table._changes(), table.kinds()  # noqa: SLF001 - of the same class
        change = changes.of_rollbacks(rollbacks, compacted, listed)
        records = [(kind, kind.records(change)) for kind in kinds if not is_of_records(kind.name)]
        if len(records) < len(kinds):
            schema = self.own.schema.avro_with_meta
            touched, left = self._groups_of(every), changes.visibility_without(every)
            records += Correction(changes, table.opened(), schema, touched, left).records(kinds, time)
        return table._commit(time, records)  # noqa: SLF001

    def _groups_of(self, times: Collection[str]) -> set[RecordLocation]:
        """The file groups that have files of writes, as far as the metadata table lists them."""
        return {
            RecordLocation(path, name.file_id)
            for path, files in Listing(self.opened().parts(FILES), self.outer.storage.root)
            for file in files
            if (name := parse_data_file(file.name)) is not None and name.instant in times
        }

    def _is_compacted(self, time: str) -> bool:
        timeline = self.own.timeline
        recorded = (one for one in timeline.instants if one.time == time and one.action is Action.DELTA_COMMIT)
        instant = next(recorded, None)
        if instant is None:
            return time < (timeline.first_active or "")
        end = instant.completion_time
        return end is not None and any(one.action is Action.COMMIT and one.time > end for one in timeline.completed)

    def _listed_of(self, times: Collection[str]) -> dict[str, dict[str, list[str]]]:
        """The files of writes that have no delta commit here and are listed all the same, by write and partition path.

        The metadata table was made after them.  A restore that was stopped has deleted some of them before it goes on,
        and does not know their names any more.
        """
        recorded = {one.time for one in self.own.timeline.instants if one.action is Action.DELTA_COMMIT}
        wanted = set(times) - recorded
        found: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for path, files in Listing(self.opened().parts(FILES), self.outer.storage.root) if wanted else ():
            for file in files:
                name = parse_data_file(file.name)
                if name is not None and name.instant in wanted:
                    found[name.instant][path].append(file.name)
        return {time: dict(paths) for time, paths in found.items()}

    def _commit(self, time: str, records: Sequence[tuple[IndexKind, KeyedRecords]]) -> str | None:
        given = [(kind, found) for kind, found in records if found]
        if not given:
            return None
        storage, config, schema = self.own.storage, self.own.config, self.own.schema
        begun = create_requested(storage, config, time, Action.DELTA_COMMIT)
        begun = transition_inflight(storage, config, begun, CommitMetadata("UPSERT_PREPPED"))
        appended = ((kind.name, tuple(self._append(kind, time, found))) for kind, found in given)
        stats = {partition: found for partition, found in appended if found}
        metadata = CommitMetadata("UPSERT_PREPPED", stats, {"schema": schema.avro})
        # The instant itself is on the timeline by now.
        now = next_instant(self.outer.context.clock(), max(time, self.next_instant))
        complete(storage, config, begun, metadata, completion_time=now)
        return now

    def _append(self, kind: IndexKind, time: str, records: KeyedRecords) -> Iterator[WriteStat]:
        """Write the log files of a partition: a key belongs to the file group that its hash says."""
        groups = [FILE_ID] if kind.name == FILES else [one.file_id for one in self.own.slices(kind.name)]
        if not records.parts:
            yield from self._append_to(kind, groups, time, records)
        for path, part in records.parts.items():
            prefix = group_of_path(path)
            own = [file_id for file_id in groups if file_id.startswith(prefix)]
            yield from self._append_to(kind, own or [f"{prefix}0000-0"], time, part, begins=not own)

    def _append_to(
        self, kind: IndexKind, groups: Sequence[str], time: str, records: KeyedRecords, *, begins: bool = False
    ) -> Iterator[WriteStat]:
        """Write the log files of *groups*; of all where it *begins* them, with an empty block first, as Hudi does."""
        partition = kind.name
        for file_id, found in zip(groups, _split(records, kind, len(groups)), strict=True):
            if not (found or begins):
                continue
            name = LogFileName(file_id=file_id, instant=time, version=1, write_token=str(WriteToken(0, 0, 0)))
            schema = self.own.schema.avro_with_meta
            with LogWriter(partition, name, storage=self.own.storage) as writer:
                blocks = [delete_block(found.dropped.slice(0, 0), instant=time, partition_path=partition)] * begins
                blocks += encode_log_blocks(found, partition=partition, instant=time, schema=schema)
                appended = writer.append(*blocks)
            yield WriteStat(
                file_id=file_id,
                path=appended.path,
                prev_commit=time,
                partition_path=partition,
                num_writes=len(found.keys),
                num_update_writes=len(found.keys),
                num_deletes=len(found.dropped),
                total_write_bytes=appended.size,
                file_size_in_bytes=appended.size,
                log_version=name.version,
                log_offset=appended.offset,
                base_file="",
                log_files=(str(name),),
            )


def _split(records: KeyedRecords, kind: IndexKind, count: int) -> list[KeyedRecords]:
    """The records of each of *count* file groups."""
    if count == 1:
        return [records]
    numbers, dropped = (file_groups_of(kind.hashed(keys), count) for keys in (records.keys, records.dropped))
    rows = [pa.array(np.flatnonzero(numbers == group)) for group in range(count)]
    gone = [pa.array(np.flatnonzero(dropped == group)) for group in range(count)]
    return [
        KeyedRecords(records.keys.take(one), records.values.take(one), records.dropped.take(other))
        for one, other in zip(rows, gone, strict=True)
    ]
