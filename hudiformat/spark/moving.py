"""Rows of a data frame -> the tasks that write them: tagged, looked up, placed, and moved to their file groups.

    hash buckets: tag -> shuffle by bucket -> write
    inserts: count the rows, from the columns of their keys -> plan, once, on the driver -> tag with the file group
             -> shuffle by file group -> write
    other indexes: tag -> join with the record keys that are there -> count the new rows -> plan, once, on the driver
                   -> place -> shuffle by file group -> write
    bulk insert and overwriting: tag -> sort as asked -> write, each task into file groups of its own

One file group is written by one task.  No Python per row.  Where rows are shuffled, nothing is written before every
task has tagged its rows, for the shuffle waits for all of them: a record key that is null stops the job while the table
is untouched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, functions

from hudiformat.errors import DataError
from hudiformat.spark.tagging import GROUP, KEY, PATH, TAGS, key_columns, quoted, with_tags
from hudiformat.spark.tasks import decode_stats, encode_stats, write_token
from hudiformat.storage import open_storage
from hudiformat.table import REPLACING, Operation, TableSchema, WritePlan, WriteTask
from hudiformat.table.combining import combines, ordering_fields_of
from hudiformat.table.partition import PartitionIndex
from hudiformat.table.placement import groups_of_new
from hudiformat.table.places import groups_of_codes
from hudiformat.timeline import WriteStat
from hudiformat.view import FileSlice

NEW = "_hudiformat_new"
"""Whether a row is new; others have their file group."""

OUT = "_hudiformat_out"
"""The file group that a row is deleted from, null in rows that are written."""

_ALL_TAGS = (*TAGS.names, NEW, OUT)
_KEY_ROWS = 65_536


def write_moved(df: DataFrame, plan: WritePlan, schema: TableSchema) -> Iterator[WriteStat]:
    """Write the rows of *df*, which have the columns of *schema*, by tasks; a statistic for every file.

    Raises:
        DataError: a record key is null, or there already where it must not be.
    """
    with ExitStack() as stack:
        if plan.uses_buckets:
            moved = _together(with_tags(df, plan, schema), plan)
        elif _opens_groups(plan):
            moved = _as_bulk_inserts_are_sorted(with_tags(df, plan, schema), plan)
        elif _only_adds(plan):
            plan = _counted(df, plan, schema)
            moved = _together(with_tags(df, plan, schema).withColumn(NEW, functions.lit(True)), plan)
        else:
            rows = cached(with_tags(df, plan, schema), stack)
            slices = newest_slices(rows, plan)
            return write_found(_looked_up(rows, plan, slices, stack), plan, schema, slices)
        return _written(moved, plan, schema)


def write_found(
    found: DataFrame, plan: WritePlan, schema: TableSchema, slices: Sequence[FileSlice]
) -> Iterator[WriteStat]:
    """Write rows that have been looked up in *slices*, those of their partitions; deletes have OUT.

    Unless the plan has hash buckets, the rows have to be cached.
    """
    if plan.sizing is not None:
        plan = _planned(plan, _new_rows(found, plan), slices)
        found = found.mapInArrow(partial(_place, plan), found.schema)
    return _written(_together(found, plan), plan, schema)


def _written(moved: DataFrame, plan: WritePlan, schema: TableSchema) -> Iterator[WriteStat]:
    messages = moved.mapInArrow(partial(_write, plan, schema), "stats binary").collect()
    return (stat for message in messages for stat in decode_stats(message["stats"]))


def _combines(plan: WritePlan) -> bool:
    return combines(plan.operation, plan.options)


def _opens_groups(plan: WritePlan) -> bool:
    """Whether each task writes to file groups of its own."""
    return plan.operation is Operation.BULK_INSERT or plan.operation in REPLACING


def _only_adds(plan: WritePlan) -> bool:
    """Whether all rows are new, whatever is there."""
    return plan.operation is Operation.INSERT and plan.options.insert_duplicates == "none"


def _counted(df: DataFrame, plan: WritePlan, schema: TableSchema) -> WritePlan:
    """The plan with a place for each row of an insert; reads what record keys and partition paths are made of."""
    keys = _without_deletes(df, plan).select(*map(quoted, key_columns(plan)))
    counts = _rows_by_path(with_tags(keys, plan, schema), plan)
    return _planned(plan, counts, slices_of(plan, counts))


def _planned(plan: WritePlan, counts: Mapping[str, int], slices: Sequence[FileSlice]) -> WritePlan:
    assert plan.sizing is not None  # noqa: S101 - whoever asks has looked
    plans = {
        path: plan.sizing.plan(
            path, count, plan.sizing.small_files(path, [one for one in slices if one.partition_path == path])
        )
        for path, count in counts.items()
    }
    # Each task has a part of the new rows: their order says nothing, so they are told apart by their hashes.
    return replace(plan, placements={path: replace(one, in_order=False) for path, one in plans.items()})


def _together(tagged: DataFrame, plan: WritePlan) -> DataFrame:
    """The rows of each file group in one task, those with one key in the order in which they are combined."""
    moved = tagged.repartition(PATH, GROUP)
    if not _combines(plan):
        return moved
    # Record keys first: Spark compares the first eight bytes of the first column, and the rest only where they agree.
    fields = (KEY, PATH, GROUP, *map(quoted, ordering_fields_of(plan.config, plan.operation)))
    return moved.sortWithinPartitions(*(functions.col(name).asc_nulls_first() for name in fields))


def _as_bulk_inserts_are_sorted(tagged: DataFrame, plan: WritePlan) -> DataFrame:
    """Source: GlobalSortPartitioner, RDDPartitionSortPartitioner, Hudi 1.2.0."""
    mode = plan.options.bulk_insert_sort if plan.operation is Operation.BULK_INSERT else "NONE"
    if mode == "GLOBAL_SORT":
        tagged = tagged.repartitionByRange(PATH, KEY)
    elif _combines(plan):
        tagged = tagged.repartition(PATH, KEY)
    if _combines(plan):
        return tagged.sortWithinPartitions(PATH, KEY, *map(quoted, ordering_fields_of(plan.config, plan.operation)))
    return tagged if mode == "NONE" else tagged.sortWithinPartitions(PATH, KEY)


def newest_slices(rows: DataFrame, plan: WritePlan) -> list[FileSlice]:
    """The newest file slices of the partitions that *rows*, which have their tags, belong to."""
    paths = [row[0] for row in rows.select(PATH).distinct().collect()]
    return slices_of(plan, paths)


def slices_of(plan: WritePlan, paths: Iterable[str]) -> list[FileSlice]:
    """The newest file slices of the partitions with *paths*."""
    storage = open_storage(plan.root)
    return [one for path in paths for one in PartitionIndex(storage, plan, path).slices]


def _looked_up(tagged: DataFrame, plan: WritePlan, slices: Sequence[FileSlice], stack: ExitStack) -> DataFrame:
    """The rows with their file groups, once for each that has the key; new ones have none.

    Source: HoodieSimpleIndex, Hudi 1.2.0, which joins as well.
    """
    numbers = tagged.sparkSession.range(0, len(slices), 1, max(len(slices), 1))
    known = numbers.mapInArrow(partial(_known_keys, plan, slices), TAGS)
    how = "inner" if plan.operation is Operation.DELETE else "left"
    found = tagged.drop(GROUP).join(known, [PATH, KEY], how).select(*map(quoted, tagged.columns))
    found = found.withColumn(NEW, functions.col(GROUP).isNull())
    found = cached(found, stack)
    if plan.operation is not Operation.INSERT:
        return found
    there = found.where(~functions.col(NEW))
    if plan.options.insert_duplicates == "fail" and (row := there.select(PATH, KEY).first()) is not None:
        raise DataError(f"the record key {row[1]!r} is in partition {row[0]!r} already")
    return found.where(functions.col(NEW))


def _new_rows(found: DataFrame, plan: WritePlan) -> Mapping[str, int]:
    """How many rows of each partition are new; of those with one key that are combined, one counts."""
    return _rows_by_path(_without_deletes(found.where(functions.col(NEW)), plan), plan)


def _without_deletes(df: DataFrame, plan: WritePlan) -> DataFrame:
    column = plan.schema.delete_column
    if column is None or column not in df.columns:
        return df
    return df.where(~functions.coalesce(functions.col(quoted(column)), functions.lit(False)))


def _rows_by_path(new: DataFrame, plan: WritePlan) -> Mapping[str, int]:
    counted: Any = functions.count_distinct(KEY) if _combines(plan) else functions.count(functions.lit(1))
    return {row[0]: row[1] for row in new.groupBy(PATH).agg(counted).collect()}


def cached(df: DataFrame, stack: ExitStack) -> DataFrame:
    """*df*, evaluated once: what is planned over its rows has to fit them when they are written."""
    kept = df.persist()
    stack.callback(kept.unpersist)
    return kept


def _known_keys(
    plan: WritePlan, slices: Sequence[FileSlice], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The record keys of the file slices with the numbers in *batches*."""
    storage = open_storage(plan.root)
    for number in (number for batch in batches for number in batch.column(0).to_pylist()):
        path, file_id = slices[number].partition_path, slices[number].file_id
        keys = PartitionIndex(storage, plan, path).slice_keys(slices[number]).unique()
        for start in range(0, len(keys), _KEY_ROWS):
            part = keys.slice(start, _KEY_ROWS)
            columns = [pa.repeat(path, len(part)), pa.repeat(file_id, len(part)), part]
            yield pa.RecordBatch.from_arrays(columns, names=[PATH, GROUP, KEY])


