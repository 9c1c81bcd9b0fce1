"""Keeping up a table's metadata table, or dropping it before anything else is changed.

Each action is recorded in the partition ``files``.  Other partitions are dropped, as Hudi's writers drop those that
they do not write.  A metadata table in an unknown state is dropped as a whole: Hudi's readers list files from it, so
the files of the write would be invisible.

Rules: spec/metadata-table.md.  Source: HoodieBackedTableMetadataWriter, HoodieTable.deleteMetadataTableIfNecessary,
HoodieTableMetadataUtil.deleteMetadataTable, Hudi 1.2.0.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone

from hudiformat.errors import (
    CorruptTableError,
    HudiFormatWarning,
    NotATableError,
    SchemaError,
    UnsupportedFeatureError,
)
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
from hudiformat.naming import LogFileName, WriteToken, base_name, join_path, next_instant
from hudiformat.options import WriteOptions
from hudiformat.storage import FolderStorage
from hudiformat.table import TableContext, TableState
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
    complete,
    create_requested,
    instant_path,
    load_table_config,
    remove_pending,
    transition_inflight,
    update_table_config,
)
from hudiformat.transaction.files import LogFileStats, WriteCounts, delete_files
from hudiformat.view import PARTITION_METADATA_FILE

FILE_ID = "files-0000-0"
"""The one file group of the partition ``files``.  Source: HoodieTableMetadataUtil.getFileIDForFileGroup."""

_PARTITIONS = "hoodie.table.metadata.partitions"
_INFLIGHT = "hoodie.table.metadata.partitions.inflight"


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

    def record(self, instant: Instant, metadata: Metadata) -> str | None:
        """Commit what *instant* changes in the listing; the completion time, or None where it changes nothing.

        What an earlier attempt at the same instant recorded is removed first.
        """
        table = self.without(instant.time)
        records = table._records(metadata)  # noqa: SLF001 - of the same class
        if isinstance(metadata, (RollbackMetadata, RestoreMetadata)):
            table = table.refreshed()  # delta commits of what was rolled back have been dropped
        return table._commit(instant.time, records) if records else None  # noqa: SLF001

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
            delete_files(storage, config, time)
            remove_pending(storage, config, Instant(time, Action.DELTA_COMMIT, State.INFLIGHT))
        return self.refreshed() if recorded else self

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
        """Drop the delta commits of rolled-back writes.

        For writes that were already compacted into a base file, return the delete records.
        """
        files: defaultdict[str, list[str]] = defaultdict(list)
        for rollback in rollbacks:
            for time in rollback.commits_rollback:
                if not self._is_compacted(time):
                    self.without(time)
                    continue
                for path, partition in rollback.partition_metadata.items():
                    files[path] += [base_name(file) for file in partition.success_delete_files]
        return records_of_deleted(files, gone=[path for path in files if not self._is_partition(path)])

    def _is_compacted(self, time: str) -> bool:
        timeline = self.own.timeline
        recorded = (one for one in timeline.instants if one.time == time and one.action is Action.DELTA_COMMIT)
        instant = next(recorded, None)
        if instant is None:
            return time < (timeline.first_active or "")
        end = instant.completion_time
        return end is not None and any(one.action is Action.COMMIT and one.time > end for one in timeline.completed)

    def _is_partition(self, path: str) -> bool:
        return self.outer.storage.exists(join_path(path, PARTITION_METADATA_FILE))

    def _commit(self, time: str, records: IndexRecords) -> str:
        storage, config, schema = self.own.storage, self.own.config, self.own.schema
        begun = create_requested(storage, config, time, Action.DELTA_COMMIT)
        begun = transition_inflight(storage, config, begun, CommitMetadata("UPSERT_PREPPED"))
        stats = LogFileStats(FILES, FILE_ID, time)
        name = LogFileName(file_id=FILE_ID, instant=time, version=1, write_token=str(WriteToken(0, 0, 0)))
        with LogWriter(FILES, name, storage=storage) as writer:
            block = encode_log_block(records, instant=time, schema=schema.avro_with_meta)
            stats.add(writer.append(block), WriteCounts(writes=len(records), updates=len(records)))
        metadata = CommitMetadata("UPSERT_PREPPED", {FILES: tuple(stats.finish())}, {"schema": schema.avro})
        # The instant itself is on the timeline by now.
        now = next_instant(self.outer.context.clock(), max(time, self.next_instant))
        complete(storage, config, begun, metadata, completion_time=now)
        return now


def prepare_metadata_table(state: TableState) -> TableState:
    """Make sure that the metadata table can be kept up, or is dropped; the state of the table after that.

    To be called under the table's lock, before the first change.  A warning reports what is dropped, unless the options
    ask for it.
    """
    config, root = state.config, state.storage.root
    asked_for = state.options.metadata_enable is False
    reason = None if asked_for or not config.metadata_partitions else _why_not(state)
    others = [name for name in config.metadata_partitions if name != FILES]
    if not config.metadata_partitions or not (asked_for or reason or others):
        return state
    if reason is not None:
        _warn(f"{root}: the metadata table {reason}, and is dropped; a writer of Hudi's that has it on builds it anew")
    elif not asked_for:
        _warn(
            f"{root}: of the metadata table only the partition {FILES} is kept up; {', '.join(others)} are dropped, "
            "and built anew by a writer of Hudi's that has them on"
        )
    _drop(state, config.metadata_partitions if asked_for or reason is not None else others)
    return state.context.state()


def _why_not(state: TableState) -> str | None:
    """Why the metadata table cannot be kept up, as the rest of a sentence; None where it can."""
    config = state.config
    if config.version < VERSION_WITH_COMPLETION_TIMES:
        return f"of a table of version {config.version} is not kept up"
    if FILES not in config.metadata_partitions:
        return f"has no partition {FILES}"
    if being_built := config.properties.get(_INFLIGHT):
        return f"is being built ({being_built})"
    return _why_not_as_it_is(state)


def _why_not_as_it_is(state: TableState) -> str | None:
    config = state.config
    try:
        table = MetadataTable.of(state)
        if table.own.config.version != config.version:
            return f"has version {table.own.config.version}, the table {config.version}"
        _ = table.own.schema
        pending = [instant for instant in table.own.timeline.pending if instant.action is not Action.DELTA_COMMIT]
    except SchemaError:
        return "has no commit"
    except (CorruptTableError, NotATableError, UnsupportedFeatureError) as error:
        return f"cannot be read ({error})"
    others = len(config.metadata_partitions) > 1
    return f"has a partition that cannot go while {pending[0]} is pending" if pending and others else None


def _drop(state: TableState, partitions: Iterable[str]) -> None:
    """Remove *partitions*, or with ``files`` all of them, from the properties, and then delete them.

    In this order: a reader that finds no folder under properties that name one would fail.
    """
    gone = set(partitions)
    left = [name for name in state.config.metadata_partitions if name not in gone]
    changes = {_PARTITIONS: ",".join(left), **({} if left else {_INFLIGHT: ""})}
    update_table_config(state.storage, changes, saved_at=datetime.now(timezone.utc))
    for folder in sorted(f"{METADATA_FOLDER}/{name}" for name in gone) if left else [METADATA_FOLDER]:
        state.storage.delete_folder(folder)


def drop_metadata_table(state: TableState) -> TableState:
    """Delete the metadata table, if there is one; the state of the table after that."""
    if not state.config.metadata_partitions:
        return state
    _drop(state, state.config.metadata_partitions)
    return state.context.state()


def _warn(message: str) -> None:
    warnings.warn(message, HudiFormatWarning, stacklevel=4)
