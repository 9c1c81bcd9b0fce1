"""The class Table, with the writes and services of a table, and the function that opens one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import pyarrow as pa

from hudiformat.advice.advice import AdviceList
from hudiformat.advice.advising import advise_table
from hudiformat.advice.facts import NEXT_COMMITS
from hudiformat.api.changing import delete_where, update_where
from hudiformat.api.merging import flatten_clauses, merge_rows
from hudiformat.api.no_table import why_no_table
from hudiformat.api.operating import OperableTable
from hudiformat.api.streaming import write_stream
from hudiformat.arguments import ArrowRows, as_name_list, check_arguments
from hudiformat.catalogs.inline import after_service, after_write, asked_again, tell
from hudiformat.catalogs.opening import catalog_of, find_table, is_catalog, open_catalog, parse_catalog_address
from hudiformat.catalogs.sync import SyncReport
from hudiformat.check.repair.planning import DEAD_AFTER, repair_context
from hudiformat.check.repair.steps import Repair
from hudiformat.check.verify.finding import TableFinding, TableFindings
from hudiformat.check.verify.verification import verify_table
from hudiformat.conditions.clauses import Delete, Insert, Update
from hudiformat.conditions.filters import Filter
from hudiformat.errors import NotATableError, OptionError
from hudiformat.file_group.merging.rule import RecordMerger
from hudiformat.progress import BarOfEach, notebook_bar
from hudiformat.read.time_travel import Written, instant_text
from hudiformat.report.page import TableReport, report_table
from hudiformat.schema.column_changes import ColumnChanges
from hudiformat.services.cleaning import clean
from hudiformat.services.clustering import cluster, schedule_clustering
from hudiformat.services.compaction import compact, schedule_compaction
from hudiformat.services.indexing import create_index, drop_index
from hudiformat.services.inline import before_write
from hudiformat.services.log_compaction import log_compact
from hudiformat.services.rolling_back import roll_back
from hudiformat.services.running import maintain, parse_services
from hudiformat.services.savepoints import delete_savepoint, restore, savepoint
from hudiformat.services.service_result import MaintenanceReport, ServiceResult
from hudiformat.services.versions import change_version
from hudiformat.simulation.from_table import refuse_unnamed_buckets, start_from, workload_from
from hudiformat.simulation.result import Prices, Simulation
from hudiformat.simulation.settings import Settings
from hudiformat.simulation.simulating import SAMPLES, simulate_workload
from hudiformat.simulation.workload import Workload
from hudiformat.sizing.spark import PartitionPlan
from hudiformat.storage.opening import Location, open_storage
from hudiformat.storage.protocol import Storage
from hudiformat.table.options.agreement import options_of
from hudiformat.table.options.sync import SyncTool
from hudiformat.table.options.values import Operation
from hudiformat.table.sources import with_sources
from hudiformat.table.state import Clock, TableClock, TableContext
from hudiformat.timeline.config_files import load_table_config
from hudiformat.timeline.table_config import TableConfig
from hudiformat.timeline.timeline import Instant
from hudiformat.write.commit.transaction import Commit, Committed
from hudiformat.write.delete_partitions import delete_partitions
from hudiformat.write.evolve import evolve_table
from hudiformat.write.planning import plan_inserts
from hudiformat.write.write import write_rows

Version: TypeAlias = int
"""A table version; the call that takes it checks whether it is supported."""


@check_arguments
def open_table(
    path: Location,
    *,
    options: Mapping[str, str] | None = None,
    clock: Clock | None = None,
    merger: RecordMerger | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> Table:
    """Open the table at *path*: a local path, a URI such as ``s3://bucket/table``, or a storage of ``open_storage``.

    It may also be the name of a table in a Hive Metastore, ``hive://<host>:9083/<database>.<table>``, or in AWS Glue,
    ``glue://<database>.<table>``.

    *storage_options* are as for ``open_storage``.
    *options* are Hudi's keys for the writes of this table object, and for its reads, such as
    ``hoodie.memory.merge.max.size``.  *clock* returns the current time in the table's time zone; the default is the
    machine's clock.  *merger* merges records instead of the merge mode in the table's properties; a table with a custom
    merge mode needs it.

    Raises:
        NotATableError: there is no table at *path*.
        UnsupportedFeatureError: the table has a version that is not supported.
        CorruptTableError: its properties are damaged.
        OptionError: an option is unknown or has a bad value.

    Source: HoodieTableMetaClient; spec/table-properties.md.
    """
    options = dict(options or {})
    if is_catalog(path):
        address = parse_catalog_address(str(path))
        with closing(open_catalog(address)) as catalog:
            found = find_table(catalog, address.name)
        path, options = found.path, {**address.options_of(found), **options}
    storage = open_storage(path, storage_options=storage_options)
    config = _config_of(storage)
    chosen = options_of(config, options)
    context = TableContext(storage, config, chosen, clock or TableClock(config.timeline_zone), merger=merger)
    return Table(with_sources(context, storage_options=storage_options))


def _config_of(storage: Storage) -> TableConfig:
    try:
        return load_table_config(storage)
    except NotATableError:
        raise NotATableError(why_no_table(storage), path=storage.root) from None


@check_arguments
class Table(OperableTable):
    """A Hudi table: its timeline, its file slices, its rows, its writes and its services.

    :func:`open_table` and :func:`create_table` return one.

    Raises:
        UnsupportedFeatureError: from any call that needs a feature of Hudi that is not supported; the error names it.

    Source: HoodieTableMetaClient, HoodieTableFileSystemView, SparkRDDWriteClient.
    """

    def insert(self, data: ArrowRows) -> Commit:
        """Add rows without looking up their keys; small files are filled first.

        *data* is any object with ``__arrow_c_stream__``, a lazy frame of Polars, or an iterator of record batches; a
        stream may be larger than memory.  A row whose key is in the table already becomes a second row with that key,
        unless ``hoodie.datasource.insert.dup.policy`` is drop or fail.

        Raises:
            SchemaError: the columns of *data* contradict the table's, or have a type that Avro cannot hold.
            DataError: a key column is missing, or a record key is null.
            CommitError: the write did not become visible.

        Source: SparkInsertDeltaCommitActionExecutor.
        """
        write = _writer_of(data)
        return after_write(write(before_write(self._context), operation=Operation.INSERT, data=data))

    def upsert(self, data: ArrowRows) -> Commit:
        """Add rows, and replace the table's rows that have the same record key and partition path.

        Rows flagged by ``_hoodie_is_deleted`` are deletes.  Arguments and errors are those of :meth:`insert`.

        Raises:
            SchemaError, DataError, CommitError: as for :meth:`insert`.

        Source: SparkUpsertDeltaCommitActionExecutor.
        """
        write = _writer_of(data)
        return after_write(write(before_write(self._context), operation=Operation.UPSERT, data=data))

    def bulk_insert(self, data: ArrowRows) -> Commit:
        """Add rows in new file groups, without looking up keys or filling small files.

        ``hoodie.bulkinsert.sort.mode`` sets the order.  Arguments and errors are those of :meth:`insert`.

        Raises:
            SchemaError, DataError, CommitError: as for :meth:`insert`.

        Source: SparkBulkInsertDeltaCommitActionExecutor.
        """
        write = _writer_of(data)
        return after_write(write(before_write(self._context), operation=Operation.BULK_INSERT, data=data))

    def delete(self, keys: ArrowRows | None = None, *, where: Filter | None = None) -> Commit:
        """Delete the rows with the record keys and partitions of *keys*, or the rows for which *where* is true.

        *keys* is any object with ``__arrow_c_stream__`` that has the columns of the record key and of the partition
        path; other columns are ignored.  *where* is a filter as for :meth:`snapshot`.  Ordering values have no effect.

        Raises:
            OptionError: both *keys* and *where* are given, or neither.
            SchemaError, DataError, CommitError: as for :meth:`insert`.

        Source: SparkDeleteDeltaCommitActionExecutor, DeleteHoodieTableCommand.
        """
        if keys is not None and where is not None:
            raise OptionError("delete: expected either keys or where=, found both; leave one out", option="where")
        if keys is None and where is None:
            raise OptionError(
                'delete: expected keys, or where= with a condition, found neither; give where="true" for all rows',
                option="where",
            )
        if where is not None:
            return after_write(delete_where(before_write(self._context), where=where))
        return after_write(write_rows(before_write(self._context), operation=Operation.DELETE, data=keys))

    def update(self, set: Mapping[str, object], *, where: Filter | None = None) -> Commit:
        """Set columns to the values in *set*, in the rows for which *where* is true or in all rows, in one commit.

        A value is a literal, or a pyarrow expression over the row before the update.  A row keeps its record key and
        partition path.  As in any upsert, a row whose new ordering value is lower than the old one is not changed.

        Raises:
            SchemaError: the table has no such column, it is a column of the record key or partition path, or a value
                does not fit its column.
            DataError, CommitError: as for :meth:`insert`.

        Source: UpdateHoodieTableCommand.
        """
        return after_write(update_where(before_write(self._context), values=set, where=where))

    def merge(
        self,
        source: ArrowRows,
        *,
        when_matched: Sequence[Update | Delete] = (),
        when_not_matched: Sequence[Insert] = (),
    ) -> Commit:
        """Merge the rows of *source*, an object with ``__arrow_c_stream__``, into the table, in one commit.

        A source row matches the table's row that has the same record key and partition path; with a global index the
        partition path does not matter.  The first clause whose condition is true is applied.  Conditions are filters as
        for :meth:`snapshot`, on the columns ``source.<name>`` and ``target.<name>``; a pyarrow expression names them
        ``pc.field("source", "<name>")``.  Values are such expressions or literals.  If several source rows have the
        same key, the row with the greatest ordering values is used.  The source's rows and the rows that match them are
        held in memory.

        Raises:
            OptionError: an argument is no clause.
            SchemaError: a clause sets a column that the table does not have, or a column of the record key or partition
                path.
            DataError: several source rows have the same key and there is no ordering column to choose by; the table is
                unchanged.
            CommitError: as for :meth:`insert`.

        Source: MergeIntoHoodieTableCommand and ExpressionPayload, Hudi 1.2.0.
        """
        clauses = flatten_clauses(when_matched, when_not_matched)
        return after_write(merge_rows(before_write(self._context), source=source, clauses=clauses))

    def insert_overwrite(self, data: ArrowRows) -> Commit:
        """Replace all rows of each partition that occurs in *data* by the rows of *data*.

        Raises:
            UnsupportedFeatureError: the table cannot be written.
            SchemaError, DataError, CommitError: as for :meth:`insert`.

        Source: SparkInsertOverwriteCommitActionExecutor.
        """
        return after_write(write_rows(before_write(self._context), operation=Operation.INSERT_OVERWRITE, data=data))

    def insert_overwrite_table(self, data: ArrowRows) -> Commit:
        """Replace all rows of the table by the rows of *data*, which is as for :meth:`insert_overwrite`.

        Raises:
            UnsupportedFeatureError, SchemaError, DataError, CommitError: as for :meth:`insert_overwrite`.

        Source: SparkInsertOverwriteTableCommitActionExecutor.
        """
        return after_write(
            write_rows(before_write(self._context), operation=Operation.INSERT_OVERWRITE_TABLE, data=data)
        )

    def delete_partitions(self, partitions: str | Sequence[str]) -> Commit:
        """Remove all rows of the partition paths *partitions* from the table.

        Raises:
            UnsupportedFeatureError, CommitError: as for :meth:`insert`.

        Source: SparkDeletePartitionCommitActionExecutor.
        """
        return after_write(delete_partitions(before_write(self._context), partitions=as_name_list(partitions)))

    def evolve(
        self,
        *,
        add: Mapping[str, pa.DataType | pa.Field] | None = None,
        rename: Mapping[str, str] | None = None,
        widen: Mapping[str, pa.DataType] | None = None,
        nullable: str | Sequence[str] = (),
        drop: str | Sequence[str] = (),
        comment: Mapping[str, str] | None = None,
    ) -> Commit:
        """Change the table's columns without writing rows, in one commit; no file is rewritten.

        A column is named by a dotted path such as ``address.city``; the items of a list are ``element``, the values of
        a map are ``value``.  *add* maps new columns, which come last and may be null, to their types, or to a field
        whose metadata names one; *rename* maps columns to new names, *widen* to wider types and *comment* to comments.
        The columns *nullable* may be null from then on; the columns *drop* are removed.

        Renaming and dropping need ``hoodie.schema.on.read.enable=true`` when the table is opened, unless it has an
        internal schema already.  So does a change of type that only Hudi's internal schema allows, such as from date to
        string.  Hudi's own readers need that option then too.

        Raises:
            SchemaError: there is no such column, or the change is not allowed; nothing is written.
            UnsupportedFeatureError: a rename or a drop without that option.
            CommitError: the change did not become visible.

        Source: BaseHoodieWriteClient.commitTableChange; spec/schema-evolution.md.
        """
        changes = ColumnChanges(
            add=add or {},
            rename=rename or {},
            widen=widen or {},
            nullable=as_name_list(nullable),
            drop=as_name_list(drop),
            comment=comment or {},
        )
        return after_write(evolve_table(before_write(self._context), changes=changes))

    def create_index(self, name: str, *, columns: str | Sequence[str] = ()) -> ServiceResult[Instant]:
        """Build an index of the metadata table for the existing rows.

        *name* is ``files`` (the metadata table with its list of files), ``column_stats``, ``partition_stats``,
        ``bloom_filters`` or ``record_index``; indexes that it depends on are built first.  *columns* are the columns of
        ``column_stats``; the default is ``hoodie.metadata.index.column.stats.column.list``, or the first 32 columns
        whose type has statistics.

        Nothing is done if everything was built already.  The table's lock is held while the index is built; later
        writes update it.  A process that dies leaves the table unchanged; the next writer, or the same call, deletes
        the unfinished index.  Hudi's writers update only the indexes that their options enable, and drop the others.

        Raises:
            OptionError: there is no index of that name, or it exists with other columns.
            SchemaError: one of the columns has no statistics.
            UnsupportedFeatureError: the table cannot be written.
            LockError: another writer keeps the table's lock.

        Source: RunIndexActionExecutor; spec/metadata-table.md.
        """
        with BarOfEach(notebook_bar, "building") as progress:
            return create_index(self._context, name, columns=as_name_list(columns), progress=progress)

    def drop_index(self, name: str, *, dependents: bool = False) -> ServiceResult[Instant]:
        """Drop an index of the metadata table, also one that Spark SQL made, if it exists.

        Dropping ``column_stats`` drops ``partition_stats`` too, and dropping ``files`` drops the whole metadata table.
        With *dependents*, dropping ``record_index`` drops the secondary indexes too.

        Raises:
            OptionError: Hudi has no index of that name, or secondary indexes depend on it.
            UnsupportedFeatureError: the table cannot be written, or its metadata table is being compacted.
            LockError: another writer keeps the table's lock.

        Source: BaseHoodieWriteClient.dropIndex, DropIndexCommand; spec/metadata-table.md.
        """
        return drop_index(self._context, name, dependents=dependents)

    def verify(self, *, contents: bool = True, keys: bool = False, labels: bool = False) -> list[TableFinding]:
        """Return what is wrong with the table: damaged, missing or orphaned files, and instants that never completed.

        Without *contents* no data file is opened.  With *keys* all keys are read, to find keys that are in two file
        groups of one partition.  With *labels*, base files are found that label times otherwise than the table, which
        hudiformat and Hudi from 1.1 on correct, and other readers do not.  Nothing is changed.

        Raises:
            StorageError: a folder cannot be listed.
            UnsupportedFeatureError: with *keys*, the table has no meta fields.

        Source: spec/services.md.
        """
        bar = partial(notebook_bar, "verifying")
        return TableFindings(verify_table(self._context, contents=contents, keys=keys, labels=labels, bar=bar))

    def repair(
        self,
        *,
        apply: bool = False,
        keys: bool = False,
        labels: bool = False,
        properties: Mapping[str, str] | None = None,
        dead_after: float = DEAD_AFTER,
    ) -> Repair:
        """Return the repairs after which :meth:`verify` finds nothing; with *apply*, make them.

        Arguments and errors are those of ``repair_table``, but ``options`` are those that this table was opened with.
        A table whose properties are lost cannot be opened: call ``repair_table`` with its path.

        Raises:
            StorageError: a folder cannot be listed.

        Source: HoodieTableConfig.recover, RepairsCommand; docs/repair.md.
        """
        context = self._context
        repaired = repair_context(
            context, apply=apply, keys=keys, labels=labels, properties=properties, dead_after=dead_after
        )
        self._context = replace(context, config=load_table_config(context.storage)) if apply else context
        return repaired

    def report(self, path: str | os.PathLike[str] | None = None, *, verify: bool = True) -> TableReport:
        """Return a report: facts about the table, what is wrong with it, and what to do next.

        With *path*, the report is also written there as an HTML page, one local file that needs no network; an existing
        file is replaced atomically.  With *verify*, the rows of the newest file slices are read, as by :meth:`verify`.
        The report names files that cannot be read.  Nothing is changed in the table.

        Raises:
            StorageError: the file cannot be written, or the table cannot be listed.

        Source: spec/services.md, "Reports".
        """
        return report_table(self._context, path, verify=verify)

    def advise(self, *, commits: int = NEXT_COMMITS) -> AdviceList:
        """Return what to change about the table or its writers' settings: at most five changes, the gravest first.

        Each advice has its effect in numbers, some of them after *commits* further commits like those on the active
        timeline.  The settings are those that this table was opened with: give ``open_table`` the options of the
        writers.  Nothing is changed, and no data file is read but a few rows of one.

        Raises:
            ArgumentError: *commits* is not 1 to 100,000.
            CorruptTableError, StorageError: a file of the timeline cannot be read, or a folder not be listed.

        Source: docs/advise.md.
        """
        return advise_table(self._context, commits=commits)

    def compact(self) -> ServiceResult[Commit]:
        """Merge log files into new base files: run the planned compactions, or plan one now and run it.

        Raises:
            UnsupportedFeatureError: the table is copy-on-write, or cannot be written.
            LockError: another writer keeps the table's lock.

        Source: HoodieCompactor; spec/services.md.
        """
        return after_service(self._context, compact(self._context))

    def log_compact(self) -> ServiceResult[Commit]:
        """Merge the blocks of log files into one new log file per file group; base files are not changed.

        Planned log compactions are run.  If there is none, one is planned for the file groups with at least
        ``hoodie.log.compaction.blocks.threshold`` blocks, and run.

        Raises:
            UnsupportedFeatureError: the table is copy-on-write, has a merger of its own, or cannot be written.
            LockError: another writer keeps the table's lock.

        Source: HoodieLogCompactionPlanGenerator; spec/services.md.
        """
        return after_service(self._context, log_compact(self._context))

    def schedule_compaction(self) -> ServiceResult[Instant]:
        """Plan a compaction without running it, if file groups have log files.

        Raises:
            UnsupportedFeatureError, LockError: as for :meth:`compact`.

        Source: ScheduleCompactionActionExecutor; spec/services.md.
        """
        return schedule_compaction(self._context)

    def cluster(self) -> ServiceResult[Commit]:
        """Rewrite small file groups into larger ones: run the planned clusterings, or plan one now and run it.

        ``hoodie.clustering.plan.strategy.*`` set which file groups are rewritten, how large the new files are, and by
        which columns they are sorted; ``hoodie.layout.optimize.strategy`` sets whether rows are sorted along a z-order
        or Hilbert curve.  One row group is held in memory, and up to 256 MiB of rows while sorting.

        Raises:
            UnsupportedFeatureError: the table has a bucket index, or cannot be written.
            SchemaError: a column to sort by does not exist, or its type has no order.
            LockError: another writer keeps the table's lock.
            WriteConflictError: another write has changed the file groups in the meantime.

        Source: SparkSizeBasedClusteringPlanStrategy, SparkSortAndSizeExecutionStrategy; spec/services.md.
        """
        return after_service(self._context, cluster(self._context))

    def schedule_clustering(self) -> ServiceResult[Instant]:
        """Plan a clustering without running it, if there are file groups to rewrite.

        Until the clustering has run, updates of the planned file groups are refused.

        Raises:
            UnsupportedFeatureError, SchemaError, LockError: as for :meth:`cluster`.

        Source: ClusteringPlanActionExecutor; spec/services.md.
        """
        return schedule_clustering(self._context)

    def clean(self) -> ServiceResult[Instant]:
        """Delete the files of file slices that ``hoodie.clean.policy`` no longer keeps.

        Raises:
            LockError: another writer keeps the table's lock.

        Source: CleanPlanner, CleanActionExecutor; spec/services.md.
        """
        return clean(self._context)

    def maintain(self, *, only: str | Sequence[str] = (), dry_run: bool = False) -> MaintenanceReport:
        """Run all services that are due, one after the other, and return what was done and why.

        Other writers may write at the same time.  The services are rollback (of writes whose writers died), metadata
        (compaction, cleaning and archiving of the metadata table), ttl, compaction, log-compaction, clustering, clean
        and archive.  With *only*, the services that it names are considered, also those that the options disable, and
        no others.  With *dry_run* nothing is changed.  A service that fails does not stop the others: its error is in
        the report.

        Raises:
            OptionError: *only* names something that is no service.
            LockError: the options allow a single writer, and it is writing.
            UnsupportedFeatureError: the table cannot be written.

        Source: BaseHoodieTableServiceClient.runTableServicesInline; spec/services.md.
        """
        report = maintain(self._context, only=parse_services(as_name_list(only)), dry_run=dry_run)
        return report if dry_run else after_service(self._context, report)

    def rollback(self, instant: str | Instant | Written) -> ServiceResult[Instant]:
        """Roll back the newest write, which is *instant*.

        Raises:
            CommitError: there is no such write, others came after it, or a savepoint keeps it.

        Source: BaseRollbackActionExecutor; spec/services.md.
        """
        return after_service(self._context, roll_back(self._context, instant_text(instant)))

    def savepoint(
        self, instant: str | Instant | Written, *, user: str = "", comment: str = ""
    ) -> ServiceResult[Instant]:
        """Create a savepoint: the files of the commit *instant* are kept, so that the table can be restored to it.

        Raises:
            CommitError: there is no such completed write, its files may have been cleaned, or it has a savepoint.

        Source: SavepointActionExecutor; spec/services.md.
        """
        return savepoint(self._context, instant_text(instant), user=user, comment=comment)

    def delete_savepoint(self, instant: str | Instant | Written) -> ServiceResult[Instant]:
        """Delete the savepoint of the commit *instant*; its files may be cleaned again.

        Raises:
            CommitError: the commit has no savepoint.

        Source: SavepointHelpers; spec/services.md.
        """
        return delete_savepoint(self._context, instant_text(instant))

    def restore(self, instant: str | Instant | Written) -> ServiceResult[Instant]:
        """Roll back every write that completed after the commit *instant*.

        Raises:
            CommitError: there is no such completed write, or a savepoint keeps a later one.

        Source: BaseRestoreActionExecutor; spec/services.md.
        """
        return after_service(self._context, restore(self._context, instant_text(instant)))

    def change_version(self, to: Version) -> ServiceResult[Instant]:
        """Change the table to version *to* (6, 8 or 9), so that an older or newer Hudi can read and write it.

        All log files are merged first.  A process that dies leaves the table in the old version or in the new one; the
        same call finishes the change.  The metadata table is deleted, with a warning; with
        ``hoodie.metadata.enable=true`` its indexes are built again.

        Raises:
            OptionError: there is no such version.
            UnsupportedFeatureError: the table cannot be written, or has a feature that version *to* does not have.
            CommitError: another writer is writing, or the table has a pending plan that cannot be run here.
            LockError: another writer keeps the table's lock.

        Source: UpgradeDowngrade; spec/services.md.
        """
        former = self.config.version
        self._context = replace(self._context, config=change_version(self._context, to))
        return ServiceResult("version", "" if former == to else f"changed from version {former} to version {to}")

    def sync_catalog(
        self, catalog: str | None = None, *, database: str = "", table: str = "", full: bool = False
    ) -> SyncReport:
        """Tell a catalog of the table: its columns, its properties, its partitions and its newest commit.

        *catalog* is ``hive://<host>:9083``, a Hive Metastore, or ``glue://``, AWS Glue; without it the options name
        it, by ``hoodie.datasource.hive_sync.metastore.uris`` or ``hoodie.meta.sync.client.tool.class``, or else Hive's
        own configuration, ``hive-site.xml`` in the folder ``HIVE_CONF_DIR``.  *database* and
        *table* are the names there; without them the options say them, or the table's properties.  The other
        ``hoodie.datasource.hive_sync.*`` and ``hoodie.meta.sync.*`` options count too.  The partitions of the commits
        since the last sync are compared with the catalog's; with *full* all are.

        With ``hoodie.datasource.hive_sync.enable`` this is done after each commit.

        Raises:
            CatalogError: the catalog does not answer, or refuses; or it has a table of that name that is not Hudi's.
            SchemaError: a column has a type that catalogs do not have.
            OptionError: *catalog* is no address of a catalog.

        Source: HiveSyncTool.syncHoodieTable, Hudi 1.2.0; spec/catalogs.md.
        """
        options = asked_again(self._context.options.catalogs, database=database, table=table, full=full)
        if catalog is not None:
            address = parse_catalog_address(catalog)
            return tell(self._context, open_catalog(address, options), options.of_tool(address.tool))
        tool = next(iter(options.named), SyncTool.HIVE)
        return tell(self._context, catalog_of(tool, options), options.of_tool(tool))

    def plan_inserts(self, inserts: ArrowRows | Mapping[str, int]) -> tuple[PartitionPlan, ...]:
        """Return, for each partition path, to which file groups new rows would be written and why; nothing is written.

        *inserts* are rows as for :meth:`upsert`, of which only the rows with new keys are planned, or a mapping from
        partition path to the number of new rows.  The rules are Spark's; with ``hudiformat.sizing=flink`` they are
        those of a single Flink task.

        Raises:
            UnsupportedFeatureError: the table has a bucket index, where the hash of a key determines its file group.
            SchemaError, DataError: as for :meth:`insert`.

        Source: UpsertPartitioner, BucketAssigner; spec/sizing.md.
        """
        return plan_inserts(self._context, inserts)

    @check_arguments
    def simulate(
        self,
        workload: Workload | None = None,
        *,
        commits: int = 1000,
        options: Mapping[str, str] | None = None,
        engine: str = "hudiformat",
        writing: str = "upsert",
        tasks: int = 1,
        seed: int = 0,
        samples: int = SAMPLES,
        prices: Prices | None = None,
    ) -> Simulation:
        """Play further commits on the table by the rules of a writer, without rows, and return what comes of it.

        Nothing is written.  The simulation begins with the file groups of the table.  Without a *workload*, it has
        *commits* commits like those on the active timeline: their rows in turn, their share of updates, the bytes of
        their rows, their interval, the shares of the partitions.  With one, new rows have the same shares of the
        partitions.  *options* are Hudi's keys that are to be different; the other arguments are those of
        :func:`simulate`.

        Raises:
            OptionError: a key or an argument has a bad value.
            UnsupportedFeatureError: a setting is not simulated, or no commit on the active timeline has rows.

        Source: docs/simulate.md.
        """
        state = self._context.state()
        settings = Settings.of(
            dict(options or {}),
            engine=engine,
            table_type=state.config.table_type.value,
            writing=writing,
            tasks=tasks,
            onto=state.options,
        )
        if options:  # they may name the index, by which the table is read
            state = replace(self._context, options=settings.options).state()
        slices = state.slices()
        refuse_unnamed_buckets(state, slices)
        played = workload_from(state, commits=commits) if workload is None else workload
        start = start_from(state, played, slices=slices)
        return simulate_workload(played, settings, seed=seed, samples=samples, prices=prices, start=start)


def _writer_of(data: ArrowRows) -> Callable[..., Committed]:
    """Return the function that writes *data*, which is a table in memory or a stream."""
    return write_rows if isinstance(data, pa.Table | pa.RecordBatch) else write_stream
