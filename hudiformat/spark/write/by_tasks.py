"""Write the rows of a data frame by tasks: tag the rows, look up their keys, assign file groups, shuffle and write.

    few rows for few files: the driver fetches them as Arrow batches and writes them itself
    hash buckets: tag -> shuffle by bucket -> write
    inserts: count the rows of each partition -> plan, once, on the driver -> assign -> shuffle by file group -> write
    upserts and deletes: one pass over the keys counts them by partition, and collects them if they are few; then
        no file slices in their partitions -> plan -> assign -> shuffle by file group -> write
        few keys -> look them up in the slices, or in the record index -> plan -> tag, assign -> shuffle -> write
        many keys, no large partition -> shuffle by partition -> look up and write, each task whole partitions
        many keys -> tag -> join with the keys of the slices, or with the entries of the record index
                  -> count the new rows -> plan -> assign -> shuffle -> write
    bulk insert and overwriting, without buckets: sort by the sort mode -> write, each task into its own file groups

A file group is written by one task, which receives its rows packed.  No Python code runs per row.  A shuffle waits
until every task has tagged its rows, so nothing is written before: a null record key stops the job before the table
changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, functions

from hudiformat.file_group.slices import FileSlice
from hudiformat.schema.table_schema import TableSchema
from hudiformat.sizing.spark import PartitionPlan
from hudiformat.spark.write.batches import plan_shuffles_once, regroup_batches
from hudiformat.spark.write.by_driver import seems_small, write_in_driver
from hudiformat.spark.write.counting import Counts, counts_of_inserts, counts_of_new
from hudiformat.spark.write.describing import phase
from hudiformat.spark.write.lookup.live_rows import comparable_columns, slices_of
from hudiformat.spark.write.lookup.located_keys import LocatedKeys, known_keys, look_up_few_keys
from hudiformat.spark.write.lookup.path_lookup import keys_by_index
from hudiformat.spark.write.lookup.tagging import (
    GROUP,
    KEY,
    NEW,
    PATH,
    TAGS,
    cache,
    cache_if_slow,
    key_columns,
    quote,
    refuse_merged_columns,
    tag_rows,
    with_tags,
)
from hudiformat.spark.write.packing import PACKED, pack, shuffle
from hudiformat.spark.write.summary import Summary, summarize
from hudiformat.spark.write.tasks import decode_stats, opens_groups, write_partitions, write_rows
from hudiformat.spark.write.workers import in_task
from hudiformat.table.options.values import DuplicatePolicy, Operation, SortMode
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.index.tagging import key_exists
from hudiformat.write.new_rows import groups_of_new, log_plan
from hudiformat.write.rows import group_by_value

ROWS_OF_A_PATH, BYTES_OF_A_PATH = 5_000_000, 512 * 1024 * 1024
"""Limits for a partition whose keys one task looks up: rows of the write, and bytes of files whose keys are read."""


def write_shuffled(df: DataFrame, plan: WritePlan, schema: TableSchema) -> Iterator[WriteStat]:
    """Write the rows of *df*, which have the columns of *schema*, by tasks; return the statistics of every file.

    Few rows for few files are written by the driver, in this process.

    Raises:
        DataError: a record key is null, or exists already and the insert forbids that.
    """
    with ExitStack() as stack:
        rows = cache_if_slow(df, stack) if not opens_groups(plan) or seems_small(df, plan) else df
        known = None
        if seems_small(rows, plan):
            known = summarize(rows, plan, schema, with_data=True)
            written = write_in_driver(rows, known.rows, plan, schema, data=known.data)
            if written is not None:
                return iter(written)
        if opens_groups(plan):
            return _run_write_tasks(_sort_bulk_insert(rows, plan, schema), plan, schema)
        if plan.uses_buckets or (_only_adds(plan) and not plan.combines):
            return _write_without_keys(rows, known, plan, schema)
        return _write_by_keys(rows, known, plan, schema, stack)


def _write_by_keys(
    rows: DataFrame, known: Summary | None, plan: WritePlan, schema: TableSchema, stack: ExitStack
) -> Iterator[WriteStat]:
    """Look up the keys of the rows, then write the rows by tasks."""
    if known is None:
        known = summarize(rows, plan, schema)
        written = write_in_driver(rows, known.rows, plan, schema)
        if written is not None:
            return iter(written)
    slices = slices_of(plan, known.paths)
    if plan.operation is Operation.DELETE and not slices:
        return iter(())
    stack.enter_context(plan_shuffles_once(rows.sparkSession, known.rows))
    if _only_adds(plan) or not slices:
        plan = _plan_inserts(plan, known.upserts, slices)
        return _run_write_tasks(_pack_located_rows(rows, plan, schema, None), plan, schema)
    if known.keys is not None:
        located = look_up_few_keys(rows.sparkSession, plan, slices, known)
        plan = _plan_inserts(plan, located.upserts(known.keys, plan), slices)
        return _run_write_tasks(_pack_located_rows(rows, plan, schema, located), plan, schema)
    if _is_shared_by_paths(known, slices):
        by_path = shuffle(rows.mapInArrow(in_task(_pack_by_path, plan, schema.only(key_columns(plan))), PACKED))
        return _run_write_tasks(by_path, plan, schema, by=write_partitions)
    found = _look_up(with_tags(rows, plan, schema), plan, slices, stack)
    return write_looked_up_rows(found, plan, schema, slices)


def _is_shared_by_paths(
    known: Summary, slices: Sequence[FileSlice], *, most_rows: int = ROWS_OF_A_PATH, most_bytes: int = BYTES_OF_A_PATH
) -> bool:
    """Return whether each task can write whole partitions.

    None has most of the rows, or too many keys for one task: over *most_rows* rows, or *most_bytes* bytes of files.
    """
    counts = [sum(tasks.values()) for tasks in known.upserts.values()]
    sizes: Counter[str] = Counter()
    for one in slices:
        sizes[one.partition_path] += one.size
    is_even = len(known.paths) > 1 and 2 * max(counts, default=0) <= max(sum(counts), 1)
    return is_even and max(counts, default=0) <= most_rows and max(sizes.values()) <= most_bytes


def _pack_by_path(plan: WritePlan, keys: TableSchema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    tagged = tag_rows(replace(plan, planned_inserts={}), keys, regroup_batches(batches))
    return pack(batch.drop_columns(KEY) for batch in tagged)


def _write_without_keys(
    rows: DataFrame, known: Summary | None, plan: WritePlan, schema: TableSchema
) -> Iterator[WriteStat]:
    """Write rows whose file groups follow from the hashes of their keys, or from the number of rows."""
    counts: Counts = {} if known is None else known.upserts
    if known is not None:
        count = 0  # the rows are too many for the driver, which was tried before
    elif plan.uses_buckets:
        count = rows.limit(plan.options.driver_rows + 1).count() if plan.options.driver_rows else 0
    else:
        with plan_shuffles_once(rows.sparkSession, 0), phase(rows.sparkSession, plan, "count rows"):
            counts = counts_of_inserts(rows, plan, schema)
        count = sum(sum(tasks.values()) for tasks in counts.values())
    written = write_in_driver(rows, count, plan, schema)
    if written is not None:
        return iter(written)
    if plan.uses_buckets:
        return _run_write_tasks(_pack(rows, plan, schema), plan, schema)
    with plan_shuffles_once(rows.sparkSession, sum(sum(tasks.values()) for tasks in counts.values())):
        plan = _plan_inserts(plan, counts, slices_of(plan, counts))
        return _run_write_tasks(_pack(rows, plan, schema), plan, schema)


def write_looked_up_rows(
    found: DataFrame, plan: WritePlan, schema: TableSchema, slices: Sequence[FileSlice] | None
) -> Iterator[WriteStat]:
    """Write rows whose keys have been looked up; rows to delete have DELETED_FROM.

    *slices* are the file slices of the rows' partitions, if they are known.  Unless the plan has hash buckets, the rows
    have to be cached, for they are read twice.
    """
    if plan.sizing is not None:
        with phase(found.sparkSession, plan, "look up keys, count new rows"):
            counts = counts_of_new(found, plan)
        plan = _plan_inserts(plan, counts, slices_of(plan, counts) if slices is None else slices)
    return write_assigned_rows(found, plan, schema)


def write_assigned_rows(found: DataFrame, plan: WritePlan, schema: TableSchema) -> Iterator[WriteStat]:
    """Write rows whose file groups are known or set by the plan for new rows; rows to delete have DELETED_FROM."""
    return _run_write_tasks(shuffle(found.mapInArrow(in_task(_pack_found, plan), PACKED)), plan, schema)


def _run_write_tasks(
    rows: DataFrame, plan: WritePlan, schema: TableSchema, *, by: Callable[..., Iterator[pa.RecordBatch]] | None = None
) -> Iterator[WriteStat]:
    with phase(rows.sparkSession, plan, "write files"):
        messages = rows.mapInArrow(in_task(by or write_rows, plan, schema), "stats binary").collect()
    return (stat for message in messages for stat in decode_stats(message["stats"]))


def _pack(df: DataFrame, plan: WritePlan, schema: TableSchema) -> DataFrame:
    """Send rows whose file group follows from their key to the tasks that write them."""
    return shuffle(df.mapInArrow(in_task(_pack_tagged, plan, schema.only(key_columns(plan))), PACKED))


def _pack_tagged(plan: WritePlan, keys: TableSchema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    tagged = (batch.drop_columns(KEY) for batch in tag_rows(plan, keys, regroup_batches(batches)))
    return pack(batch.append_column(NEW, pa.repeat(True, batch.num_rows)) for batch in tagged)


def _pack_located_rows(df: DataFrame, plan: WritePlan, schema: TableSchema, located: LocatedKeys | None) -> DataFrame:
    """Send the rows to the tasks that write the file groups in *located*; without it, all rows are new."""
    keys = schema.only(key_columns(plan))
    return shuffle(df.mapInArrow(in_task(_pack_located, plan, keys, located), PACKED))


def _pack_located(
    plan: WritePlan, keys: TableSchema, located: LocatedKeys | None, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    bare = replace(plan, planned_inserts={})  # planned_inserts are for new rows, which are not known yet
    tagged = tag_rows(bare, keys, regroup_batches(batches))
    if located is None:
        found = (batch.append_column(NEW, pa.repeat(True, len(batch))) for batch in tagged)
    else:
        found = (located.tag(batch, plan.operation) for batch in tagged)
    return _pack_found(plan, found)


def _pack_found(plan: WritePlan, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Assign file groups to new rows and pack all rows; a delete of a key that the table does not have is left out."""
    parts = (
        part
        for batch in regroup_batches(batches)
        for part in ([batch] if plan.sizing is None else _assign_new_rows(plan, batch))
    )
    return pack(part.drop_columns(KEY) for part in parts)


