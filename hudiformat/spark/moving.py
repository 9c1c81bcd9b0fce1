"""Rows of a data frame -> the tasks that write them: tagged, looked up, placed, and moved to their file groups.

    hash buckets: tag -> shuffle by bucket -> write
    other indexes: tag -> join with the record keys that are there -> count the new rows -> plan, once, on the driver
                   -> place -> shuffle by file group -> write
    bulk insert and overwriting: tag -> sort as asked -> write, each task into file groups of its own

One file group is written by one task.  No Python per row.  Where rows are shuffled, nothing is written before every
task has tagged its rows, for the shuffle waits for all of them: a record key that is null stops the job while the table
is untouched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, functions
from pyspark.sql.types import BooleanType, StringType, StructField, StructType

from hudiformat.errors import DataError
from hudiformat.spark.tasks import decode_stats, encode_stats, write_token
from hudiformat.storage import open_storage
from hudiformat.table import REPLACING, Operation, RowKeys, TableSchema, WritePlan, WriteTask
from hudiformat.table.combining import combines, ordering_fields_of
from hudiformat.table.partition import PartitionIndex
from hudiformat.table.placement import groups_of_new
from hudiformat.table.places import groups_of_codes
from hudiformat.timeline import WriteStat
from hudiformat.view import FileSlice

_PATH, _GROUP, _KEY, _NEW = "_hudiformat_path", "_hudiformat_group", "_hudiformat_key", "_hudiformat_new"
_TAGS = StructType(
    [StructField(name, StringType()) for name in (_PATH, _GROUP, _KEY)] + [StructField(_NEW, BooleanType())]
)
_KEY_ROWS = 65_536


def write_moved(df: DataFrame, plan: WritePlan, schema: TableSchema) -> Iterator[WriteStat]:
    """Write the rows of *df*, which have the columns of *schema*, by tasks; a statistic for every file.

    Raises:
        DataError: a record key is null, or there already where it must not be.
    """
    with ExitStack() as stack:
        tagged = df.mapInArrow(partial(_tag, plan, schema), StructType([*df.schema.fields, *_TAGS.fields]))
        if plan.uses_buckets:
            moved = _together(tagged, plan)
        elif _opens_groups(plan):
            moved = _as_bulk_inserts_are_sorted(tagged, plan)
        else:
            moved, plan = _placed(_cached(tagged, stack), plan, stack)
        messages = moved.mapInArrow(partial(_write, plan, schema), "stats binary").collect()
    return (stat for message in messages for stat in decode_stats(message["stats"]))


def _combines(plan: WritePlan) -> bool:
    return combines(plan.operation, plan.options)


def _opens_groups(plan: WritePlan) -> bool:
    """Whether each task writes to file groups of its own."""
    return plan.operation is Operation.BULK_INSERT or plan.operation in REPLACING


def _together(tagged: DataFrame, plan: WritePlan) -> DataFrame:
    """The rows of each file group in one task, in the order in which they are combined."""
    order = [functions.col(name).asc_nulls_first() for name in (_PATH, _GROUP)]
    if _combines(plan):
        fields = (_KEY, *ordering_fields_of(plan.config, plan.operation))
        order += [functions.col(name).asc_nulls_first() for name in fields]
    return tagged.repartition(_PATH, _GROUP).sortWithinPartitions(*order)


def _as_bulk_inserts_are_sorted(tagged: DataFrame, plan: WritePlan) -> DataFrame:
    """Source: GlobalSortPartitioner, RDDPartitionSortPartitioner, Hudi 1.2.0."""
    mode = plan.options.bulk_insert_sort if plan.operation is Operation.BULK_INSERT else "NONE"
    if mode == "GLOBAL_SORT":
        tagged = tagged.repartitionByRange(_PATH, _KEY)
    elif _combines(plan):
        tagged = tagged.repartition(_PATH, _KEY)
    if _combines(plan):
        return tagged.sortWithinPartitions(_PATH, _KEY, *ordering_fields_of(plan.config, plan.operation))
    return tagged if mode == "NONE" else tagged.sortWithinPartitions(_PATH, _KEY)


def _placed(tagged: DataFrame, plan: WritePlan, stack: ExitStack) -> tuple[DataFrame, WritePlan]:
    """The rows of each file group in one task, and the plan by which new rows have been placed."""
    storage = open_storage(plan.root)
    paths = [row[0] for row in tagged.select(_PATH).distinct().collect()]
    slices = {path: PartitionIndex(storage, plan, path).slices for path in paths}
    found = tagged
    if plan.operation is not Operation.INSERT or plan.options.insert_duplicates != "none":
        found = _looked_up(tagged, plan, [one for path in paths for one in slices[path]], stack)
    if plan.sizing is not None:
        counts = _new_rows(found, plan)
        plans = {
            path: plan.sizing.plan(path, count, plan.sizing.small_files(path, slices[path]))
            for path, count in counts.items()
        }
        # Each task has a part of the new rows: their order says nothing, so they are told apart by their hashes.
        plan = replace(plan, placements={path: replace(one, in_order=False) for path, one in plans.items()})
        found = found.mapInArrow(partial(_place, plan), found.schema)
    return _together(found, plan), plan


def _looked_up(tagged: DataFrame, plan: WritePlan, slices: list[FileSlice], stack: ExitStack) -> DataFrame:
    """The rows with their file groups, once for each that has the key; new ones have none.

    Source: HoodieSimpleIndex, Hudi 1.2.0, which joins as well.
    """
    numbers = tagged.sparkSession.range(0, len(slices), 1, max(len(slices), 1))
    known = numbers.mapInArrow(
        partial(_known_keys, plan, slices), StructType([field for field in _TAGS.fields if field.name != _NEW])
    )
    how = "inner" if plan.operation is Operation.DELETE else "left"
    found = tagged.drop(_GROUP, _NEW).join(known, [_PATH, _KEY], how)
    found = found.withColumn(_NEW, functions.col(_GROUP).isNull()).select(*tagged.columns)
    found = _cached(found, stack)
    if plan.operation is not Operation.INSERT:
        return found
    there = found.where(~functions.col(_NEW))
    if plan.options.insert_duplicates == "fail" and (row := there.select(_PATH, _KEY).first()) is not None:
        raise DataError(f"the record key {row[1]!r} is in partition {row[0]!r} already")
    return found.where(functions.col(_NEW))


def _new_rows(found: DataFrame, plan: WritePlan) -> Mapping[str, int]:
    """How many rows of each partition are new; of those with one key that are combined, one counts."""
    new = found.where(functions.col(_NEW))
    if plan.schema.delete_column is not None:
        new = new.where(~functions.coalesce(functions.col(plan.schema.delete_column), functions.lit(False)))
    counted: Any = functions.count_distinct(_KEY) if _combines(plan) else functions.count(functions.lit(1))
    return {row[0]: row[1] for row in new.groupBy(_PATH).agg(counted).collect()}


def _cached(df: DataFrame, stack: ExitStack) -> DataFrame:
    """*df*, evaluated once: what is planned over its rows has to fit them when they are written."""
    kept = df.persist()
    stack.callback(kept.unpersist)
    return kept


def _tag(plan: WritePlan, schema: TableSchema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    keys = RowKeys.of(plan.config)
    for batch in batches:
        fitted = schema.fit(batch)
        record_keys = keys.record_keys(fitted)
        groups = pa.repeat("", batch.num_rows)
        if plan.uses_buckets:
            groups = pa.array(plan.buckets(record_keys)).cast(pa.string())
        tags = [keys.partition_paths(fitted), groups, record_keys, pa.repeat(pa.scalar(True), batch.num_rows)]
        yield pa.RecordBatch.from_arrays([*batch.columns, *tags], names=[*batch.schema.names, *_TAGS.names])


def _known_keys(
    plan: WritePlan, slices: list[FileSlice], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The record keys of the file slices with the numbers in *batches*."""
    storage = open_storage(plan.root)
    for number in (number for batch in batches for number in batch.column(0).to_pylist()):
        path, file_id = slices[number].partition_path, slices[number].file_id
        keys = PartitionIndex(storage, plan, path).slice_keys(slices[number]).unique()
        for start in range(0, len(keys), _KEY_ROWS):
            part = keys.slice(start, _KEY_ROWS)
            columns = [pa.repeat(path, len(part)), pa.repeat(file_id, len(part)), part]
            yield pa.RecordBatch.from_arrays(columns, names=[_PATH, _GROUP, _KEY])


