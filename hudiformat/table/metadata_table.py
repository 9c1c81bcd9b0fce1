"""Keeping up a table's metadata table: what each action says to its partition ``files``.

Rules: spec/metadata-table.md.  Source: HoodieBackedTableMetadataWriter, Hudi 1.2.0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from hudiformat.logfile import LogWriter
from hudiformat.metadata import (
    FILES,
    METADATA_FOLDER,
    Records,
    encode_log_block,
    records_of_clean,
    records_of_commit,
    records_of_deleted,
)
from hudiformat.naming import LogFileName, WriteToken, next_instant
from hudiformat.storage import FolderStorage, Storage
from hudiformat.table.clock import Clock
from hudiformat.table.leftovers import take_files_away
from hudiformat.table.schema import TableSchema
from hudiformat.table.stats import LogFileStats, WriteCounts
from hudiformat.timeline import (
    Action,
    CleanMetadata,
    CommitMetadata,
    Instant,
    Metadata,
    RestoreMetadata,
    RollbackMetadata,
    State,
    TableConfig,
    Timeline,
    complete,
    create_requested,
    instant_path,
    latest_schema,
    load_table_config,
    load_timeline,
    remove_pending,
    transition_inflight,
)
from hudiformat.view import PARTITION_METADATA_FILE

FILE_ID = "files-0000-0"
"""The one file group of the partition ``files``.  Source: HoodieTableMetadataUtil.getFileIDForFileGroup."""


@dataclass(frozen=True, slots=True)
class MetadataTable:
    """The metadata table of a table, as the table that it is: *storage* is its own, *outer* that of the table."""

    outer: Storage
    storage: FolderStorage
    config: TableConfig
    clock: Clock

    @classmethod
    def of(cls, outer: Storage, clock: Clock) -> MetadataTable | None:
        """That of the table at the root of *outer*; None where it has none."""
        if FILES not in load_table_config(outer).metadata_partitions:
            return None
        storage = FolderStorage(outer, METADATA_FOLDER)
        return cls(outer, storage, load_table_config(storage), clock)

    def timeline(self) -> Timeline:
        """The metadata table's own timeline."""
        return load_timeline(self.storage, self.config)

    def schema(self) -> TableSchema | None:
        """The schema of its records; None where no commit says it."""
        avro = latest_schema(self.storage, self.config, self.timeline())
        return None if avro is None else TableSchema(avro)

    def tell(self, instant: Instant, metadata: Metadata) -> str | None:
        """Commit what *instant* does to the listing; when that was completed, None where there is nothing to say.

        What an earlier attempt at the same instant said is taken back first.
        """
        self.take_back(instant.time)
        records = self._records(metadata)
        return self._commit(instant.time, records) if records else None

    def take_back(self, time: str) -> None:
        """Take away the delta commit *time*, where there is one.

        Nobody has counted it, as its instant is not completed on the table's timeline, so that there is no rollback on
        the metadata table's own.
        """
        for instant in self.timeline().instants:
            if instant.time == time and instant.action is Action.DELTA_COMMIT:
                if instant.is_completed:
                    self.storage.delete(instant_path(self.config, instant))
                take_files_away(self.storage, self.config, time)
                remove_pending(self.storage, self.config, Instant(time, Action.DELTA_COMMIT, State.INFLIGHT))

    def _records(self, metadata: Metadata) -> Records:
        if isinstance(metadata, CommitMetadata):
            return records_of_commit(metadata)
        if isinstance(metadata, CleanMetadata):
            return records_of_clean(metadata)
        if isinstance(metadata, RollbackMetadata):
            return self._undo([metadata])
        if isinstance(metadata, RestoreMetadata):
            every = (rollback for group in metadata.hoodie_restore_metadata.values() for rollback in group)
            return self._undo([rollback for rollback in every if rollback is not None])
        return {}

    def _undo(self, rollbacks: Sequence[RollbackMetadata]) -> Records:
        """Take back what the writes had said that are rolled back; of those that are in a base file, what to say."""
        files: defaultdict[str, list[str]] = defaultdict(list)
        for rollback in rollbacks:
            for time in rollback.commits_rollback:
                if not self._is_compacted(time):
                    self.take_back(time)
                    continue
                for path, partition in rollback.partition_metadata.items():
                    files[path] += [file.rpartition("/")[2] for file in partition.success_delete_files]
        return records_of_deleted(files, gone=[path for path in files if not self._is_partition(path)])

    def _is_compacted(self, time: str) -> bool:
        own = self.timeline()
        told = next((one for one in own.instants if one.time == time and one.action is Action.DELTA_COMMIT), None)
        if told is None:
            return time < (own.first_active or "")
        end = told.completion_time
        return end is not None and any(one.action is Action.COMMIT and one.time > end for one in own.completed)

    def _is_partition(self, path: str) -> bool:
        return self.outer.exists(f"{path}/{PARTITION_METADATA_FILE}" if path else PARTITION_METADATA_FILE)

    def _commit(self, time: str, records: Records) -> str:
        schema = self.schema()
        assert schema is not None  # noqa: S101 - without one it would have been dropped when the write began
        begun = create_requested(self.storage, self.config, time, Action.DELTA_COMMIT)
        begun = transition_inflight(self.storage, self.config, begun, CommitMetadata("UPSERT_PREPPED"))
        stats = LogFileStats(FILES, FILE_ID, time)
        name = LogFileName(file_id=FILE_ID, instant=time, version=1, write_token=str(WriteToken(0, 0, 0)))
        with LogWriter(FILES, name, storage=self.storage) as writer:
            block = encode_log_block(records, instant=time, schema=schema.avro_with_meta)
            stats.add(writer.append(block), WriteCounts(writes=len(records), updates=len(records)))
        metadata = CommitMetadata("UPSERT_PREPPED", {FILES: tuple(stats.finish())}, {"schema": schema.avro})
        now = self.next_instant()
        complete(self.storage, self.config, begun, metadata, completion_time=now)
        return now

    def next_instant(self) -> str:
        """An instant after all of both timelines."""
        outer = load_timeline(self.outer, load_table_config(self.outer)).latest_instant_time
        own = self.timeline().latest_instant_time
        return next_instant(self.clock(), max(filter(None, (outer, own)), default=None))