def _only_adds(plan: WritePlan) -> bool:
    """Return whether all rows are written as new rows, without looking up their keys."""
    return plan.operation is Operation.INSERT and plan.options.insert_duplicates is DuplicatePolicy.NONE


def _plan_inserts(plan: WritePlan, counts: Counts, slices: Sequence[FileSlice]) -> WritePlan:
    """Return *plan* with the file groups of the new rows, planned for each partition path by their *counts*."""
    sizing = plan.sizing
    if sizing is None:  # a delete has no new rows
        return plan
    there: dict[str, list[FileSlice]] = {}
    for one in slices:
        there.setdefault(one.partition_path, []).append(one)

    def planned(path: str) -> PartitionPlan:
        small = sizing.small_files(path, there.get(path, []))
        if sizing.parallelism is None:
            return sizing.plan(path, sum(counts[path].values()), small)
        return sizing.tasks(plan.instant, path, lambda: small).plan(counts[path])

    inserts = {path: planned(path) for path in counts}
    for partition in inserts.values():
        log_plan(plan.root, plan.instant, partition)
    return replace(plan, planned_inserts=inserts)


def _sort_bulk_insert(df: DataFrame, plan: WritePlan, schema: TableSchema) -> DataFrame:
    """Sort the rows of a bulk insert by its sort mode, and bring rows with the same key together if they are combined.

    Source: GlobalSortPartitioner, RDDPartitionSortPartitioner, Hudi 1.2.0.
    """
    mode = plan.options.bulk_insert_sort if plan.operation is Operation.BULK_INSERT else SortMode.NONE
    if mode is SortMode.NONE and not plan.combines:
        return df
    tagged = with_tags(df, plan, schema)
    if mode is SortMode.GLOBAL_SORT:
        tagged = tagged.repartitionByRange(PATH, KEY)
    elif plan.combines:
        tagged = tagged.repartition(PATH, KEY)
    refuse_merged_columns(plan)
    fields = plan.combining.ordering_fields if plan.combines else ()
    return tagged.sortWithinPartitions(PATH, KEY, *comparable_columns(tagged.schema, fields))


