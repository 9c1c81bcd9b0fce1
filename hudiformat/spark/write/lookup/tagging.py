"""The tags of a row: its partition path, its file group if it is known already, and its record key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import reduce
from operator import or_
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, functions
from pyspark.sql.types import StringType, StructField, StructType

from hudiformat.errors import UnsupportedFeatureError
from hudiformat.schema.table_schema import RowKeys, TableSchema
from hudiformat.spark.write.schema import arrow_schema, fit_shown
from hudiformat.spark.write.task_errors import mark_errors
from hudiformat.spark.write.workers import in_task, prepare_worker
from hudiformat.storage.opening import open_storage
from hudiformat.timeline.table_config import TableConfig
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.index.buckets import numbers_by_path
from hudiformat.write.new_rows import FIRST_NEW, groups_of_new
from hudiformat.write.rows import group_by_value

PATH, GROUP, KEY = "_hudiformat_path", "_hudiformat_group", "_hudiformat_key"
TAGS = StructType([StructField(name, StringType()) for name in (PATH, GROUP, KEY)])
NEW = "_hudiformat_new"
"""Whether a row is new; a row that is not new has its file group in GROUP."""

DELETED_FROM = "_hudiformat_out"
"""The file group that a row is deleted from; null in rows that are written."""

_TAG = "_hudiformat_tag"


def with_tags(df: DataFrame, plan: WritePlan, schema: TableSchema) -> DataFrame:
    """Add the tags to each row of *df*; from PySpark 4.1 on, only the key columns go through Python."""
    names = key_columns(plan)
    keys = schema.only(names)
    if not hasattr(functions, "arrow_udf"):  # before PySpark 4.1
        return df.mapInArrow(in_task(tag_rows, plan, keys), StructType([*df.schema.fields, *TAGS.fields]))

    def tag(*columns: pa.Array) -> pa.Array:
        prepare_worker()
        with mark_errors():
            return _tags(plan, keys, pa.RecordBatch.from_arrays(list(columns), names=names)).to_struct_array()

    made = functions.arrow_udf(tag, TAGS)(*(functions.col(quote(name)) for name in names))
    return df.withColumn(_TAG, made).select(*map(quote, df.columns), f"{_TAG}.*")


def paths_of(df: DataFrame, config: TableConfig, schema: TableSchema) -> list[str]:
    """Return the partition paths of the rows of *df*, which have the columns of *schema*, sorted.

    Raises:
        DataError: a partition column is missing.
    """
    names = list(RowKeys.of(config).partition_columns)
    if not names:
        return [] if df.isEmpty() else [""]
    check_has_paths(config, arrow_schema(df.schema))
    rows = (
        df.select(*map(quote, names))
        .distinct()
        .mapInArrow(in_task(_paths, config, schema.only(names)), f"{PATH} string")
    )
    return sorted({row[0] for row in rows.collect()})


def check_has_paths(config: TableConfig, columns: pa.Schema) -> None:
    """Raise a DataError if a partition column is missing among *columns*."""
    keys = RowKeys.of(config)
    own = [one if one.name in keys.partition_columns else one.with_type(pa.null()) for one in columns]
    keys.partition_paths(pa.schema(own).empty_table())


def _paths(config: TableConfig, schema: TableSchema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        paths = RowKeys.of(config).partition_paths(fit_shown(schema, batch))
        yield pa.RecordBatch.from_arrays([paths], names=[PATH])


def key_columns(plan: WritePlan) -> list[str]:
    """Return the columns that record keys and partition paths are made of."""
    return RowKeys.of(plan.config).columns


def quote(name: str) -> str:
    """Quote *name* for an expression of Spark SQL; it may contain any characters."""
    return f"`{name.replace('`', '``')}`"


def is_deleted(df: DataFrame, plan: WritePlan) -> Column:
    """Return a column that tells whether a row of *df* is a delete."""
    flags, marker = [], plan.rule.delete_marker
    for name in plan.rule.delete_columns:
        if name not in df.columns:
            continue
        if name == plan.rule.delete_column:
            flags.append(functions.col(quote(name)))
        elif marker is not None:
            text = functions.col(".".join(map(quote, marker.column.split(".")))).cast("string")
            wanted = functions.lit(marker.text.lower() if marker.ignores_case else marker.text)
            flags.append((functions.lower(text) if marker.ignores_case else text) == wanted)
    return reduce(or_, (functions.coalesce(one, functions.lit(False)) for one in flags), functions.lit(False))


def refuse_merged_columns(plan: WritePlan) -> None:
    """Refuse to combine rows in Spark, which keeps one of several, if the table merges them column by column.

    Raises:
        UnsupportedFeatureError: it does.
    """
    if plan.combines and plan.combining.rule is not None:
        raise UnsupportedFeatureError(
            f"{plan.root}: expected rows that replace each other whole, found partial updates, which tasks cannot "
            f"combine in a {plan.operation.value} or with a global index; leave one row per key, and set "
            "hoodie.combine.before.upsert and hoodie.combine.before.insert to false",
            feature="combining partial updates by tasks",
        )


def cache(df: DataFrame, stack: ExitStack) -> DataFrame:
    """Cache *df* until *stack* closes: the rows that are written have to be the rows that the write was planned for."""
    kept = df.persist()
    stack.callback(kept.unpersist)
    return kept


_QUICK = frozenset({"Project", "Filter", "Generate", "Union", "Range", "LocalRelation", "InMemoryRelation"})
"""Nodes of an optimized plan that are quick, and return the same rows again if their expressions are deterministic."""
_RELATION, _FILES = "LogicalRelation", "HadoopFsRelation"
"""The node of a relation of a data source, and the relation of files."""
_MOST_NODES = 32
"""The largest number of nodes that are looked at, for each takes some calls of the JVM."""


def cache_if_slow(df: DataFrame, stack: ExitStack) -> DataFrame:
    """Cache *df*, whose rows are read more than once, unless reading is quick and certainly returns the same rows."""
    if df.storageLevel.useMemory or df.storageLevel.useDisk:
        return df
    execution = getattr(getattr(df, "_jdf", None), "queryExecution", None)  # Spark Connect has no plan
    if execution is not None and execution().analyzed().deterministic() and _is_quick(execution().optimizedPlan()):
        return df
    return cache(df, stack)


def _is_quick(plan: Any) -> bool:
    """Return whether a Spark plan only reads files or rows in memory, and selects or computes row by row.

    Any other node, such as an aggregate, a join or a Python function, is slow, or may return other rows the next time.
    """
    if not plan.subqueriesAll().isEmpty():
        return False
    waiting, seen = [plan], 0
    while waiting and seen < _MOST_NODES:
        node, seen = waiting.pop(), seen + 1
        name = node.nodeName()
        if name not in _QUICK and not (name == _RELATION and _kind(node.relation()) == _FILES):
            return False
        children = node.children()
        waiting += [children.apply(number) for number in range(children.size())]
    return not waiting


def _kind(of_jvm: Any) -> str:
    return str(of_jvm.getClass().getSimpleName())


def tag_rows(plan: WritePlan, keys: TableSchema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Add the tags to each row of *batches*; *keys* are the columns that keys and paths are made of."""
    for batch in batches:
        tags = _tags(plan, keys, batch.select(keys.arrow.names))
        yield pa.RecordBatch.from_arrays(
            [*batch.columns, *tags.columns], names=[*batch.schema.names, *tags.schema.names]
        )


