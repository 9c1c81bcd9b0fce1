"""What time it is, for the instants of a table.

What reading a table and writing it have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone

from hudiformat.errors import SchemaError
from hudiformat.merge import RecordMerger
from hudiformat.options.values import WriteOptions
from hudiformat.storage import Storage
from hudiformat.table.schema import TableSchema
from hudiformat.timeline import (
    VERSION_WITH_COMPLETION_TIMES,
    Action,
    Instant,
    TableConfig,
    Timeline,
    TimelineZone,
    latest_schema,
    load_timeline,
    read_metadata,
)
from hudiformat.view import Visibility

Clock = Callable[[], datetime]
"""Gives the present moment in a table's time zone."""


@dataclass(frozen=True, slots=True)
class TableClock:
    """The present moment in the time zone that a table's instants are written in.  It travels to other processes."""

    zone: TimelineZone

    def __call__(self) -> datetime:
        """The moment, without a zone."""
        if self.zone is TimelineZone.UTC:
            return datetime.now(timezone.utc).replace(tzinfo=None)
        return datetime.now()  # noqa: DTZ005 - LOCAL, Hudi's default, is the machine's own zone


@dataclass(frozen=True, slots=True)
class TableContext:
    """Where a table is, its properties, and what was asked of it.  Every call looks at the timeline anew."""

    storage: Storage
    config: TableConfig
    options: WriteOptions
    clock: Clock
    merger: RecordMerger | None = None

    def timeline(self) -> Timeline:
        """The instants of the active timeline, as they are now."""
        return load_timeline(self.storage, self.config)

    def schema(self, *, as_of: str | None = None) -> TableSchema:
        """The schema of the newest commit, by *as_of* where that is given, or the one the table was created with.

        Raises:
            SchemaError: the table has neither.
        """
        timeline = self.timeline()
        if as_of is not None:
            timeline = Timeline(tuple(instant for instant in timeline.instants if instant.time <= as_of))
        avro = latest_schema(self.storage, self.config, timeline)
        if avro is None:
            raise SchemaError(f"{self.storage.root}: the table has no commit yet, and was created without a schema")
        schema = TableSchema(avro)
        # What is dropped from the files is not in the commits' schema either.
        return schema.with_texts(self.config.partition_fields) if self.config.drop_partition_columns else schema

    def visibility(self) -> Visibility:
        """Which instants' files can be seen now."""
        timeline = self.timeline()
        return Visibility.of(
            timeline,
            replaced={
                (path, file_id): instant.time
                for instant in timeline.completed_writes
                if instant.action is Action.REPLACE_COMMIT
                for path, ids in self._replaced_by(instant).items()
                for file_id in ids
            },
            logs_name_slices=self.config.version < VERSION_WITH_COMPLETION_TIMES,
        )

    def _replaced_by(self, instant: Instant) -> Mapping[str, tuple[str, ...]]:
        return read_metadata(self.storage, self.config, instant).partition_to_replace_file_ids or {}
