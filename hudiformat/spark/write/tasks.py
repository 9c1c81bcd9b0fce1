"""The work of a write's tasks: they write rows to files, and report the statistics of these files to the driver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from hudiformat.naming.file_names import WriteToken
from hudiformat.schema.table_schema import RowKeys, TableSchema
from hudiformat.spark.write.batches import regroup_batches
from hudiformat.spark.write.lookup.tagging import DELETED_FROM, GROUP, KEY, NEW, PATH
from hudiformat.spark.write.packing import unpack
from hudiformat.spark.write.schema import fit_shown
from hudiformat.table.options.values import REPLACING, Operation
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.write.commit.files import decode_write_stats, encode_write_stats
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.duplicates import combine_stream
from hudiformat.write.rows import KeyedRows, LocatedRows
from hudiformat.write.write import WriteTask

QUERY_ID = "sql.streaming.queryId"
"""The local property that holds the id of a stream's query, which stays the same when the query is restarted."""


def write_token() -> WriteToken:
    """Return the write token of the task that this process runs; it is unique to the attempt."""
    task = TaskContext.get()
    if task is None:
        return WriteToken(0, 0, 0)
    return WriteToken(task.partitionId(), task.stageId(), task.taskAttemptId())


def encode_stats(stats: Iterable[WriteStat]) -> pa.RecordBatch:
    """Encode the statistics of a task's files as a batch with one row and one column."""
    return pa.RecordBatch.from_arrays([pa.array([encode_write_stats(stats)], pa.binary())], names=["stats"])


def decode_stats(data: bytes) -> tuple[WriteStat, ...]:
    """Decode the statistics that :func:`encode_stats` has encoded."""
    return decode_write_stats(bytes(data))


_ALL_TAGS = (PATH, GROUP, KEY, NEW, DELETED_FROM)
_COMBINED_IN_MEMORY = 256 * 1024 * 1024
"""Bytes of one file group's rows that are combined in memory; more are spilled to disk."""


def opens_groups(plan: WritePlan) -> bool:
    """Return whether each task writes to its own new file groups; never with buckets, whose rows several tasks have."""
    return not plan.uses_buckets and (plan.operation is Operation.BULK_INSERT or plan.operation in REPLACING)


def write_rows(plan: WritePlan, schema: TableSchema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Write the rows of a task and yield the statistics of its files.

    If tasks open their own file groups, *batches* have the columns of *schema*, and rows with the same key follow each
    other in the order in which they are combined.  Otherwise *batches* are packed, and sorted by file group; the values
    of a file group are joined, since all that is done with a batch costs more than the rows of a small one.
    """
    with WriteTask(plan, write_token()) as task:
        if opens_groups(plan):
            for batch in last_of_each_key(batches) if plan.combines else batches:
                task.write_batch(fit_shown(schema, _without_tags(batch)))
        else:
            keyed = partial(_with_keys, RowKeys.of(plan.config), schema)
            for path, group, rows in unpack(batches):
                for batch in _combine(map(keyed, regroup_batches(rows)), plan):
                    kept = (
                        _delete_moved(task, path, batch) if batch.schema.get_field_index(DELETED_FROM) >= 0 else batch
                    )
                    for located in _locate(task, path, group, kept, schema):
                        task.write(located)
                task.end_groups(path)
        yield encode_stats(task.finish_apart())


def write_partitions(
    plan: WritePlan, schema: TableSchema, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Look up the rows of whole partitions and write them; *batches* are packed, and sorted by partition path.

    In memory are the record keys of one partition of the table at a time, and a part of the rows.
    """
    keys = RowKeys.of(plan.config)
    keyed = partial(_with_keys, keys, schema)
    with WriteTask(plan, write_token()) as task:
        for path, _, rows in unpack(batches):
            for batch in _combine(map(keyed, regroup_batches(rows)), plan):
                stored = keys.drop_key_fields(batch.select(schema.arrow.names))
                for located in task.tagger.locate(KeyedRows(stored, batch[KEY], pa.repeat(path, len(batch)))):
                    task.write(located)
            task.end_groups(path)
        yield encode_stats(task.finish_apart())


def _locate(
    task: WriteTask, path: str, group: str, batch: pa.RecordBatch, schema: TableSchema
) -> Iterator[LocatedRows]:
    """Yield the rows of one file group with its location: the rows of a bucket, or existing rows before new rows."""
    rows = RowKeys.of(task.plan.config).drop_key_fields(batch.select(schema.arrow.names))
    if task.plan.uses_buckets:
        yield from task.tagger.locate_bucket(path, int(group), rows, batch[KEY])
        return
    is_new = np.asarray(batch[NEW])
    for kind in (False, True):
        chosen = LocatedRows(path, rows, batch[KEY], (group,), is_new=kind).where(is_new == kind)
        if len(chosen):
            yield chosen


def _combine(rows: Iterable[pa.RecordBatch], plan: WritePlan) -> Iterable[pa.RecordBatch]:
    if not plan.combines:
        return rows
    return combine_stream(rows, KEY, plan.combining, memory=_COMBINED_IN_MEMORY)


def _with_keys(keys: RowKeys, schema: TableSchema, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows with the columns of *schema*, KEY and, if *batch* has them, NEW and DELETED_FROM."""
    rows = fit_shown(schema, _without_tags(batch))
    tags = [name for name in (NEW, DELETED_FROM) if batch.schema.get_field_index(name) >= 0]
    added = {KEY: keys.record_keys(rows)} | {name: batch[name] for name in tags}
    return pa.RecordBatch.from_arrays([*rows.columns, *added.values()], names=[*rows.schema.names, *added])


def _without_tags(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.select([name for name in batch.schema.names if name not in _ALL_TAGS])


def _delete_moved(task: WriteTask, path: str, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Delete the rows that move to another partition, and return the other rows."""
    relocates = pc.is_valid(batch[DELETED_FROM])
    deleted = (
        pa.Table.from_batches([batch.select([DELETED_FROM, KEY]).filter(relocates)])
        .group_by(DELETED_FROM)
        .aggregate([(KEY, "list")])
    )
    for file_id, keys in zip(deleted[DELETED_FROM], deleted[f"{KEY}_list"], strict=True):
        task.remove(path, file_id.as_py(), cast("pa.ListScalar", keys).values)
    return batch.filter(pc.invert(relocates))


def last_of_each_key(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the last row of every run of rows with the same partition path and record key.

    One batch is held in memory.  The last row of a batch waits until the next batch shows whether its run goes on: the
    keys ``a a b`` and ``b c`` give the batches ``a``; then ``b`` of the second batch, and ``c``.
    """
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
    """Return for each row whether the next row has another key; False for the last row."""
    result = np.zeros(batch.num_rows, dtype=np.bool_)
    for name in (PATH, KEY):
        column = batch[name]
        result[:-1] |= np.asarray(pc.not_equal(column.slice(0, len(column) - 1), column.slice(1)))
    return result


def _same_key(left: pa.RecordBatch, right: pa.RecordBatch) -> bool:
    return all(left[name][-1] == right[name][0] for name in (PATH, KEY))
