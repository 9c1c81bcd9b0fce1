"""The settings of a simulated writer: whose rules it follows, and Hudi's keys with Hudi's defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TypeVar

from hudiformat.errors import ArgumentError, UnsupportedFeatureError
from hudiformat.sink.options import SinkOptions, parse_sink_options
from hudiformat.sizing.flink_buffers import FlinkBuffers, take_flink_keys
from hudiformat.sizing.key_groups import Parallelism
from hudiformat.sizing.small_files import Kind
from hudiformat.table.options.buckets import BucketEngine
from hudiformat.table.options.keys import parse_write_options
from hudiformat.table.options.values import IndexType, SizingEngine, WriteOptions
from hudiformat.timeline.archive.archiving import ArchiveLimits
from hudiformat.timeline.table_config import TableType

_Member = TypeVar("_Member", bound=Enum)


class Engine(str, Enum):
    """Whose writer is simulated.

    Source: docs/simulate.md.
    """

    HUDIFORMAT = "hudiformat"
    SPARK = "spark"
    FLINK = "flink"
    FILES = "files"
    """The streaming file sink, which adds files to a folder that is no table."""


class Writing(str, Enum):
    """How new rows are written.

    Source: docs/simulate.md.
    """

    UPSERT = "upsert"
    """New rows fill small file groups first; inserts do the same."""
    BULK_INSERT = "bulk_insert"
    """Each task opens a file group in each partition that it has rows of; small file groups are not filled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a simulation, checked.

    ``tasks`` are the tasks of Flink's writer or of the file sink, or those of a bulk insert.  The file sink has the
    options ``sink`` and no others.  ``buffers`` are those of Flink's tasks.
    """

    engine: Engine
    table_type: TableType
    options: WriteOptions
    writing: Writing = Writing.UPSERT
    tasks: int = 1
    sink: SinkOptions = field(default_factory=SinkOptions)
    buffers: FlinkBuffers = field(default_factory=FlinkBuffers)

    @classmethod
    def of(
        cls,
        options: Mapping[str, str] | None = None,
        *,
        engine: str = Engine.HUDIFORMAT.value,
        table_type: str = TableType.COPY_ON_WRITE.value,
        writing: str = Writing.UPSERT.value,
        tasks: int = 1,
        onto: WriteOptions | None = None,
    ) -> Settings:
        """Return settings from Hudi's keys; a key that is not given has its value in *onto*, or Hudi's default.

        The keys of the file sink are Flink's, and so are those of Flink's buffers.

        Raises:
            OptionError: a key is unknown, or does not accept its value.
            ArgumentError: there is no such engine, table type or way of writing, or no task.
            UnsupportedFeatureError: a setting is not simulated.
        """
        chosen = _member(Engine, "engine", engine)
        kind = _member(TableType, "table_type", table_type)
        of_sink = chosen is Engine.FILES
        keys, buffers = take_flink_keys(options or {}) if chosen is Engine.FLINK else (options, FlinkBuffers())
        parsed = parse_write_options(None if of_sink else keys, onto)
        if chosen is Engine.FLINK:
            parsed = _of_flink(parsed, options or {})
        if tasks < 1:
            raise ArgumentError(f"tasks: expected at least 1, found {tasks}", argument="tasks")
        if chosen is Engine.FLINK:
            Parallelism.of(tasks)  # raises for too many
        settings = cls(
            engine=chosen,
            table_type=kind,
            options=parsed,
            writing=_member(Writing, "writing", writing),
            tasks=tasks,
            sink=parse_sink_options(options if of_sink else None),
            buffers=buffers,
        )
        settings.refuse_unsupported()
        return settings

    def refuse_unsupported(self) -> None:
        """Refuse settings that are not simulated.

        Raises:
            UnsupportedFeatureError: one is found; it is named.
        """
        options = self.options
        found = {
            "consistent hashing of a copy-on-write table": self.resizes and self.table_type is TableType.COPY_ON_WRITE,
            "consistent hashing with rules for the number of buckets": self.resizes and bool(options.bucketing.rules),
            "clustering of buckets without consistent hashing": self.has_buckets
            and options.clustering.inline
            and not self.resizes,
            "bulk inserts into buckets": self.has_buckets and self.writing is Writing.BULK_INSERT,
            "partition TTL": options.expiry.inline,
            "log compaction": options.services.log_compaction,
            "hoodie.merge.small.file.group.candidates.limit above 1": self.kind is Kind.MOR_BLIND
            and options.sizing.candidates_limit > 1,
        }
        for what, is_there in found.items():
            if is_there:
                raise UnsupportedFeatureError(
                    f"cannot simulate: expected settings without {what}, found it; leave it out",
                    feature=f"simulation of {what}",
                )

    @property
    def target_size(self) -> int:
        """The bytes that a file is to have."""
        if self.engine is not Engine.FILES:
            return self.options.sizing.max_file_size
        merges = self.sink.auto_compaction or self.sink.holds
        return self.sink.compaction_target if merges else self.sink.file_size

    @property
    def small_size(self) -> int:
        """The bytes below which a file is small; of the file sink, what Hudi's default is of the target."""
        if self.engine is not Engine.FILES:
            return self.options.sizing.small_file_limit
        return self.target_size * 5 // 6

    @property
    def has_buckets(self) -> bool:
        """Whether the hash of a record key determines its file group."""
        return self.options.index_type is IndexType.BUCKET

    @property
    def resizes(self) -> bool:
        """Whether clusterings split and merge the buckets, by consistent hashing."""
        return self.has_buckets and self.options.bucket_engine is BucketEngine.CONSISTENT_HASHING

    @property
    def kind(self) -> Kind:
        """Which file groups of the table may take new rows."""
        if self.table_type is TableType.COPY_ON_WRITE:
            return Kind.COW
        sees_logs = self.engine is Engine.FLINK or self.has_buckets or self.options.index_type.indexes_log_files
        return Kind.MOR if sees_logs else Kind.MOR_BLIND

    @property
    def uses_flink(self) -> bool:
        """Whether Flink's rules assign new rows."""
        return self.options.sizing_engine is SizingEngine.FLINK

    @property
    def lanes(self) -> int:
        """Among how many writers, each with file groups of its own, the new rows of a partition are divided."""
        if self.has_buckets or self.writing is Writing.BULK_INSERT or not self.uses_flink:
            return 1
        return self.tasks if self.engine is Engine.FLINK else max(self.options.sizing_tasks, 1)

    @property
    def fills_small_files(self) -> bool:
        """Whether new rows may go to file groups that exist."""
        return self.writing is not Writing.BULK_INSERT and self.options.sizing.small_file_limit > 0

    @property
    def logs_new_rows(self) -> bool:
        """Whether new rows go to log files."""
        return self.kind is Kind.MOR and self.writing is not Writing.BULK_INSERT

    @property
    def opens_always(self) -> bool:
        """Whether new rows go to new file groups, whatever there is."""
        return not self.has_buckets and not self.fills_small_files

    def buckets_in(self, path: str) -> int:
        """Return the buckets of a partition."""
        return self.options.bucketing.count_in(path, self.options.num_buckets)

    @property
    def compacts(self) -> bool:
        """Whether a compaction runs after a commit when it is due."""
        return self.table_type is TableType.MERGE_ON_READ and self.options.services.compact_inline

    @property
    def archive_limits(self) -> ArchiveLimits:
        """How many commits stay on the active timeline."""
        services = self.options.services
        return ArchiveLimits(services.archive_max_commits, services.archive_min_commits)


def _of_flink(parsed: WriteOptions, given: Mapping[str, str]) -> WriteOptions:
    """Return options with what Hudi's Flink writer does by default: its own rules, and compactions beside the stream.

    Source: FlinkOptions.COMPACTION_ASYNC_ENABLED, Hudi 1.2.0.
    """
    services = parsed.services
    if "hoodie.compact.inline" not in given:
        services = replace(services, compact_inline=True)
    return replace(parsed, sizing_engine=SizingEngine.FLINK, services=services)


def _member(kind: type[_Member], name: str, value: str) -> _Member:
    try:
        return kind(value)
    except ValueError as error:
        known = " or ".join(str(one.value) for one in kind)
        raise ArgumentError(f"{name}: expected {known}, found {value!r}", argument=name) from error