def _place(plan: WritePlan, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows, the new ones with the file groups that they go to; deletes of what is not there are left out."""
    for batch in batches:
        yield from (part for part in _placed_parts(plan, batch) if part.num_rows)


def _placed_parts(plan: WritePlan, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    yield batch.filter(pc.invert(batch[NEW]))
    new = batch.filter(batch[NEW])
    paths = new[PATH].dictionary_encode()
    for code, rows in groups_of_codes(np.asarray(paths.indices).astype(np.int64)):
        placement = plan.placements.get(paths.dictionary[code].as_py())
        if placement is not None:
            part = new.take(pa.array(rows))
            place = part.schema.get_field_index(GROUP)
            yield part.set_column(place, part.schema.field(place), groups_of_new(placement, part[KEY]))


def _write(plan: WritePlan, schema: TableSchema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    finds_groups = plan.uses_buckets or _opens_groups(plan)
    with WriteTask(plan, write_token()) as task:
        for batch in last_of_each_key(batches) if _combines(plan) else batches:
            kept = _taken_out(task, batch) if OUT in batch.schema.names else batch
            rows = schema.fit(kept.select([name for name in kept.schema.names if name not in _ALL_TAGS]))
            if finds_groups:
                task.write(rows)
            else:
                task.write_placed(rows, kept[PATH], kept[GROUP], kept[NEW])
        yield encode_stats(task.finish())


def _taken_out(task: WriteTask, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Delete the rows that are to go; the others."""
    goes = pc.is_valid(batch[OUT])
    tags = pa.Table.from_batches([batch.select([PATH, OUT, KEY]).filter(goes)])
    found = tags.group_by([PATH, OUT]).aggregate([(KEY, "list")])
    for path, file_id, keys in zip(found[PATH], found[OUT], found[f"{KEY}_list"], strict=True):
        task.take_out(path.as_py(), file_id.as_py(), keys.values)
    return batch.filter(pc.invert(goes))


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
    for name in (PATH, GROUP, KEY):
        column = batch[name]
        result[:-1] |= np.asarray(pc.not_equal(column.slice(0, len(column) - 1), column.slice(1)))
    return result


def _same_key(left: pa.RecordBatch, right: pa.RecordBatch) -> bool:
    return all(left[name][-1] == right[name][0] for name in (PATH, GROUP, KEY))