def _look_up(tagged: DataFrame, plan: WritePlan, slices: Sequence[FileSlice], stack: ExitStack) -> DataFrame:
    """Return the rows with their file groups, one row for each file group that has the key; new rows have none.

    Spark joins the rows with the keys of the slices.  If the plan has a partitioned record index, the rows are joined
    with its entries instead.

    Source: HoodieSimpleIndex, Hudi 1.2.0, which joins as well.
    """
    if plan.record_index is not None:
        known = keys_by_index(tagged, plan, plan.record_index)
    else:
        numbers = tagged.sparkSession.range(0, len(slices), 1, max(len(slices), 1))
        known = numbers.mapInArrow(in_task(known_keys, plan, slices, None), TAGS)
    # Spark estimates as many keys as there are slices, and would broadcast all keys of the table to all tasks.
    known = known.hint("merge")
    how = "inner" if plan.operation is Operation.DELETE else "left"
    found = tagged.drop(GROUP).join(known, [PATH, KEY], how).select(*map(quote, tagged.columns))
    found = cache(found.withColumn(NEW, functions.col(GROUP).isNull()), stack)
    if plan.operation is not Operation.INSERT:
        return found
    there = found.where(~functions.col(NEW))
    if plan.options.insert_duplicates is DuplicatePolicy.FAIL and (row := there.select(PATH, KEY).first()) is not None:
        raise key_exists(row[1], row[0])
    return found.where(functions.col(NEW))


def _assign_new_rows(plan: WritePlan, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    yield batch.filter(pc.invert(batch[NEW]))
    new = batch.filter(batch[NEW])
    for path, rows in group_by_value(new[PATH]):
        planned = plan.planned_inserts.get(path)
        if planned is not None:
            part = new.take(pa.array(rows))
            column = part.schema.get_field_index(GROUP)
            yield part.set_column(column, part.schema.field(column), groups_of_new(planned, part[KEY]))
