"""Services of a table: the driver plans and commits them, and tasks run them, each for one or more file groups."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from hudiformat.api.reading import context_of
from hudiformat.arguments import checks_arguments, one_or_more
from hudiformat.check.verify.finding import TableFinding
from hudiformat.check.verify.verification import verify_table
from hudiformat.naming.file_names import WriteToken
from hudiformat.services import cleaning, clustering, compaction, indexing, log_compaction
from hudiformat.services.execution import Part
from hudiformat.services.service_result import ServiceResult
from hudiformat.spark.errors import reraised
from hudiformat.spark.options import open_for_tasks
from hudiformat.spark.write.batches import tasks_at_once
from hudiformat.spark.write.describing import phase
from hudiformat.spark.write.tasks import decode_stats, encode_stats, write_token
from hudiformat.spark.write.workers import in_task
from hudiformat.storage.opening import open_storage
from hudiformat.table.state import TableContext
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.timeline.timeline import Instant
from hudiformat.write.commit.files import check_awaited
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.commit.transaction import Commit

_TASKS_PER_CORE = 4
_TOKENS = 1 << 31
"""The number of Java's non-negative integers."""


@checks_arguments
def cluster(spark: SparkSession, path: str, *, options: Mapping[str, str] | None = None) -> ServiceResult[Commit]:
    """Cluster the table at *path*, as ``hudiformat.Table.cluster`` does: a task rewrites one group of file slices.

    Raises:
        HudiFormatError: as for ``hudiformat.Table.cluster``; the clustering stays planned.

    Source: RunClusteringProcedure, MultipleSparkJobExecutionStrategy, Hudi 1.2.0.
    """
    with reraised():
        return clustering.cluster(_by_tasks(spark, path, options))


@checks_arguments
def compact(spark: SparkSession, path: str, *, options: Mapping[str, str] | None = None) -> ServiceResult[Commit]:
    """Compact the table at *path*, as ``hudiformat.Table.compact`` does: a task merges one file slice.

    Raises:
        HudiFormatError: as for ``hudiformat.Table.compact``; the compaction stays planned.

    Source: RunCompactionProcedure, HoodieCompactor, Hudi 1.2.0.
    """
    with reraised():
        return compaction.compact(_by_tasks(spark, path, options))


@checks_arguments
def log_compact(spark: SparkSession, path: str, *, options: Mapping[str, str] | None = None) -> ServiceResult[Commit]:
    """Merge log files of the table at *path*, as ``hudiformat.Table.log_compact`` does: a task merges one file slice.

    Raises:
        HudiFormatError: as for ``hudiformat.Table.log_compact``; the log compaction stays planned.
    """
    with reraised():
        return log_compaction.log_compact(_by_tasks(spark, path, options))


@checks_arguments
def clean(spark: SparkSession, path: str, *, options: Mapping[str, str] | None = None) -> ServiceResult[Instant]:
    """Clean the table at *path*, as ``hudiformat.Table.clean`` does: tasks delete the files.

    Raises:
        HudiFormatError: as for ``hudiformat.Table.clean``; the clean stays planned.

    Source: RunCleanProcedure, CleanActionExecutor, Hudi 1.2.0.
    """
    with reraised():
        return cleaning.clean(_by_tasks(spark, path, options))


@checks_arguments
def verify(
    spark: SparkSession, path: str, *, contents: bool = True, options: Mapping[str, str] | None = None
) -> list[TableFinding]:
    """Return what is wrong with the table at *path*, as ``hudiformat.Table.verify`` does: tasks read the files.

    Raises:
        HudiFormatError: as for ``hudiformat.Table.verify``.

    Source: spec/services.md.
    """
    with reraised():
        return list(verify_table(_by_tasks(spark, path, options), contents=contents))


@checks_arguments
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
    with reraised():
        return indexing.create_index(_by_tasks(spark, path, options), name, columns=one_or_more(columns))


def with_tasks(spark: SparkSession, context: TableContext) -> TableContext:
    """Return *context* with the tasks of *spark* as the executor of its services."""
    return replace(context, run_parts=partial(_run_parts, spark), run_each=partial(_run_each, spark))


def _by_tasks(spark: SparkSession, path: str, options: Mapping[str, str] | None) -> TableContext:
    return with_tasks(spark, context_of(open_for_tasks(path, options)))


def _run_parts(spark: SparkSession, plan: WritePlan, parts: Sequence[Part], attempt: int) -> Iterator[WriteStat]:
    numbers = spark.range(0, len(parts), 1, len(parts))
    with phase(spark, plan, "rewrite file groups"):
        messages = numbers.mapInArrow(in_task(_run, plan, parts, attempt), "stats binary").collect()
    return (stat for message in messages for stat in decode_stats(message["stats"]))


def _run_each(spark: SparkSession, function: Callable[[Any], Any], given: Sequence[Any]) -> Iterator[Any]:
    tasks = min(len(given), _TASKS_PER_CORE * tasks_at_once(spark))
    numbers = spark.range(0, len(given), 1, tasks)
    messages = numbers.mapInArrow(in_task(_call, function, given), "number long, result binary").collect()
    found = {message["number"]: message["result"] for message in messages}
    return (pickle.loads(bytes(found[number])) for number in range(len(given)))  # noqa: S301 - pickled by our own tasks


def _call(
    function: Callable[[Any], Any], given: Sequence[Any], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for number in (number for batch in batches for number in batch.column(0).to_pylist()):
        result = pickle.dumps(function(given[number]))
        arrays = [pa.array([number], pa.int64()), pa.array([result], pa.binary())]
        yield pa.RecordBatch.from_arrays(arrays, names=["number", "result"])


def _run(
    plan: WritePlan, parts: Sequence[Part], attempt: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Run the parts whose numbers are in *batches*, and yield the statistics of each."""
    storage, own = open_storage(plan.root), write_token()
    for number in (number for batch in batches for number in batch.column(0).to_pylist()):
        # The token has the attempt of the service too: tasks of a driver that is believed dead may still be running.
        token = WriteToken(number, (own.stage + attempt) % _TOKENS, own.attempt)
        stats = tuple(parts[number](plan, storage, token))
        check_awaited(storage, plan.config, plan.instant, stats)
        yield encode_stats(stats)
