"""The way into a write and out of it, for writers in this process and on a cluster alike.

``begin_write`` refuses what cannot be written, chooses
the instant and hands out the plan that the tasks share; leaving it without a commit takes everything away again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from hudiformat.errors import UnsupportedFeatureError, WriteConflictError
from hudiformat.options.enums import CdcMode, ConcurrencyMode, IndexType, Operation
from hudiformat.table.merging import delete_marker, merge_mode
from hudiformat.table.schema import TableSchema
from hudiformat.table.state import TableContext
from hudiformat.timeline import VERSION_WITH_COMPLETION_TIMES, TableType, WriteStat, load_table_config
from hudiformat.transaction.plan import (
    WritePlan,
    groups_being_compacted,
    groups_in_clustering,
    partial_schema,
    sizing_profile,
    without_filling,
)
from hudiformat.transaction.transaction import Transaction

WRITABLE_VERSIONS = (6, 8, 9)
"""The versions of tables that can be made and written to."""

AMBIGUOUS_KEYS = "tables below version 9 with the COMPLEX key generator and one record key field"
"""Releases of Hudi disagree on the form of their keys."""

Replaced = Mapping[str, tuple[str, ...]]
"""File groups by partition path."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A write that is visible.

    ``stats`` has an entry for every file that was made; sizes in it are bytes.

    Source: HoodieCommitMetadata; spec/timeline.md.
    """

    instant: str
    action: str
    stats: tuple[WriteStat, ...]

    @property
    def num_writes(self) -> int:
        """Records inserted and updated; a statistic's own ``num_writes`` has those too that a file only copied."""
        return sum(stat.num_inserts + stat.num_update_writes for stat in self.stats)

    @property
    def num_deletes(self) -> int:
        """Deletes written."""
        return sum(stat.num_deletes or 0 for stat in self.stats)


@dataclass(frozen=True, slots=True)
class OpenWrite:
    """A write that has begun."""

    plan: WritePlan
    transaction: Transaction

    def commit(
        self,
        stats: Iterable[WriteStat],
        extra: Mapping[str, str] | None = None,
        replaced: Replaced | None = None,
    ) -> Commit:
        """Make the write visible, with *extra* in the extra metadata of the commit.

        *replaced* are the file groups that the write takes out of the table, by partition path.

        Raises:
            CommitError: it could not be; the table is as it was.
        """
        done, metadata = self.transaction.commit(self.plan.operation, stats, self.plan.schema.avro, extra, replaced)
        every = tuple(stat for group in metadata.partition_to_write_stats.values() for stat in group)
        return Commit(done.time, done.action.value, every)


def write_and_commit(
    context: TableContext,
    operation: Operation,
    write_files: Callable[[WritePlan], Iterable[WriteStat]],
    extra: Mapping[str, str] | None = None,
    *,
    replace: Callable[[WritePlan, Sequence[WriteStat]], Replaced] | None = None,
) -> Commit:
    """A write from its beginning to its commit; *write_files* makes the files and says what they hold.

    *extra* goes into the extra metadata of the commit.  *replace* says what the write takes out of the table, by what
    it has written.

    Where another writer was faster, the write is begun anew ``hoodie.write.num.retries.on.conflict.failures`` times.

    Raises:
        UnsupportedFeatureError: the table cannot be written.
        WriteConflictError: another writer was faster every time.
        CommitError: the write could not be made visible; the table is as it was.
    """

    def once() -> Commit:
        with begin_write(context, operation) as write:
            stats = tuple(write_files(write.plan))
            return write.commit(stats, extra, replace(write.plan, stats) if replace else None)

    for _ in range(context.options.concurrency.conflict_retries):
        with suppress(WriteConflictError):
            return once()
    return once()


@contextmanager
def begin_write(context: TableContext, operation: Operation) -> Iterator[OpenWrite]:
    """A write of *context*'s table; leaving the block without a commit takes everything away again.

    Raises:
        UnsupportedFeatureError: the table cannot be written.
    """
    write = start_write(context, operation)
    try:
        yield write
    finally:
        write.transaction.abandon()


def start_write(context: TableContext, operation: Operation) -> OpenWrite:
    """As :func:`begin_write`, where the caller sees to the end: commit, or ``transaction.abandon()``."""
    refuse_unwritable(context)
    schema = context.schema()
    transaction = Transaction.begin(context, operation)
    return OpenWrite(write_plan(context, operation, schema, transaction.instant.time), transaction)


def write_plan(context: TableContext, operation: Operation, schema: TableSchema, instant: str) -> WritePlan:
    """What the tasks of a write at *instant* have to know of the table as it is now."""
    visibility = context.visibility()
    fills = context if partial_schema(operation, context.options) is None else without_filling(context)
    return WritePlan(
        root=context.storage.root,
        config=context.config,
        schema=schema,
        options=context.options,
        operation=operation,
        instant=instant,
        visibility=visibility,
        sizing=sizing_profile(fills) if _is_sized(context, operation) else None,
        in_clustering=groups_in_clustering(context),
        compactions=groups_being_compacted(context, context.timeline()) if visibility.logs_name_slices else {},
    )


def _is_sized(context: TableContext, operation: Operation) -> bool:
    """Whether new rows are placed by sizing; where a key's hash says where it goes, or nothing asks, they are not."""
    # The user's own merger is asked when rows are read, so the rows have to go into log files.
    if context.merger is not None or context.options.index_type is IndexType.BUCKET:
        return False
    return operation in (Operation.INSERT, Operation.UPSERT)


def refuse_unwritable(context: TableContext) -> None:
    """Raise an UnsupportedFeatureError for a table that cannot be written yet."""
    config = context.config
    refused = {
        f"table version {config.version}": config.version not in WRITABLE_VERSIONS,
        AMBIGUOUS_KEYS: config.has_ambiguous_keys,
        "COPY_ON_WRITE tables with a merger of one's own": (
            config.table_type is TableType.COPY_ON_WRITE and context.merger is not None
        ),
        "tables without meta fields": not config.populate_meta_fields,
        f"change data in the mode {config.cdc_supplemental_logging_mode}": (
            config.cdc_enabled and config.cdc_supplemental_logging_mode not in {mode.value for mode in CdcMode}
        ),
        "slash-separated dates": config.slash_separated_dates,
        "custom delete markers": delete_marker(config) is not None,
        "dropped partition columns": config.drop_partition_columns,
        f"base files of format {config.base_file_format}": config.base_file_format.upper() != "PARQUET",
        "partition metadata files in base-file format": config.partition_metafile_use_base_format,
        "bootstrapped tables": config.bootstrap_base_path is not None,
        f"the index {context.options.index_type.value}": not context.options.index_type.is_supported,
        "a metadata table of its own (hoodie.metadata.enable=true)": (
            context.options.metadata_enable is True and not load_table_config(context.storage).metadata_partitions
        ),
        f"without blocking other writers in table version {config.version}": (
            context.options.concurrency.mode is ConcurrencyMode.NON_BLOCKING
            and config.version < VERSION_WITH_COMPLETION_TIMES
        ),
        "without blocking other writers but with a bucket index and log files": (
            context.options.concurrency.mode is ConcurrencyMode.NON_BLOCKING
            and (context.options.index_type is not IndexType.BUCKET or config.table_type is TableType.COPY_ON_WRITE)
        ),
    }
    for feature, present in refused.items():
        if present:
            raise UnsupportedFeatureError(f"{context.storage.root}: cannot write {feature} yet", feature=feature)
    merge_mode(config)
