"""Services of a table: the driver plans and commits them, and tasks run them, each for one or more file groups."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession

from hudiformat.advice.advice import AdviceList
from hudiformat.advice.facts import NEXT_COMMITS
from hudiformat.api.reading import context_of
from hudiformat.api.table import Table, Version
from hudiformat.arguments import check_arguments
from hudiformat.catalogs.sync import SyncReport
from hudiformat.check.repair.planning import DEAD_AFTER
from hudiformat.check.repair.steps import Repair
from hudiformat.check.verify.finding import TableFinding
from hudiformat.read.time_travel import Written
from hudiformat.report.page import TableReport
from hudiformat.services.service_result import MaintenanceReport, ServiceResult
from hudiformat.spark.errors import reraise_task_errors
from hudiformat.spark.executor import with_tasks
from hudiformat.spark.options import open_for_tasks
from hudiformat.timeline.timeline import Instant
from hudiformat.write.commit.transaction import Commit


@check_arguments
def compact(spark: SparkSession, path: str, *, options: Mapping[str, str] | None = None) -> ServiceResult[Commit]:
    """Compact the table at *path*, as ``hudiformat.Table.compact`` does: a task merges one file slice.

    Raises:
        HudiFormatError: as for ``hudiformat.Table.compact``; the compaction stays planned.

    Source: RunCompactionProcedure, HoodieCompactor, Hudi 1.2.0.
    """
    with reraise_task_errors():
        return table_by_tasks(spark, path, options).compact()


@check_arguments
def log_compact(spark: SparkSession, path: str, *, options: Mapping[str, str] | None = None) -> ServiceResult[Commit]:
    """Merge log files of the table at *path*, as ``hudiformat.Table.log_compact`` does: a task merges one file slice.

    Raises:
        HudiFormatError: as for ``hudiformat.Table.log_compact``; the log compaction stays planned.

    Source: HoodieLogCompactionPlanGenerator, Hudi 1.2.0.
    """
    with reraise_task_errors():
        return table_by_tasks(spark, path, options).log_compact()


@check_arguments
def schedule_compaction(
    spark: SparkSession, path: str, *, options: Mapping[str, str] | None = None
) -> ServiceResult[Instant]:
    """Plan a compaction of the table at *path* without running it, if file groups have log files.

    Raises:
        HudiFormatError: as for ``hudiformat.Table.schedule_compaction``.

    Source: RunCompactionProcedure, Hudi 1.2.0.
    """
    with reraise_task_errors():
        return table_by_tasks(spark, path, options).schedule_compaction()


@check_arguments
def cluster(spark: SparkSession, path: str, *, options: Mapping[str, str] | None = None) -> ServiceResult[Commit]:
    """Cluster the table at *path*, as ``hudiformat.Table.cluster`` does: a task rewrites one group of file slices.

    Raises:
        HudiFormatError: as for ``hudiformat.Table.cluster``; the clustering stays planned.

    Source: RunClusteringProcedure, MultipleSparkJobExecutionStrategy, Hudi 1.2.0.
    """
    with reraise_task_errors():
        return table_by_tasks(spark, path, options).cluster()


@check_arguments
def schedule_clustering(
    spark: SparkSession, path: str, *, options: Mapping[str, str] | None = None
) -> ServiceResult[Instant]:
    """Plan a clustering of the table at *path* without running it, if there are file groups to rewrite.

    Raises:
        HudiFormatError: as for ``hudiformat.Table.schedule_clustering``.

    Source: RunClusteringProcedure, Hudi 1.2.0.
    """
    with reraise_task_errors():
        return table_by_tasks(spark, path, options).schedule_clustering()


@check_arguments
def clean(spark: SparkSession, path: str, *, options: Mapping[str, str] | None = None) -> ServiceResult[Instant]:
    """Clean the table at *path*, as ``hudiformat.Table.clean`` does: tasks delete the files.

    Raises:
        HudiFormatError: as for ``hudiformat.Table.clean``; the clean stays planned.

    Source: RunCleanProcedure, CleanActionExecutor, Hudi 1.2.0.
    """
    with reraise_task_errors():
        return table_by_tasks(spark, path, options).clean()


@check_arguments
def maintain(
    spark: SparkSession,
    path: str,
    *,
    only: str | Sequence[str] = (),
    dry_run: bool = False,
    options: Mapping[str, str] | None = None,
) -> MaintenanceReport:
    """Run all services of the table at *path* that are due, as ``hudiformat.Table.maintain`` does.

    The services run one after the other, and tasks do the work of each, as in a call of its own.

    Raises:
        HudiFormatError: as for ``hudiformat.Table.maintain``.

    Source: BaseHoodieTableServiceClient.runTableServicesInline, Hudi 1.2.0.
    """
    with reraise_task_errors():
        return table_by_tasks(spark, path, options).maintain(only=only, dry_run=dry_run)


@check_arguments
def rollback(
    spark: SparkSession, path: str, instant: str | Instant | Written, *, options: Mapping[str, str] | None = None
) -> ServiceResult[Instant]:
    """Roll back the newest write of the table at *path*, which is *instant*; the driver deletes its files.

    Raises:
        HudiFormatError: as for ``hudiformat.Table.rollback``.

    Source: RollbackToInstantTimeProcedure, Hudi 1.2.0.
    """
    with reraise_task_errors():
        return table_by_tasks(spark, path, options).rollback(instant)


@check_arguments
def savepoint(
    spark: SparkSession,
    path: str,
    instant: str | Instant | Written,
    *,
    user: str = "",
    comment: str = "",
    options: Mapping[str, str] | None = None,
) -> ServiceResult[Instant]:
    """Create a savepoint of the table at *path*: the files of the commit *instant* are kept.

    Raises:
        HudiFormatError: as for ``hudiformat.Table.savepoint``.

    Source: CreateSavepointProcedure, Hudi 1.2.0.
    """
    with reraise_task_errors():
        return table_by_tasks(spark, path, options).savepoint(instant, user=user, comment=comment)


@check_arguments
def delete_savepoint(
    spark: SparkSession, path: str, instant: str | Instant | Written, *, options: Mapping[str, str] | None = None
) -> ServiceResult[Instant]:
    """Delete the savepoint of the commit *instant* of the table at *path*; its files may be cleaned again.

    Raises:
        HudiFormatError: as for ``hudiformat.Table.delete_savepoint``.

    Source: DeleteSavepointProcedure, Hudi 1.2.0.
    """
    with reraise_task_errors():
        return table_by_tasks(spark, path, options).delete_savepoint(instant)


@check_arguments
def restore(
    spark: SparkSession, path: str, instant: str | Instant | Written, *, options: Mapping[str, str] | None = None
) -> ServiceResult[Instant]:
    """Roll back every write of the table at *path* that completed after the commit *instant*.

    Raises:
        HudiFormatError: as for ``hudiformat.Table.restore``.

    Source: RollbackToSavepointProcedure, Hudi 1.2.0.
    """
    with reraise_task_errors():
        return table_by_tasks(spark, path, options).restore(instant)


@check_arguments
def create_index(
    spark: SparkSession,
    path: str,
    name: str,
    *,
    columns: str | Sequence[str] = (),
    options: Mapping[str, str] | None = None,
) -> ServiceResult[Instant]:
    """Build an index of the metadata table of the table at *path*, as ``hudiformat.Table.create_index`` does.

    Tasks read the table's files, and send the entries of the index to the driver, which writes them.

    Raises:
        HudiFormatError: as for ``hudiformat.Table.create_index``.

    Source: RunIndexActionExecutor, Hudi 1.2.0.
    """
    with reraise_task_errors():
        return table_by_tasks(spark, path, options).create_index(name, columns=columns)


@check_arguments
def drop_index(
    spark: SparkSession, path: str, name: str, *, dependents: bool = False, options: Mapping[str, str] | None = None
) -> ServiceResult[Instant]:
    """Drop an index of the metadata table of the table at *path*, as ``hudiformat.Table.drop_index`` does.

    Raises:
        HudiFormatError: as for ``hudiformat.Table.drop_index``.

    Source: DropIndexCommand, Hudi 1.2.0.
    """
    with reraise_task_errors():
        return table_by_tasks(spark, path, options).drop_index(name, dependents=dependents)


@check_arguments
def unschedule_compaction(
    spark: SparkSession,
    path: str,
    instant: str | Instant | Written,
    *,
    file_id: str | None = None,
    partition: str | None = None,
    options: Mapping[str, str] | None = None,
) -> ServiceResult[Instant]:
    """Take a planned compaction, or a file group of it, off the timeline, as ``hudiformat.Table`` does.

    Raises:
        HudiFormatError: as for ``hudiformat.Table.unschedule_compaction``.

    Source: CompactionAdminClient, Hudi 1.2.0.
    """
    with reraise_task_errors():
        return table_by_tasks(spark, path, options).unschedule_compaction(instant, file_id=file_id, partition=partition)


@check_arguments
def change_version(
    spark: SparkSession, path: str, to: Version, *, options: Mapping[str, str] | None = None
) -> ServiceResult[Instant]:
    """Change the table at *path* to version *to*, as ``hudiformat.Table.change_version`` does: tasks merge log files.

    Raises:
        HudiFormatError: as for ``hudiformat.Table.change_version``.

    Source: UpgradeOrDowngradeProcedure, Hudi 1.2.0.
    """
    with reraise_task_errors():
        return table_by_tasks(spark, path, options).change_version(to)


@check_arguments
def verify(
    spark: SparkSession,
    path: str,
    *,
    contents: bool = True,
    keys: bool = False,
    labels: bool = False,
    options: Mapping[str, str] | None = None,
) -> list[TableFinding]:
    """Return what is wrong with the table at *path*, as ``hudiformat.Table.verify`` does: tasks read the files.

    Raises:
        HudiFormatError: as for ``hudiformat.Table.verify``.

    Source: spec/services.md.
    """
    with reraise_task_errors():
        return table_by_tasks(spark, path, options).verify(contents=contents, keys=keys, labels=labels)


@check_arguments
def repair(
    spark: SparkSession,
    path: str,
    *,
    apply: bool = False,
    keys: bool = False,
    labels: bool = False,
    properties: Mapping[str, str] | None = None,
    dead_after: float = DEAD_AFTER,
    options: Mapping[str, str] | None = None,
) -> Repair:
    """Plan the repair of the table at *path*, or with *apply* make it, as ``hudiformat.Table.repair`` does.

    Tasks read the files, and the driver repairs them.

    Raises:
        HudiFormatError: as for ``hudiformat.Table.repair``.

    Source: RepairsCommand, Hudi 1.2.0; docs/repair.md.
    """
    with reraise_task_errors():
        return table_by_tasks(spark, path, options).repair(
            apply=apply, keys=keys, labels=labels, properties=properties, dead_after=dead_after
        )


@check_arguments
def advise(
    spark: SparkSession, path: str, *, commits: int = NEXT_COMMITS, options: Mapping[str, str] | None = None
) -> AdviceList:
    """Return what should be changed about the table at *path*, as ``hudiformat.Table.advise`` does; the driver does it.

    Raises:
        HudiFormatError: as for ``hudiformat.Table.advise``.

    Source: docs/advise.md.
    """
    with reraise_task_errors():
        return table_by_tasks(spark, path, options).advise(commits=commits)


@check_arguments
def report(
    spark: SparkSession,
    path: str,
    page: str | os.PathLike[str] | None = None,
    *,
    verify: bool = True,
    options: Mapping[str, str] | None = None,
) -> TableReport:
    """Return a report about the table at *path*, as ``hudiformat.Table.report`` does.

    With *page*, a local file of the driver, the report is also written there as an HTML page.  With *verify*, tasks
    read the rows of the newest file slices.

    Raises:
        HudiFormatError: as for ``hudiformat.Table.report``.

    Source: spec/services.md, "Reports".
    """
    with reraise_task_errors():
        return table_by_tasks(spark, path, options).report(page, verify=verify)


@check_arguments
def sync_catalog(
    spark: SparkSession,
    path: str,
    catalog: str | None = None,
    *,
    database: str = "",
    table: str = "",
    full: bool = False,
    options: Mapping[str, str] | None = None,
) -> SyncReport:
    """Tell a catalog of the table at *path*, as ``hudiformat.Table.sync_catalog`` does.

    Without *catalog*, and without an option that names it, it is the Hive Metastore of *spark*, if that has one.

    Raises:
        HudiFormatError: as for ``hudiformat.Table.sync_catalog``.

    Source: HiveSyncTool.syncHoodieTable, Hudi 1.2.0; spec/catalogs.md.
    """
    with reraise_task_errors():
        opened = table_by_tasks(spark, path, options)
        return opened.sync_catalog(catalog, database=database, table=table, full=full)


def table_by_tasks(spark: SparkSession, path: str, options: Mapping[str, str] | None) -> Table:
    """Open the table at *path* with the tasks of *spark* as the executor of its services.

    Raises:
        HudiFormatError: as for :func:`open_for_tasks`.
    """
    return Table(with_tasks(spark, context_of(open_for_tasks(path, options))))
