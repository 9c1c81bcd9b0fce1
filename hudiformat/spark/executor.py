"""The tasks of Spark as the executor of a table's services."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from hudiformat.spark.write.batches import tasks_at_once
from hudiformat.spark.write.describing import describe_jobs
from hudiformat.spark.write.tasks import write_token
from hudiformat.spark.write.workers import in_task
from hudiformat.table.executor import Given, Result, TaskAttempt
from hudiformat.table.options.parsers import parse_fields
from hudiformat.table.state import TableContext

_TASKS_PER_CORE = 4


@dataclass(frozen=True, slots=True)
class SparkExecutor:
    """Runs calls as tasks of *spark*; see ``hudiformat.table.executor.Executor``."""

    spark: SparkSession

    def map(
        self, function: Callable[[Given, TaskAttempt], Result], given: Sequence[Given], *, name: str, alone: bool
    ) -> Iterator[Result]:
        """Yield the results of *function* for each of *given*, in their order."""
        most = len(given) if alone else _TASKS_PER_CORE * tasks_at_once(self.spark)
        numbers = self.spark.range(0, len(given), 1, min(len(given), most))
        with describe_jobs(self.spark, name):
            calls = numbers.mapInArrow(in_task(_call, function, given), "number long, result binary")
            found = {message["number"]: message["result"] for message in calls.collect()}
        for number in range(len(given)):
            yield pickle.loads(bytes(found[number]))  # noqa: S301 - pickled by our own tasks


def with_tasks(spark: SparkSession, context: TableContext) -> TableContext:
    """Return *context* with the tasks of *spark* as the executor of its services, and with Spark's metastore."""
    catalogs = context.options.catalogs
    uris = catalogs.uris or parse_fields("", spark.conf.get("spark.hadoop.hive.metastore.uris", None) or "")
    options = replace(context.options, catalogs=replace(catalogs, uris=uris))
    return replace(context, executor=SparkExecutor(spark), options=options)


def _call(
    function: Callable[[Any, TaskAttempt], object], given: Sequence[Any], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    token = write_token()
    for number in (number for batch in batches for number in batch.column(0).to_pylist()):
        result = pickle.dumps(function(given[number], TaskAttempt(token.stage, token.attempt)))
        arrays = [pa.array([number], pa.int64()), pa.array([result], pa.binary())]
        yield pa.RecordBatch.from_arrays(arrays, names=["number", "result"])
