"""Keeping up a table's metadata table: what each action says to its partition ``files``.

Rules: spec/metadata-table.md.  Source: HoodieBackedTableMetadataWriter, Hudi 1.2.0.

Whether a write keeps the table's metadata table up, or gives it up before anything else.

The partition ``files`` is kept up; others are taken away, as Hudi's writers do with those that they do not write.  One
that is in no known state goes as a whole: if it were left as it is, the files of the write would be invisible, for
Hudi's readers list files from there.

Source: HoodieTable.deleteMetadataTableIfNecessary, HoodieTableMetadataUtil.deleteMetadataTable, Hudi 1.2.0.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from hudiformat.errors import CorruptTableError, HudiFormatWarning, NotATableError, UnsupportedFeatureError
from hudiformat.logfile import LogWriter
from hudiformat.metadata import (
    FILES,
    METADATA_FOLDER,
    IndexRecords,
    encode_log_block,
    records_of_clean,
    records_of_commit,
    records_of_deleted,
)
from hudiformat.naming import LogFileName, WriteToken, next_instant
from hudiformat.storage import FolderStorage, Storage
from hudiformat.table.schema import TableSchema
from hudiformat.table.state import Clock, TableContext
from hudiformat.timeline import (
    VERSION_WITH_COMPLETION_TIMES,
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
    update_table_config,
)
from hudiformat.transaction.files import LogFileStats, WriteCounts, take_files_away
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

    def _records(self, metadata: Metadata) -> IndexRecords:
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

    def _undo(self, rollbacks: Sequence[RollbackMetadata]) -> IndexRecords:
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

    def _commit(self, time: str, records: IndexRecords) -> str:
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


_PARTITIONS = "hoodie.table.metadata.partitions"
_INFLIGHT = f"{_PARTITIONS}.inflight"


def prepare_metadata_table(context: TableContext) -> None:
    """See to it that the metadata table can be kept up, or is gone; warn of what goes unless the options ask for it.

    To be called under the table's lock, before the first change.
    """
    config, root = load_table_config(context.storage), context.storage.root
    if not config.metadata_partitions:
        return
    reason = None if context.options.metadata_enable is False else _why_not(context, config)
    others = [name for name in config.metadata_partitions if name != FILES]
    if context.options.metadata_enable is False:  # somebody has said that it shall go
        _drop(context.storage, config.metadata_partitions)
    elif reason is not None:
        _warn(f"{root}: the metadata table {reason}, and is dropped; a writer of Hudi's that has it on builds it anew")
        _drop(context.storage, config.metadata_partitions)
    elif others:
        _warn(
            f"{root}: of the metadata table only the partition {FILES} is kept up; {', '.join(others)} are dropped, "
            "and built anew by a writer of Hudi's that has them on"
        )
        _drop(context.storage, others)


def _why_not(context: TableContext, config: TableConfig) -> str | None:
    """Why the metadata table cannot be kept up, to go on after its name; None where it can."""
    if config.version < VERSION_WITH_COMPLETION_TIMES:
        return f"of a table of version {config.version} is not kept up"
    if FILES not in config.metadata_partitions:
        return f"has no partition {FILES}"
    if being_built := config.properties.get(_INFLIGHT):
        return f"is being built ({being_built})"
    return _why_not_as_it_is(context, config)


def _why_not_as_it_is(context: TableContext, config: TableConfig) -> str | None:
    try:
        table = MetadataTable.of(context.storage, context.clock)
        assert table is not None  # noqa: S101 - it has the partition
        if table.config.version != config.version:
            return f"has version {table.config.version}, the table {config.version}"
        if table.schema() is None:
            return "has no commit"
        pending = [instant for instant in table.timeline().pending if instant.action is not Action.DELTA_COMMIT]
    except (CorruptTableError, NotATableError, UnsupportedFeatureError) as error:
        return f"cannot be read ({error})"
    others = len(config.metadata_partitions) > 1
    return f"has a partition that cannot go while {pending[0]} is pending" if pending and others else None


def _drop(storage: Storage, partitions: Iterable[str]) -> None:
    """Take *partitions*, or with ``files`` all of it, out of the properties, and then away.

    In this order: a reader that finds no folder under properties that name one would fail.
    """
    gone = set(partitions)
    left = [name for name in load_table_config(storage).metadata_partitions if name not in gone]
    changes = {_PARTITIONS: ",".join(left), **({} if left else {_INFLIGHT: ""})}
    update_table_config(storage, changes, saved_at=datetime.now(timezone.utc))
    for folder in sorted(f"{METADATA_FOLDER}/{name}" for name in gone) if left else [METADATA_FOLDER]:
        storage.delete(folder)


def _warn(message: str) -> None:
    warnings.warn(message, HudiFormatWarning, stacklevel=4)