def _tags(plan: WritePlan, schema: TableSchema, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the partition path, file group and record key of each row; *batch* has the key columns."""
    rows, keys = fit_shown(schema, batch), RowKeys.of(plan.config)
    record_keys, paths = keys.record_keys(rows), keys.partition_paths(rows)
    groups = pa.repeat("", batch.num_rows)
    if plan.uses_buckets:
        numbers = numbers_by_path(open_storage(plan.root), plan, record_keys, dict(group_by_value(paths)))
        groups = pa.array(numbers).cast(pa.string())
    elif plan.planned_inserts:
        groups = _groups_of_new(plan, paths, record_keys)
    return pa.RecordBatch.from_arrays([paths, groups, record_keys], names=TAGS.names)


def _groups_of_new(plan: WritePlan, paths: pa.Array, record_keys: pa.Array) -> pa.Array:
    """Return the file group of each row of an insert, by the planned_inserts of the plan."""
    groups, order = [pa.array([], pa.string())], [np.array([], np.int64)]
    for path, rows in group_by_value(paths):
        planned = plan.planned_inserts.get(path)
        # A source that returns other rows when it is read again may have a partition that was not counted.
        unplanned = pa.repeat(FIRST_NEW, len(rows))
        groups.append(unplanned if planned is None else groups_of_new(planned, record_keys.take(pa.array(rows))))
        order.append(rows)
    return pa.concat_arrays(groups).take(pa.array(np.argsort(np.concatenate(order))))
