"""A table as its users see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hudiformat import services
from hudiformat.merge import RecordMerger
from hudiformat.services import TableFinding
from hudiformat.sizing import PartitionPlan
from hudiformat.storage import Location, open_storage
from hudiformat.table.agreement import options_of
from hudiformat.table.as_of import as_instant, check_as_of
from hudiformat.table.begin import Commit
from hudiformat.table.changes import ChangeReader, change_schema, refuse_without_changes
from hudiformat.table.clock import Clock, TableClock
from hudiformat.table.context import TableContext
from hudiformat.table.incremental import Span, writes_within, written_by, written_slices
from hudiformat.table.listing import partition_files
from hudiformat.table.overwrite import delete_partitions, overwrite
from hudiformat.table.plan import Operation
from hudiformat.table.planning import plan_inserts
from hudiformat.table.pruning import PartitionPruner, fits
from hudiformat.table.read import SliceReader, refuse_unreadable
from hudiformat.table.scan import Scan
from hudiformat.table.skipping import without_skipped
from hudiformat.table.slice_query import SliceQuery
from hudiformat.table.write import write_rows
from hudiformat.timeline import Instant, TableConfig, Timeline, load_table_config
from hudiformat.view import FileSlice, build_slices, latest_slices, paused_collection


def open_table(
    path: Location,
    *,
    options: Mapping[str, str] | None = None,
    clock: Clock | None = None,
    merger: RecordMerger | None = None,
) -> Table:
    """The table at *path*: a local path, a URI as ``s3://bucket/table``, or what ``open_storage`` returns.

    *options* are Hudi's keys for what this table object writes and, as ``hoodie.memory.merge.max.size``, how it reads.
    *clock* gives the present moment in the table's time zone; without it the machine's clock does.  *merger* merges
    records in place of what the table's properties say, which a table with a custom merge mode needs.

    Raises:
        NotATableError: there is no table at *path*.
        UnsupportedFeatureError: the table has a version that is not supported.
        CorruptTableError: its properties are damaged.
        OptionError: an unknown option or a bad value.

    Source: HoodieTableMetaClient; spec/table-properties.md.
    """
    storage = open_storage(path)
    config = load_table_config(storage)
    chosen = options_of(config, options or {})
    return Table(TableContext(storage, config, chosen, clock or TableClock(config.timeline_zone), merger=merger))


class Table:
    """A Hudi table: its timeline, its file slices, its rows, and the writes to it.

    Every call looks at the timeline anew, so a table object sees what others commit.  Made by :func:`open_table` and
    :func:`create_table`.

    Raises:
        UnsupportedFeatureError: from any call that meets something of Hudi's that is not supported, by its name.

    Source: HoodieTableMetaClient, HoodieTableFileSystemView, SparkRDDWriteClient.
    """

    def __init__(self, context: TableContext) -> None:
        self.context = context

    @property
    def path(self) -> str:
        """The base path."""
        return self.context.storage.root

    @property
    def config(self) -> TableConfig:
        """The table's properties."""
        return self.context.config

    @property
    def timeline(self) -> Timeline:
        """The instants of the active timeline, as they are now."""
        return self.context.timeline()

    @property
    def schema(self) -> pa.Schema:
        """The table's own columns, without the meta fields."""
        return self.context.schema().arrow

    def file_slices(self, partition: str | None = None, *, as_of: str | date | None = None) -> list[FileSlice]:
        """The newest file slice of each file group, of one partition path or of all, as of an instant or now.

        Files are listed by the table's metadata table where it has one, unless ``hoodie.metadata.enable`` is false.

        Source: AbstractTableFileSystemView.getLatestMergedFileSlicesBeforeOrOn.
        """
        return self._slices(partition, as_of)

    def _slices(
        self, partition: str | None, as_of: str | date | None, pruner: PartitionPruner | None = None
    ) -> list[FileSlice]:
        refuse_unreadable(self.config)
        visibility = self.context.visibility()
        moment = self._moment(as_of)
        with paused_collection():
            return [
                file_slice
                for path, files in partition_files(self.context, partition, pruner=pruner)
                for file_slice in latest_slices(build_slices(path, files, visibility, as_of=moment))
            ]

    def _moment(self, as_of: str | date | None) -> str | None:
        return None if as_of is None else as_instant(as_of, self.config.timeline_zone)

    def snapshot(
        self,
        as_of: str | date | None = None,
        columns: list[str] | None = None,
        filter: pc.Expression | None = None,  # noqa: A002 - the name that pyarrow uses too
    ) -> pa.Table:
        """The newest rows, base files and log files merged.

        *as_of* is an instant, a date or a datetime: rows as of that moment.  *columns* picks columns, meta fields
        included.  *filter* is a pyarrow expression over the columns that are read.

        Raises:
            SchemaError: the table has no such column, or *filter* does not fit the columns.
            DecodeError: a log block is damaged inside.

        Source: HoodieFileGroupReader; spec/merging.md.
        """
        return self.scan(as_of=as_of, columns=columns, filter=filter).read_all()

    def read_optimized(
        self,
        as_of: str | date | None = None,
        columns: list[str] | None = None,
        filter: pc.Expression | None = None,  # noqa: A002
    ) -> pa.Table:
        """The rows of the newest base files alone, without their log files; arguments as for :meth:`snapshot`.

        Raises:
            SchemaError: the table has no such column.

        Source: BaseFileOnlyRelation.
        """
        return self.scan(as_of=as_of, columns=columns, filter=filter, with_logs=False).read_all()

    def scan(
        self,
        *,
        as_of: str | date | None = None,
        columns: list[str] | None = None,
        filter: pc.Expression | None = None,  # noqa: A002
        with_logs: bool = True,
    ) -> Scan:
        """As :meth:`snapshot`, read batch by batch when the rows are asked for, file slice after file slice.

        Memory is bounded by the log files of a slice, and by ``hoodie.memory.merge.max.size`` of them.

        Raises:
            SchemaError: the table has no such column.

        Source: HoodieFileGroupReader; spec/merging.md.
        """
        reader = self.slice_reader(as_of=as_of)
        query = SliceQuery(reader, columns, filter, with_logs)
        pruner = _pruner(reader, filter)
        slices = self._slices(None, as_of, pruner)
        if pruner is not None:
            slices = without_skipped(self.context, slices, pruner, with_logs=with_logs)
        return query.scan(self.context.storage, slices)

    def incremental(
        self,
        begin: str | date,
        end: str | date | None = None,
        columns: list[str] | None = None,
        filter: pc.Expression | None = None,  # noqa: A002
    ) -> pa.Table:
        """The rows that were written after *begin* and up to *end*, or up to now, in the state of the last of them.

        Moments are completion times from table version 8 on, instants below; both are in ``timeline``.  ``"000"`` is
        before all of them.  Deletes leave no rows: see :meth:`cdc`.  Where files of that time have been cleaned away,
        those of the table's newest rows are given that were written then.

        Raises:
            StorageError: in a table of version 6, files of that time have been cleaned away.
            TableError: in a table of version 6, a write is pending that later ones have overtaken.
            UnsupportedFeatureError: the table has no meta fields.

        Source: MergeOnReadIncrementalRelationV1 and V2, Hudi 1.2.0; spec/queries.md.
        """
        refuse_unreadable(self.config)
        span = Span.of(self.context, begin, end)
        writes = writes_within(self.context, span)
        reader = replace(self.slice_reader(), incremental=True)
        query = SliceQuery(reader, columns, filter, written_by=written_by(self.context, span, writes))
        slices = written_slices(self.context, writes)
        slices = self.file_slices() if slices is None else slices
        pruner = _pruner(reader, filter)
        if pruner is not None:
            slices = without_skipped(self.context, slices, pruner, with_logs=True)
        return query.scan(self.context.storage, slices).read_all()

    def cdc(
        self,
        begin: str | date,
        end: str | date | None = None,
        columns: list[str] | None = None,
        filter: pc.Expression | None = None,  # noqa: A002
    ) -> pa.Table:
        """What was done to each record after *begin* and up to *end*, or up to now; moments as for :meth:`incremental`.

        Columns, all texts: ``op`` (``i``, ``u`` or ``d``), ``ts_ms`` (the instant of the write), ``before`` and
        ``after`` (the record as JSON).  *columns* picks some of them, and *filter* is an expression over all of them.

        Raises:
            SchemaError: there is no such column, or *filter* does not fit the columns.
            StorageError: files of that time have been cleaned away.
            UnsupportedFeatureError: the table keeps no change data (``hoodie.table.cdc.enabled``).

        Source: HoodieCDCExtractor, CDCFileGroupIterator, Hudi 1.2.0; spec/queries.md.
        """
        refuse_unreadable(self.config)
        refuse_without_changes(self.context)
        writes = writes_within(self.context, Span.of(self.context, begin, end))
        schema = change_schema(columns)
        changes = ChangeReader(self.context, self.slice_reader()).changes(writes, columns, filter)
        return pa.Table.from_batches(changes, schema)

    def slice_reader(self, *, as_of: str | date | None = None) -> SliceReader:
        """What reads single slices of the table, here or in another process.

        Raises:
            TableError: what was in the table at *as_of* cannot be told, or not any more.
        """
        moment = self._moment(as_of)
        if moment is not None:
            check_as_of(self.context, moment)
        context = self.context
        return SliceReader(
            self.config,
            context.schema(as_of=moment),
            context.visibility(),
            moment,
            merger=context.merger,
            merge_memory=context.options.merge_memory,
            damage=context.options.damage,
        )

    def insert(self, data: Any) -> Commit:
        """Add rows as they are, without a look at the rows that are there; small files are filled first.

        *data* is anything with ``__arrow_c_stream__``.  A key that is there already is there twice then, unless
        ``hoodie.datasource.insert.dup.policy`` says drop or fail.

        Raises:
            SchemaError: its columns contradict the table's, or have a type that Avro cannot hold.
            DataError: a key column is missing, or a record key is null.
            CommitError: the write did not become visible.

        Source: SparkInsertDeltaCommitActionExecutor.
        """
        return self._write(Operation.INSERT, data)

    def upsert(self, data: Any) -> Commit:
        """Add rows, and replace those that have the same record key and partition path.

        Rows with ``_hoodie_is_deleted`` are deletes.  Arguments and errors are those of :meth:`insert`.

        Raises:
            SchemaError, DataError, CommitError: as for :meth:`insert`.

        Source: SparkUpsertDeltaCommitActionExecutor.
        """
        return self._write(Operation.UPSERT, data)

    def bulk_insert(self, data: Any) -> Commit:
        """Add rows in new file groups, whatever their number and whatever is there.

        ``hoodie.bulkinsert.sort.mode`` says in which order.  Arguments and errors are those of :meth:`insert`.

        Raises:
            SchemaError, DataError, CommitError: as for :meth:`insert`.

        Source: SparkBulkInsertDeltaCommitActionExecutor.
        """
        return self._write(Operation.BULK_INSERT, data)

    def delete(self, keys: Any) -> Commit:
        """Delete the rows with the record keys and partitions of *keys*, whatever their ordering values.

        *keys* is anything with ``__arrow_c_stream__`` that has the columns which record key and partition path are
        made of; further columns are not looked at.

        Raises:
            SchemaError, DataError, CommitError: as for :meth:`insert`.

        Source: SparkDeleteDeltaCommitActionExecutor.
        """
        return self._write(Operation.DELETE, keys)

    def insert_overwrite(self, data: Any) -> Commit:
        """Put *data* in place of all rows of the partitions that it has rows for.

        Raises:
            UnsupportedFeatureError: the table cannot be written.
            SchemaError, DataError, CommitError: as for :meth:`insert`.

        Source: SparkInsertOverwriteCommitActionExecutor.
        """
        return self._served(overwrite(self.context, Operation.INSERT_OVERWRITE, data))

    def insert_overwrite_table(self, data: Any) -> Commit:
        """Put *data* in place of all rows of the table; arguments and errors are those of :meth:`insert_overwrite`.

        Raises:
            UnsupportedFeatureError, SchemaError, DataError, CommitError: as for :meth:`insert_overwrite`.

        Source: SparkInsertOverwriteTableCommitActionExecutor.
        """
        return self._served(overwrite(self.context, Operation.INSERT_OVERWRITE_TABLE, data))

    def delete_partitions(self, partitions: Sequence[str]) -> Commit:
        """Take all rows of these partition paths out of the table.

        Raises:
            UnsupportedFeatureError, CommitError: as for :meth:`insert`.

        Source: SparkDeletePartitionCommitActionExecutor.
        """
        return self._served(delete_partitions(self.context, partitions))

    def _served(self, commit: Commit) -> Commit:
        services.serve_inline(self.context)
        return commit

    def _write(self, operation: Operation, data: Any) -> Commit:
        return self._served(write_rows(self.context, operation, data))

    def verify(self, *, contents: bool = True) -> list[TableFinding]:
        """What is wrong with the table: files that are damaged, missing or nobody's, instants that never completed.

        Without *contents* no data file is opened.  Nothing is changed.

        Raises:
            StorageError: a folder cannot be listed.

        Source: spec/services.md.
        """
        return list(services.verify_table(self.context, contents=contents))

    def compact(self) -> list[Commit]:
        """Merge log files into new base files: run the compactions that are planned, or plan one now and run it.

        Raises:
            UnsupportedFeatureError: the table is copy-on-write, or cannot be written.
            LockError: another writer keeps the table's lock.

        Source: HoodieCompactor; spec/services.md.
        """
        return services.compact(self.context)

    def log_compact(self) -> list[Commit]:
        """Merge the blocks of log files into one new log file per file group; base files stay as they are.

        Chosen are file groups with ``hoodie.log.compaction.blocks.threshold`` blocks or more, unless there is a plan.

        Raises:
            UnsupportedFeatureError: the table is copy-on-write, has a merger of its own, or cannot be written.
            LockError: another writer keeps the table's lock.

        Source: HoodieLogCompactionPlanGenerator; spec/services.md.
        """
        return services.log_compact(self.context)

    def schedule_compaction(self) -> Instant | None:
        """Plan a compaction without running it; None where no file group has log files.

        Raises:
            UnsupportedFeatureError, LockError: as for :meth:`compact`.

        Source: ScheduleCompactionActionExecutor; spec/services.md.
        """
        return services.schedule_compaction(self.context)

    def clean(self) -> Instant | None:
        """Delete the files of slices that ``hoodie.clean.policy`` no longer keeps; None where there are none.

        Raises:
            LockError: another writer keeps the table's lock.

        Source: CleanPlanner, CleanActionExecutor; spec/services.md.
        """
        return services.clean(self.context)

    def rollback(self, instant: str) -> Instant:
        """Take the newest write, *instant*, out of the table again; the rollback's own instant.

        Raises:
            CommitError: there is no such write, others came after it, or a savepoint keeps it.

        Source: BaseRollbackActionExecutor; spec/services.md.
        """
        return services.roll_back(self.context, instant)

    def savepoint(self, instant: str, *, user: str = "", comment: str = "") -> Instant:
        """Keep the files of the commit *instant*, so that the table can be restored to it.

        Raises:
            CommitError: there is no such completed write, its files may have been cleaned, or it has a savepoint.

        Source: SavepointActionExecutor; spec/services.md.
        """
        return services.savepoint(self.context, instant, user=user, comment=comment)

    def delete_savepoint(self, instant: str) -> None:
        """Let the files of the commit *instant* be cleaned again.

        Raises:
            CommitError: it has no savepoint.

        Source: SavepointHelpers; spec/services.md.
        """
        services.delete_savepoint(self.context, instant)

    def restore(self, instant: str) -> Instant:
        """Take every write out of the table that was completed after the commit *instant*.

        Raises:
            CommitError: there is no such completed write, or a savepoint keeps a later one.

        Source: BaseRestoreActionExecutor; spec/services.md.
        """
        return services.restore(self.context, instant)

    def plan_inserts(self, inserts: Any) -> tuple[PartitionPlan, ...]:
        """Where new rows would go, and why, a plan per partition path; nothing is written.

        *inserts* are rows as for :meth:`upsert`, of which those with new keys count, or numbers of new rows by
        partition path.  The rules are Spark's, or with ``hudiformat.sizing=flink`` those of a single task of Flink.

        Raises:
            UnsupportedFeatureError: the table has a bucket index, where the hash of a key says where it goes.
            SchemaError, DataError: as for :meth:`insert`.

        Source: UpsertPartitioner, BucketAssigner; spec/sizing.md.
        """
        return plan_inserts(self.context, inserts)


def _pruner(reader: SliceReader, condition: pc.Expression | None) -> PartitionPruner | None:
    """What a filter rules out before files are opened; None where it does not fit, which reading will say."""
    schema = reader.output_schema
    if condition is None or not fits(condition, schema):
        return None
    return PartitionPruner(reader.partition_columns, schema, condition)