def _place(plan: WritePlan, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows, the new ones with the file groups that they go to; deletes of what is not there are left out."""
    for batch in batches:
        yield from (part for part in _placed_parts(plan, batch) if part.num_rows)


def _placed_parts(plan: WritePlan, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    yield batch.filter(pc.invert(batch[_NEW]))
    new = batch.filter(batch[_NEW])
    paths = new[_PATH].dictionary_encode()
    for code, rows in groups_of_codes(np.asarray(paths.indices).astype(np.int64)):
        placement = plan.placements.get(paths.dictionary[code].as_py())
        if placement is not None:
            part = new.take(pa.array(rows))
            place = part.schema.get_field_index(_GROUP)
            yield part.set_column(place, part.schema.field(place), groups_of_new(placement, part[_KEY]))


def _write(plan: WritePlan, schema: TableSchema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    finds_groups = plan.uses_buckets or _opens_groups(plan)
    with WriteTask(plan, write_token()) as task:
        for batch in last_of_each_key(batches) if _combines(plan) else batches:
            rows = schema.fit(batch.select(batch.schema.names[: -len(_TAGS)]))
            if finds_groups:
                task.write(rows)
            else:
                task.write_placed(rows, batch[_GROUP], batch[_NEW])
        yield encode_stats(task.finish())


def last_of_each_key(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The last row of every run with one partition path, file group and record key; memory is bounded by a batch."""
    waiting: pa.RecordBatch | None = None
    for batch in batches:
        if not batch.num_rows:
            continue
        if waiting is not None and not _same_key(waiting, batch):
            yield waiting
        last = np.flatnonzero(_changes(batch))
        yield batch.take(pa.array(last))
        waiting = batch.slice(batch.num_rows - 1)
    if waiting is not None:
        yield waiting


def _changes(batch: pa.RecordBatch) -> np.ndarray:
    """For each row whether the next one has another key; False for the last."""
    result = np.zeros(batch.num_rows, dtype=np.bool_)
    for name in (_PATH, _GROUP, _KEY):
        column = batch[name]
        result[:-1] |= np.asarray(pc.not_equal(column.slice(0, len(column) - 1), column.slice(1)))
    return result


def _same_key(left: pa.RecordBatch, right: pa.RecordBatch) -> bool:
    return all(left[name][-1] == right[name][0] for name in (_PATH, _GROUP, _KEY))
