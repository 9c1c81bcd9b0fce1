"""Services of a table: the driver plans and commits them, and tasks run them, each for one or more file groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession

from hudiformat.api.reading import context_of
from hudiformat.arguments import as_name_list, check_arguments
from hudiformat.check.verify.finding import TableFinding
from hudiformat.check.verify.verification import verify_table
from hudiformat.services import cleaning, clustering, compaction, indexing, log_compaction
from hudiformat.services.service_result import ServiceResult
from hudiformat.spark.errors import reraise_task_errors
from hudiformat.spark.executor import with_tasks
from hudiformat.spark.options import open_for_tasks
from hudiformat.table.state import TableContext
from hudiformat.timeline.timeline import Instant
from hudiformat.write.commit.transaction import Commit


@check_arguments
def cluster(spark: SparkSession, path: str, *, options: Mapping[str, str] | None = None) -> ServiceResult[Commit]:
    """Cluster the table at *path*, as ``hudiformat.Table.cluster`` does: a task rewrites one group of file slices.

    Raises:
        HudiFormatError: as for ``hudiformat.Table.cluster``; the clustering stays planned.

    Source: RunClusteringProcedure, MultipleSparkJobExecutionStrategy, Hudi 1.2.0.
    """
    with reraise_task_errors():
        return clustering.cluster(_by_tasks(spark, path, options))


@check_arguments
def compact(spark: SparkSession, path: str, *, options: Mapping[str, str] | None = None) -> ServiceResult[Commit]:
    """Compact the table at *path*, as ``hudiformat.Table.compact`` does: a task merges one file slice.

    Raises:
        HudiFormatError: as for ``hudiformat.Table.compact``; the compaction stays planned.

    Source: RunCompactionProcedure, HoodieCompactor, Hudi 1.2.0.
    """
    with reraise_task_errors():
        return compaction.compact(_by_tasks(spark, path, options))


@check_arguments
def log_compact(spark: SparkSession, path: str, *, options: Mapping[str, str] | None = None) -> ServiceResult[Commit]:
    """Merge log files of the table at *path*, as ``hudiformat.Table.log_compact`` does: a task merges one file slice.

    Raises:
        HudiFormatError: as for ``hudiformat.Table.log_compact``; the log compaction stays planned.
    """
    with reraise_task_errors():
        return log_compaction.log_compact(_by_tasks(spark, path, options))


@check_arguments
def clean(spark: SparkSession, path: str, *, options: Mapping[str, str] | None = None) -> ServiceResult[Instant]:
    """Clean the table at *path*, as ``hudiformat.Table.clean`` does: tasks delete the files.

    Raises:
        HudiFormatError: as for ``hudiformat.Table.clean``; the clean stays planned.

    Source: RunCleanProcedure, CleanActionExecutor, Hudi 1.2.0.
    """
    with reraise_task_errors():
        return cleaning.clean(_by_tasks(spark, path, options))


@check_arguments
def verify(
    spark: SparkSession, path: str, *, contents: bool = True, options: Mapping[str, str] | None = None
) -> list[TableFinding]:
    """Return what is wrong with the table at *path*, as ``hudiformat.Table.verify`` does: tasks read the files.

    Raises:
        HudiFormatError: as for ``hudiformat.Table.verify``.

    Source: spec/services.md.
    """
    with reraise_task_errors():
        return list(verify_table(_by_tasks(spark, path, options), contents=contents))


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
        return indexing.create_index(_by_tasks(spark, path, options), name, columns=as_name_list(columns))


def _by_tasks(spark: SparkSession, path: str, options: Mapping[str, str] | None) -> TableContext:
    return with_tasks(spark, context_of(open_for_tasks(path, options)))
