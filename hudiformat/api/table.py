"""A table as its users see it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import pyarrow as pa

from hudiformat.api.changing import delete_where, update_where
from hudiformat.api.merging import checked_clauses, merge_rows
from hudiformat.api.no_table import why_no_table
from hudiformat.api.reading import ReadableTable
from hudiformat.api.streaming import write_stream
from hudiformat.arguments import ArrowRows, checks_arguments, one_or_more
from hudiformat.check.repair.planning import DEAD_AFTER, repair_context
from hudiformat.check.repair.steps import Repair
from hudiformat.check.verify.finding import TableFinding
from hudiformat.check.verify.verification import verify_table
from hudiformat.conditions.clauses import Delete, Insert, Update
from hudiformat.conditions.taken import Filter
from hudiformat.errors import NotATableError, OptionError
from hudiformat.file_group.merging.rule import RecordMerger
from hudiformat.read.time_travel import named_instant
from hudiformat.report.writing import TableReport, report_table
from hudiformat.schema.column_changes import ColumnChanges
from hudiformat.services.cleaning import clean
from hudiformat.services.clustering import cluster, schedule_clustering
from hudiformat.services.compaction import compact, schedule_compaction
from hudiformat.services.indexing import create_index, drop_index
from hudiformat.services.inline import write_and_serve
from hudiformat.services.log_compaction import log_compact
from hudiformat.services.maintenance_report import MaintenanceReport
from hudiformat.services.rolling_back import roll_back
from hudiformat.services.running import maintain, services_named
from hudiformat.services.savepoints import delete_savepoint, restore, savepoint
from hudiformat.services.versions import change_version
from hudiformat.sizing.spark import PartitionPlan
from hudiformat.storage.opening import Location, open_storage
from hudiformat.storage.protocol import Storage
from hudiformat.table.options.agreement import options_of
from hudiformat.table.options.values import Operation
from hudiformat.table.state import Clock, TableClock, TableContext, TableState
from hudiformat.timeline.config_files import load_table_config
from hudiformat.timeline.table_config import TableConfig
from hudiformat.timeline.timeline import Instant
from hudiformat.write.commit.transaction import Commit
from hudiformat.write.evolve import evolve_table
from hudiformat.write.overwrite import delete_partitions, overwrite
from hudiformat.write.planning import plan_inserts
from hudiformat.write.write import write_rows

Version: TypeAlias = int
"""The version of a table: the call that takes one knows which there are."""


@checks_arguments
def open_table(
    path: Location,
    *,
    options: Mapping[str, str] | None = None,
    clock: Clock | None = None,
    merger: RecordMerger | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> Table:
    """The table at *path*: a local path, a URI as ``s3://bucket/table``, or what ``open_storage`` returns.

    *storage_options* are as for ``open_storage``.
    *options* are Hudi's keys for what this table object writes and, as ``hoodie.memory.merge.max.size``, how it reads.
    *clock* gives the present moment in the table's time zone; without it the machine's clock does.  *merger* merges
    records instead of what the table's properties define; a table with a custom merge mode needs it.

    Raises:
        NotATableError: there is no table at *path*.
        UnsupportedFeatureError: the table has a version that is not supported.
        CorruptTableError: its properties are damaged.
        OptionError: an unknown option or a bad value.

    Source: HoodieTableMetaClient; spec/table-properties.md.
    """
    storage = open_storage(path, storage_options=storage_options)
    config = _config_of(storage)
    chosen = options_of(config, options or {})
    return Table(TableContext(storage, config, chosen, clock or TableClock(config.timeline_zone), merger=merger))


def _config_of(storage: Storage) -> TableConfig:
    try:
        return load_table_config(storage)
    except NotATableError:
        raise NotATableError(why_no_table(storage), path=storage.root) from None


@checks_arguments
class Table(ReadableTable):
    """A Hudi table: its timeline, its file slices, its rows, and the writes and services to it.

    Made by :func:`open_table` and :func:`create_table`.

    Raises:
        UnsupportedFeatureError: from any call that needs a feature of Hudi's that is not supported; it is named.

    Source: HoodieTableMetaClient, HoodieTableFileSystemView, SparkRDDWriteClient.
    """

    def insert(self, data: ArrowRows) -> Commit:
        """Add rows without looking their keys up; small files are filled first.

        *data* is anything with ``__arrow_c_stream__``, or an iterator of record batches; a stream may be larger than
        memory.  An existing key is in the table twice then, unless
        ``hoodie.datasource.insert.dup.policy`` is drop or fail.

        Raises:
            SchemaError: its columns contradict the table's, or have a type that Avro cannot hold.
            DataError: a key column is missing, or a record key is null.
            CommitError: the write did not become visible.

        Source: SparkInsertDeltaCommitActionExecutor.
        """
        return write_and_serve(self.context, _writing(Operation.INSERT, data))

    def upsert(self, data: ArrowRows) -> Commit:
        """Add rows, and replace those that have the same record key and partition path.

        Rows with ``_hoodie_is_deleted`` are deletes.  Arguments and errors are those of :meth:`insert`.

        Raises:
            SchemaError, DataError, CommitError: as for :meth:`insert`.

        Source: SparkUpsertDeltaCommitActionExecutor.
        """
        return write_and_serve(self.context, _writing(Operation.UPSERT, data))

    def bulk_insert(self, data: ArrowRows) -> Commit:
        """Add rows in new file groups, whatever their number and whatever is there.

        ``hoodie.bulkinsert.sort.mode`` sets the order.  Arguments and errors are those of :meth:`insert`.

        Raises:
            SchemaError, DataError, CommitError: as for :meth:`insert`.

        Source: SparkBulkInsertDeltaCommitActionExecutor.
        """
        return write_and_serve(self.context, _writing(Operation.BULK_INSERT, data))

    def delete(self, keys: ArrowRows | None = None, *, where: Filter | None = None) -> Commit:
        """Delete the rows with the record keys and partitions of *keys*, or those for which *where* is true.

        *keys* is anything with ``__arrow_c_stream__`` that has the columns which record key and partition path are
        made of; further columns are ignored.  *where* is a filter as for :meth:`snapshot`.  Ordering values do not
        matter.

        Raises:
            OptionError: both are given.
            SchemaError, DataError, CommitError: as for :meth:`insert`.

        Source: SparkDeleteDeltaCommitActionExecutor, DeleteHoodieTableCommand.
        """
        if keys is not None and where is not None:
            raise OptionError("delete: expected either keys or where=, found both", option="where")
        if keys is None and where is None:
            raise OptionError(
                'delete: expected keys, or where= with a condition, found neither; where="true" deletes all rows',
                option="where",
            )
        if where is not None:
            return write_and_serve(self.context, partial(delete_where, where=where))
        return write_and_serve(self.context, partial(write_rows, operation=Operation.DELETE, data=keys))

    def update(self, set: Mapping[str, object], *, where: Filter | None = None) -> Commit:  # noqa: A002 - SQL's word
        """Give the columns in *set* other values in the rows for which *where* is true, or in all rows, in one commit.

        A value is a literal, or a pyarrow expression over the row as it was.  A row keeps its record key and partition
        path.  As in any upsert, a row whose ordering value became lower stays as it was.

        Raises:
            SchemaError: no such column, one that keys are made of, or a value that does not fit.
            DataError, CommitError: as for :meth:`insert`.

        Source: UpdateHoodieTableCommand.
        """
        return write_and_serve(self.context, partial(update_where, values=set, where=where))

    def merge(
        self,
        source: ArrowRows,
        *,
        when_matched: Sequence[Update | Delete] = (),
        when_not_matched: Sequence[Insert] = (),
    ) -> Commit:
        """Merge the rows of *source*, anything with ``__arrow_c_stream__``, into the table, in one commit.

        A source row matches the row with its record key and partition path, or with a global index the row with its
        record key.  Of the clauses the first counts whose condition holds.  Conditions are filters as for
        :meth:`snapshot`, on the columns ``source.<name>`` and ``target.<name>``, in expressions
        ``pc.field("source", "<name>")``; values are such expressions or literals.  Of several source rows with one key
        the one with the greatest ordering values counts.  In memory are the source's rows and those that they match.

        Raises:
            OptionError: something that is no clause.
            SchemaError: a clause names a column that the table does not have, or one that keys are made of.
            DataError: several source rows have one key, and no ordering column decides; the table is as it was.
            CommitError: as for :meth:`insert`.

        Source: MergeIntoHoodieTableCommand and ExpressionPayload, Hudi 1.2.0.
        """
        clauses = checked_clauses(when_matched, when_not_matched)
        return write_and_serve(self.context, partial(merge_rows, source=source, clauses=clauses))

    def insert_overwrite(self, data: ArrowRows) -> Commit:
        """Replace all rows of the partitions that *data* has rows for by *data*.

        Raises:
            UnsupportedFeatureError: the table cannot be written.
            SchemaError, DataError, CommitError: as for :meth:`insert`.

        Source: SparkInsertOverwriteCommitActionExecutor.
        """
        return write_and_serve(self.context, partial(overwrite, operation=Operation.INSERT_OVERWRITE, data=data))

    def insert_overwrite_table(self, data: ArrowRows) -> Commit:
        """Replace all rows of the table by *data*; arguments and errors are those of :meth:`insert_overwrite`.

        Raises:
            UnsupportedFeatureError, SchemaError, DataError, CommitError: as for :meth:`insert_overwrite`.

        Source: SparkInsertOverwriteTableCommitActionExecutor.
        """
        return write_and_serve(self.context, partial(overwrite, operation=Operation.INSERT_OVERWRITE_TABLE, data=data))

    def delete_partitions(self, partitions: str | Sequence[str]) -> Commit:
        """Remove all rows of these partition paths from the table.

        Raises:
            UnsupportedFeatureError, CommitError: as for :meth:`insert`.

        Source: SparkDeletePartitionCommitActionExecutor.
        """
        return write_and_serve(self.context, partial(delete_partitions, partitions=one_or_more(partitions)))

    def evolve(
        self,
        *,
        add: Mapping[str, pa.DataType] | None = None,
        rename: Mapping[str, str] | None = None,
        widen: Mapping[str, pa.DataType] | None = None,
        nullable: str | Sequence[str] = (),
        drop: str | Sequence[str] = (),
        comment: Mapping[str, str] | None = None,
    ) -> Commit:
        """Change the table's columns by themselves, in one commit; no file is rewritten.

        Columns are named by dotted paths, as ``address.city``; the items of a list are ``element``, the values of a map
        ``value``.  *add* gives the types of new columns, which come last and may be null; *rename* new names; *widen*
        new types; *nullable* may be null from then on.

        Renaming and dropping need ``hoodie.schema.on.read.enable=true`` when the table is opened, unless it has an
        internal schema already; so do types that are wider in Hudi's internal schema alone, as dates for texts.  Hudi's
        own readers need that option then too.

        Raises:
            SchemaError: there is no such column, or it cannot be changed as asked; nothing is written.
            UnsupportedFeatureError: a rename or a drop without that option.
            CommitError: the change did not become visible.

        Source: BaseHoodieWriteClient.commitTableChange; spec/schema-evolution.md.
        """
        changes = ColumnChanges(
            add=add or {},
            rename=rename or {},
            widen=widen or {},
            nullable=one_or_more(nullable),
            drop=one_or_more(drop),
            comment=comment or {},
        )
        return write_and_serve(self.context, partial(evolve_table, changes=changes))

    def create_index(self, name: str, *, columns: str | Sequence[str] = ()) -> list[Instant]:
        """Build an index of the metadata table for the rows that are there; writers keep it up from then on.

        *name* is ``files``, the metadata table with its list of files, ``column_stats``, ``partition_stats``,
        ``bloom_filters`` or ``record_index``; what it needs is built first.  *columns* are those of ``column_stats``;
        without them ``hoodie.metadata.index.column.stats.column.list`` or the first 32 whose type has statistics.

        Returns the instants that built it, none where all was there.  The table's lock is held meanwhile.  A process
        that dies leaves the table as it was; the next writer, or the same call, deletes what it has begun.  Hudi's
        writers keep up only indexes that their options enable, and drop others.

        Raises:
            OptionError: there is no index of that name, or it exists with other columns.
            SchemaError: one of the columns has no statistics.
            UnsupportedFeatureError: the table cannot be written.
            LockError: another writer keeps the table's lock.

        Source: RunIndexActionExecutor; spec/metadata-table.md.
        """
        return create_index(self.context, name, columns=one_or_more(columns))

    def drop_index(self, name: str, *, dependents: bool = False) -> bool:
        """Drop an index of the metadata table, also one that was made with Spark SQL; whether there was one.

        With ``column_stats`` go ``partition_stats``, with ``files`` the whole metadata table, with ``record_index`` the
        secondary indexes where *dependents* says so.

        Raises:
            OptionError: there is no index of that name in any table, or secondary indexes need it.
            UnsupportedFeatureError: the table cannot be written, or its metadata table is being compacted.
            LockError: another writer keeps the table's lock.

        Source: BaseHoodieWriteClient.dropIndex, DropIndexCommand; spec/metadata-table.md.
        """
        return drop_index(self.context, name, dependents=dependents)

    def verify(self, *, contents: bool = True, keys: bool = False) -> list[TableFinding]:
        """What is wrong with the table: files that are damaged, missing or orphaned, instants that never completed.

        Without *contents* no data file is opened.  With *keys* all keys are read, to find those that are in two file
        groups of a partition.  Nothing is changed.

        Raises:
            StorageError: a folder cannot be listed.
            UnsupportedFeatureError: with *keys*, the table has no meta fields.

        Source: spec/services.md.
        """
        return list(verify_table(self.context, contents=contents, keys=keys))

    def repair(
        self,
        *,
        apply: bool = False,
        keys: bool = False,
        properties: Mapping[str, str] | None = None,
        dead_after: float = DEAD_AFTER,
    ) -> Repair:
        """What has to be done so that :meth:`verify` finds nothing; with *apply* it is done.

        Arguments and errors are those of ``repair_table``, which takes a path: a table whose properties are lost cannot
        be opened.  ``options`` are those that this table was opened with.

        Raises:
            StorageError: a folder cannot be listed.

        Source: HoodieTableConfig.recover, RepairsCommand; docs/repair.md.
        """
        context = self.context
        repaired = repair_context(context, apply=apply, keys=keys, properties=properties, dead_after=dead_after)
        self.context = replace(context, config=load_table_config(context.storage)) if apply else context
        return repaired

    def report(self, path: str | os.PathLike[str] | None = None, *, verify: bool = True) -> TableReport:
        """What the table is, what is wrong with it, and what to do next; at *path* as a page of HTML.

        The page is one local file that needs no network; a file that is there is replaced, all of it or not at all.
        With *verify* the rows of the newest file slices are read, as by :meth:`verify`.  What cannot be read is named
        in the report.  Nothing is changed in the table.

        Raises:
            StorageError: the file cannot be written, or the table cannot be listed.

        Source: spec/md, "Reports".
        """
        return report_table(self.context, path, verify=verify)

    def compact(self) -> list[Commit]:
        """Merge log files into new base files: run the compactions that are planned, or plan one now and run it.

        Raises:
            UnsupportedFeatureError: the table is copy-on-write, or cannot be written.
            LockError: another writer keeps the table's lock.

        Source: HoodieCompactor; spec/services.md.
        """
        return compact(self.context)

    def log_compact(self) -> list[Commit]:
        """Merge the blocks of log files into one new log file per file group; base files stay as they are.

        Chosen are file groups with ``hoodie.log.compaction.blocks.threshold`` blocks or more, unless there is a plan.

        Raises:
            UnsupportedFeatureError: the table is copy-on-write, has a merger of its own, or cannot be written.
            LockError: another writer keeps the table's lock.

        Source: HoodieLogCompactionPlanGenerator; spec/services.md.
        """
        return log_compact(self.context)

    def schedule_compaction(self) -> Instant | None:
        """Plan a compaction without running it; None where no file group has log files.

        Raises:
            UnsupportedFeatureError, LockError: as for :meth:`compact`.

        Source: ScheduleCompactionActionExecutor; spec/services.md.
        """
        return schedule_compaction(self.context)

    def cluster(self) -> list[Commit]:
        """Rewrite small file groups into larger ones, sorted if asked: run planned clusterings, or plan one and run it.

        ``hoodie.clustering.plan.strategy.*`` say which file groups, how large, and sorted by which columns;
        ``hoodie.layout.optimize.strategy`` says whether along a z-order or Hilbert curve.  Memory is bounded by row
        groups, and in sorting by 256 MiB of rows.

        Raises:
            UnsupportedFeatureError: the table has a bucket index, or cannot be written.
            SchemaError: a column to sort by is not there, or has no order.
            LockError: another writer keeps the table's lock.
            WriteConflictError: a write has added to the file groups meanwhile.

        Source: SparkSizeBasedClusteringPlanStrategy, SparkSortAndSizeExecutionStrategy; spec/services.md.
        """
        return cluster(self.context)

    def schedule_clustering(self) -> Instant | None:
        """Plan a clustering without running it; None where no file groups are worth one.

        Until it is run, updates of the file groups of the plan are refused.

        Raises:
            UnsupportedFeatureError, SchemaError, LockError: as for :meth:`cluster`.

        Source: ClusteringPlanActionExecutor; spec/services.md.
        """
        return schedule_clustering(self.context)

    def clean(self) -> Instant | None:
        """Delete the files of slices that ``hoodie.clean.policy`` no longer keeps; None where there are none.

        Raises:
            LockError: another writer keeps the table's lock.

        Source: CleanPlanner, CleanActionExecutor; spec/services.md.
        """
        return clean(self.context)

    def maintain(self, *, only: str | Sequence[str] = (), dry_run: bool = False) -> MaintenanceReport:
        """Run all services that are due, one after the other, and say what was done and why; other writers may go on.

        The services: rollback (of writes whose writers died), metadata (compaction, cleaning and archiving of the
        metadata table), ttl, compaction, log-compaction, clustering, clean, archive.  *only* names those to look at,
        which turns them on whatever the options say; with *dry_run* nothing is changed.  One that fails does not stop
        the others: the report has its error.

        Raises:
            OptionError: *only* names something else.
            LockError: the table has a single writer, by its options, and it is writing.
            UnsupportedFeatureError: the table cannot be written.

        Source: BaseHoodieTableServiceClient.runTableServicesInline; spec/services.md.
        """
        return maintain(self.context, only=services_named(one_or_more(only)), dry_run=dry_run)

    def rollback(self, instant: str | Instant | Commit) -> Instant:
        """Roll back the newest write, *instant*; the rollback's own instant.

        Raises:
            CommitError: there is no such write, others came after it, or a savepoint keeps it.

        Source: BaseRollbackActionExecutor; spec/services.md.
        """
        return roll_back(self.context, named_instant(instant))

    def savepoint(self, instant: str | Instant | Commit, *, user: str = "", comment: str = "") -> Instant:
        """Keep the files of the commit *instant*, so that the table can be restored to it.

        Raises:
            CommitError: there is no such completed write, its files may have been cleaned, or it has a savepoint.

        Source: SavepointActionExecutor; spec/services.md.
        """
        return savepoint(self.context, named_instant(instant), user=user, comment=comment)

    def delete_savepoint(self, instant: str | Instant | Commit) -> None:
        """Let the files of the commit *instant* be cleaned again.

        Raises:
            CommitError: it has no savepoint.

        Source: SavepointHelpers; spec/services.md.
        """
        delete_savepoint(self.context, named_instant(instant))

    def restore(self, instant: str | Instant | Commit) -> Instant:
        """Roll back every write that was completed after the commit *instant*.

        Raises:
            CommitError: there is no such completed write, or a savepoint keeps a later one.

        Source: BaseRestoreActionExecutor; spec/services.md.
        """
        return restore(self.context, named_instant(instant))

    def change_version(self, to: Version) -> None:
        """Make this a table of version *to* (6, 8 or 9), so that an older or newer Hudi can go on with it.

        All log files are merged first.  A process that dies leaves the table in the one version or the other; the same
        call finishes what it began.  The metadata table is deleted, with a warning; with
        ``hoodie.metadata.enable=true`` its indexes are built again.

        Raises:
            OptionError: there is no such version.
            UnsupportedFeatureError: the table cannot be written, or has what the other version cannot express.
            CommitError: another writer is writing, or a plan is left that cannot be run here.
            LockError: another writer keeps the table's lock.

        Source: UpgradeDowngrade; spec/services.md.
        """
        self.context = replace(self.context, config=change_version(self.context, to))

    def plan_inserts(self, inserts: ArrowRows | Mapping[str, int]) -> tuple[PartitionPlan, ...]:
        """Where new rows would go, and why, a plan per partition path; nothing is written.

        *inserts* are rows as for :meth:`upsert`, of which those with new keys count, or numbers of new rows by
        partition path.  The rules are Spark's, or with ``hudiformat.sizing=flink`` those of a single task of Flink.

        Raises:
            UnsupportedFeatureError: the table has a bucket index, where the hash of a key determines its file group.
            SchemaError, DataError: as for :meth:`insert`.

        Source: UpsertPartitioner, BucketAssigner; spec/sizing.md.
        """
        return plan_inserts(self.context, inserts)


def _writing(operation: Operation, data: ArrowRows) -> Callable[[TableState], tuple[Commit, TableState]]:
    """What writes *data*, which is in memory or a stream."""
    write = write_rows if isinstance(data, pa.Table | pa.RecordBatch) else write_stream
    return partial(write, operation=operation, data=data)
