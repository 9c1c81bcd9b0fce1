"""Rows of a data frame -> the tasks that write them: tagged, looked up, assigned, and shuffled to their file groups.

    hash buckets: tag -> shuffle by bucket -> write
    inserts: count the rows of each partition -> plan, once, on the driver -> assign -> shuffle by file group -> write
    record index of partitions: tag -> look the keys up in the index -> join with what it says -> as below
    other indexes: tag -> join with the existing record keys, of which tasks leave out all but the rows' where these are
                   few -> count the new rows -> plan, once, on the driver
                   -> assign -> shuffle by file group -> write
    bulk insert and overwriting: sort as asked -> write, each task into file groups of its own

One file group is written by one task, to which its rows go packed.  No Python per row.  Where rows are shuffled,
nothing is written before every task has tagged its rows, for the shuffle waits for all of them: a record key that is
null stops the job while the table is untouched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, functions

from hudiformat.errors import DataError
from hudiformat.index import PartitionIndex, rows_by_value
from hudiformat.options import DuplicatePolicy, Operation, SortMode
from hudiformat.shuffle.batches import gathered
from hudiformat.shuffle.by_driver import written_by_driver
from hudiformat.shuffle.counting import Counts, counts_of_inserts, counts_of_new
from hudiformat.shuffle.few_keys import few_keys
from hudiformat.shuffle.packing import PACKED, packed, shuffled
from hudiformat.shuffle.path_lookup import keys_by_index
from hudiformat.shuffle.slices import newest_slices, slices_of
from hudiformat.shuffle.tagging import (
    GROUP,
    KEY,
    NEW,
    PATH,
    TAGS,
    cached,
    key_columns,
    quoted,
    tag_rows,
    with_tags,
)
from hudiformat.shuffle.tasks import decode_stats, opens_groups, write_rows
from hudiformat.sizing import PartitionPlan
from hudiformat.storage import open_storage
from hudiformat.table import TableSchema
from hudiformat.timeline import WriteStat
from hudiformat.transaction import WritePlan
from hudiformat.view import FileSlice
from hudiformat.write import groups_of_new

_KEY_ROWS = 65_536


def write_shuffled(df: DataFrame, plan: WritePlan, schema: TableSchema) -> Iterator[WriteStat]:
    """Write the rows of *df*, which have the columns of *schema*, by tasks; a statistic for every file.

    Raises:
        DataError: a record key is null, or exists where it must not.
    """
    if opens_groups(plan):
        return _written(_as_bulk_inserts_are_sorted(df, plan, schema), plan, schema)
    if plan.uses_buckets:
        return _written(_packed(df, plan, schema), plan, schema)
    if _only_adds(plan) and not plan.combines:
        counts = counts_of_inserts(df, plan, schema)
        plan = _planned(plan, counts, slices_of(plan, counts))
        return _written(_packed(df, plan, schema), plan, schema)
    with ExitStack() as stack:
        rows = cached(with_tags(df, plan, schema), stack)
        written = written_by_driver(rows, plan, schema)
        if written is not None:
            return iter(written)
        if _only_adds(plan):
            found = rows.withColumn(NEW, functions.lit(True))
            return write_found(found, plan, schema, newest_slices(rows, plan))
        few = few_keys(rows)
        slices = newest_slices(rows, plan) if few is None else slices_of(plan, few)
        return write_found(_looked_up(rows, plan, slices, few, stack), plan, schema, slices)


def write_found(
    found: DataFrame, plan: WritePlan, schema: TableSchema, slices: Sequence[FileSlice] | None
) -> Iterator[WriteStat]:
    """Write rows that have been looked up; deletes have OUT.  *slices* are those of their partitions, where known.

    Unless the plan has hash buckets, the rows have to be cached.
    """
    if plan.sizing is not None:
        counts = counts_of_new(found, plan)
        plan = _planned(plan, counts, slices_of(plan, counts) if slices is None else slices)
    return _written(shuffled(found.mapInArrow(partial(_pack_found, plan), PACKED)), plan, schema)


def _written(rows: DataFrame, plan: WritePlan, schema: TableSchema) -> Iterator[WriteStat]:
    messages = rows.mapInArrow(partial(write_rows, plan, schema), "stats binary").collect()
    return (stat for message in messages for stat in decode_stats(message["stats"]))


def _packed(df: DataFrame, plan: WritePlan, schema: TableSchema) -> DataFrame:
    """The rows in the tasks that write them, where the file group of each follows from its key."""
    return shuffled(df.mapInArrow(partial(_pack_tagged, plan, schema.only(key_columns(plan))), PACKED))


def _pack_tagged(plan: WritePlan, keys: TableSchema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    tagged = (batch.drop_columns(KEY) for batch in tag_rows(plan, keys, gathered(batches)))
    return packed(batch.append_column(NEW, pa.repeat(True, batch.num_rows)) for batch in tagged)


def _pack_found(plan: WritePlan, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The new rows with the file groups that they go to; deletes of what is not there are left out."""
    parts = (part for batch in gathered(batches) for part in ([batch] if plan.sizing is None else _placed(plan, batch)))
    return packed(part.drop_columns(KEY) for part in parts)


