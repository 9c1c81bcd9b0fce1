"""Count the new rows of each partition, before the tasks of a write run.

With Flink's sizing, several tasks share the new rows: the hash of the record key selects the task, and the rows are
counted for each task.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, functions

from hudiformat.schema.table_schema import RowKeys, TableSchema
from hudiformat.sizing.key_groups import Parallelism
from hudiformat.spark.write.lookup.tagging import KEY, NEW, PATH, is_deleted, quote, with_tags
from hudiformat.spark.write.schema import fit_shown
from hudiformat.spark.write.workers import in_task
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.rows import group_by_value

Counts = Mapping[str, Mapping[int, int]]
"""The number of rows by partition path and task; the task is 0 if tasks do not share the rows."""

_COUNT = "_hudiformat_count"
_TASK = "_hudiformat_task"


def counts_of_inserts(df: DataFrame, plan: WritePlan, schema: TableSchema) -> Counts:
    """Count the rows of an insert that combines no rows: Spark groups them by the values of the partition columns."""
    parallelism = parallelism_of(plan)
    if parallelism is not None:
        return _by_task(with_tags(df.where(~is_deleted(df, plan)), plan, schema).select(PATH, KEY), parallelism)
    names = list(RowKeys.of(plan.config).partition_columns)
    rows = functions.count_if(~is_deleted(df, plan)).alias(_COUNT)
    counted = df.groupBy(*(functions.col(quote(name)) for name in names)).agg(rows).where(functions.col(_COUNT) > 0)
    found = counted.mapInArrow(in_task(_with_paths, plan, schema.only(names)), f"{PATH} string, {_COUNT} long")
    return sum_counts(
        (path, 0, count) for path, count in found.collect()
    )  # null and the empty string have the same path


def counts_of_new(found: DataFrame, plan: WritePlan) -> Counts:
    """Count the new rows of *found*; rows with the same key count as one if they are combined."""
    new = found.where(functions.col(NEW) & ~is_deleted(found, plan))
    parallelism = parallelism_of(plan)
    if parallelism is not None:
        keys = new.select(PATH, KEY)
        return _by_task(keys.distinct() if plan.combines else keys, parallelism)
    counted: Any = functions.count_distinct(KEY) if plan.combines else functions.count(functions.lit(1))
    return sum_counts((path, 0, count) for path, count in new.groupBy(PATH).agg(counted).collect())


def parallelism_of(plan: WritePlan) -> Parallelism | None:
    """Return Flink's parallelism if its tasks share the new rows; None otherwise."""
    return plan.sizing.parallelism if plan.sizing is not None else None


def _by_task(keys: DataFrame, parallelism: Parallelism) -> Counts:
    schema = f"{PATH} string, {_TASK} long, {_COUNT} long"
    return sum_counts(keys.mapInArrow(in_task(_count_by_task, parallelism), schema).collect())


def _count_by_task(parallelism: Parallelism, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    found: Counter[tuple[str, int]] = Counter()
    for batch in batches:
        for path, rows in group_by_value(batch[PATH]):
            for task, count in parallelism.counts(batch[KEY].take(pa.array(rows))).items():
                found[path, task] += count
    columns = [[path for path, _ in found], [task for _, task in found], list(found.values())]
    kinds = (pa.string(), pa.int64(), pa.int64())
    arrays = [pa.array(values, kind) for values, kind in zip(columns, kinds, strict=True)]
    yield pa.RecordBatch.from_arrays(arrays, names=[PATH, _TASK, _COUNT])


def sum_counts(parts: Iterable[tuple[str, int, int]]) -> Counts:
    """Add up numbers of rows by partition path and task."""
    counts: dict[str, Counter[int]] = {}
    for path, task, count in parts:
        counts.setdefault(path, Counter())[task] += count
    return counts


def _with_paths(plan: WritePlan, schema: TableSchema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        paths = RowKeys.of(plan.config).partition_paths(fit_shown(schema, batch.drop_columns(_COUNT)))
        yield pa.RecordBatch.from_arrays([paths, batch[_COUNT]], names=[PATH, _COUNT])