def _only_adds(plan: WritePlan) -> bool:
    """Whether all rows are new, whatever is there."""
    return plan.operation is Operation.INSERT and plan.options.insert_duplicates is DuplicatePolicy.NONE


def _planned(plan: WritePlan, counts: Counts, slices: Sequence[FileSlice]) -> WritePlan:
    sizing = plan.sizing
    assert sizing is not None  # noqa: S101 - the callers have checked
    there: dict[str, list[FileSlice]] = {}
    for one in slices:
        there.setdefault(one.partition_path, []).append(one)

    def planned(path: str) -> PartitionPlan:
        small = sizing.small_files(path, there.get(path, []))
        if sizing.parallelism is None:
            return sizing.plan(path, sum(counts[path].values()), small)
        return sizing.tasks(plan.instant, path, lambda: small).plan(counts[path])

    return replace(plan, placements={path: planned(path) for path in counts})


def _as_bulk_inserts_are_sorted(df: DataFrame, plan: WritePlan, schema: TableSchema) -> DataFrame:
    """Source: GlobalSortPartitioner, RDDPartitionSortPartitioner, Hudi 1.2.0."""
    mode = plan.options.bulk_insert_sort if plan.operation is Operation.BULK_INSERT else SortMode.NONE
    if mode is SortMode.NONE and not plan.combines:
        return df
    tagged = with_tags(df, plan, schema)
    if mode is SortMode.GLOBAL_SORT:
        tagged = tagged.repartitionByRange(PATH, KEY)
    elif plan.combines:
        tagged = tagged.repartition(PATH, KEY)
    fields = plan.ordering_fields if plan.combines else ()
    return tagged.sortWithinPartitions(PATH, KEY, *map(quoted, fields))


def _looked_up(
    tagged: DataFrame,
    plan: WritePlan,
    slices: Sequence[FileSlice],
    few: Mapping[str, pa.Array] | None,
    stack: ExitStack,
) -> DataFrame:
    """The rows with their file groups, once for each that has the key; new ones have none.

    The keys of the slices are compared with *few* keys by the tasks that read them; without, Spark compares them all.
    Where the plan has a partitioned record index, that says instead where keys are.

    Source: HoodieSimpleIndex, Hudi 1.2.0, which joins as well.
    """
    if plan.record_index is not None:
        known = keys_by_index(tagged, plan, plan.record_index, few)
    else:
        numbers = tagged.sparkSession.range(0, len(slices), 1, max(len(slices), 1))
        known = numbers.mapInArrow(partial(_known_keys, plan, slices, few), TAGS)
    if few is None:  # Spark takes them for as few as the slices are, and would send all keys of the table to all tasks
        known = known.hint("merge")
    how = "inner" if plan.operation is Operation.DELETE else "left"
    found = tagged.drop(GROUP).join(known, [PATH, KEY], how).select(*map(quoted, tagged.columns))
    found = found.withColumn(NEW, functions.col(GROUP).isNull())
    found = cached(found, stack)
    if plan.operation is not Operation.INSERT:
        return found
    there = found.where(~functions.col(NEW))
    if plan.options.insert_duplicates is DuplicatePolicy.FAIL and (row := there.select(PATH, KEY).first()) is not None:
        raise DataError(f"the record key {row[1]!r} is in partition {row[0]!r} already")
    return found.where(functions.col(NEW))


def _known_keys(
    plan: WritePlan,
    slices: Sequence[FileSlice],
    few: Mapping[str, pa.Array] | None,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """The record keys of the file slices with the numbers in *batches*, or those of *few* that are among them."""
    storage = open_storage(plan.root)
    for number in (number for batch in batches for number in batch.column(0).to_pylist()):
        path, file_id = slices[number].partition_path, slices[number].file_id
        partition = PartitionIndex(storage, plan, path)
        if few is None:
            keys = partition.slice_keys(slices[number]).unique()
        elif partition.may_hold(slices[number], few[path]):
            keys = partition.slice_keys(slices[number], among=few[path]).unique()
        else:
            continue
        for start in range(0, len(keys), _KEY_ROWS):
            part = keys.slice(start, _KEY_ROWS)
            columns = [pa.repeat(path, len(part)), pa.repeat(file_id, len(part)), part]
            yield pa.RecordBatch.from_arrays(columns, names=[PATH, GROUP, KEY])


def _placed(plan: WritePlan, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    yield batch.filter(pc.invert(batch[NEW]))
    new = batch.filter(batch[NEW])
    for path, rows in rows_by_value(new[PATH]):
        placement = plan.placements.get(path)
        if placement is not None:
            part = new.take(pa.array(rows))
            column = part.schema.get_field_index(GROUP)
            yield part.set_column(column, part.schema.field(column), groups_of_new(placement, part[KEY]))
