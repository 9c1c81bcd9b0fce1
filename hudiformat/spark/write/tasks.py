"""What the tasks of a write do: rows, packed by file group or as they come -> files; what they report to the driver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from hudiformat.naming.file_names import WriteToken
from hudiformat.schema.table_schema import RowKeys, TableSchema
from hudiformat.spark.write.batches import gathered
from hudiformat.spark.write.lookup.tagging import GROUP, KEY, NEW, OUT, PATH
from hudiformat.spark.write.packing import unpacked
from hudiformat.spark.write.schema import fit_shown
from hudiformat.table.options.values import REPLACING, Operation
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.write.commit.files import decode_write_stats, encode_write_stats
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.index.rows import KeyedRows, LocatedRows
from hudiformat.write.rows import combine_parts
from hudiformat.write.write import WriteTask

QUERY_ID = "sql.streaming.queryId"
"""The local property that has the id of a stream's query, which it keeps when it is started again."""


def write_token() -> WriteToken:
    """The write token of the task that this process runs: no two attempts share one."""
    task = TaskContext.get()
    if task is None:
        return WriteToken(0, 0, 0)
    return WriteToken(task.partitionId(), task.stageId(), task.taskAttemptId())


def encode_stats(stats: Iterable[WriteStat]) -> pa.RecordBatch:
    """One row, one column: the statistics of a task's files."""
    return pa.RecordBatch.from_arrays([pa.array([encode_write_stats(stats)], pa.binary())], names=["stats"])


def decode_stats(data: bytes) -> tuple[WriteStat, ...]:
    """The statistics out of :func:`encode_stats`."""
    return decode_write_stats(bytes(data))


_ALL_TAGS = (PATH, GROUP, KEY, NEW, OUT)
_COMBINED_IN_MEMORY = 256 * 1024 * 1024
"""Bytes of one file group's rows that are combined without putting them aside on disk."""


def opens_groups(plan: WritePlan) -> bool:
    """Whether each task writes to file groups of its own; not to buckets, of which several tasks may have rows."""
    return not plan.uses_buckets and (plan.operation is Operation.BULK_INSERT or plan.operation in REPLACING)


def write_rows(plan: WritePlan, schema: TableSchema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Write the rows of a task; the statistics of its files.

    Where tasks open file groups of their own, *batches* are rows with the columns of *schema*, those with one key one
    after the other, and in the order in which they are combined; else they are packed, and sorted by file group.
    """
    with WriteTask(plan, write_token()) as task:
        if opens_groups(plan):
            for batch in last_of_each_key(batches) if plan.combines else batches:
                task.write_batch(fit_shown(schema, _without_tags(batch)))
        else:
            keyed = partial(_with_keys, RowKeys.of(plan.config), schema)
            for path, group, rows in unpacked(batches):
                for batch in _combined(map(keyed, rows), plan):
                    kept = _relocated(task, path, batch) if batch.schema.get_field_index(OUT) >= 0 else batch
                    for located in _located(task, path, group, kept, schema):
                        task.write(located)
                task.end_groups(path)
        yield encode_stats(task.finish_apart())


def write_partitions(
    plan: WritePlan, schema: TableSchema, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Look the rows of whole partitions up and write them; *batches* are packed, and sorted by partition path.

    In memory are the record keys of one partition of the table at a time, and some of the rows.
    """
    keys = RowKeys.of(plan.config)
    keyed = partial(_with_keys, keys, schema)
    with WriteTask(plan, write_token()) as task:
        for path, _, rows in unpacked(batches):
            for batch in _combined(gathered(map(keyed, rows)), plan):
                found = KeyedRows(keys.stored(batch.select(schema.arrow.names)), batch[KEY])
                for located in task.tagger.locate(found, pa.repeat(path, len(batch))):
                    task.write(located)
            task.end_groups(path)
        yield encode_stats(task.finish_apart())


def _located(
    task: WriteTask, path: str, group: str, batch: pa.RecordBatch, schema: TableSchema
) -> Iterator[LocatedRows]:
    """The rows of one file group as the task takes them: rows of a bucket, or old rows before new ones."""
    rows = KeyedRows(RowKeys.of(task.plan.config).stored(batch.select(schema.arrow.names)), batch[KEY])
    if task.plan.uses_buckets:
        yield from task.tagger.locate_bucket(path, int(group), rows)
        return
    is_new = np.asarray(batch[NEW])
    for kind in (False, True):
        chosen = rows.where(is_new == kind)
        if len(chosen):
            yield LocatedRows(path, chosen, (group,), is_new=kind)


def _combined(rows: Iterable[pa.RecordBatch], plan: WritePlan) -> Iterable[pa.RecordBatch]:
    if not plan.combines:
        return rows
    fields = plan.ordering_fields
    return combine_parts(rows, KEY, fields, memory=_COMBINED_IN_MEMORY)


def _with_keys(keys: RowKeys, schema: TableSchema, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows as *schema* has them, with KEY, NEW and OUT."""
    rows = fit_shown(schema, _without_tags(batch))
    tags = [name for name in (NEW, OUT) if batch.schema.get_field_index(name) >= 0]
    added = {KEY: keys.record_keys(rows)} | {name: batch[name] for name in tags}
    return pa.RecordBatch.from_arrays([*rows.columns, *added.values()], names=[*rows.schema.names, *added])


def _without_tags(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.select([name for name in batch.schema.names if name not in _ALL_TAGS])


def _relocated(task: WriteTask, path: str, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Delete the rows that move to another partition; the other rows."""
    relocates = pc.is_valid(batch[OUT])
    deleted = (
        pa.Table.from_batches([batch.select([OUT, KEY]).filter(relocates)]).group_by(OUT).aggregate([(KEY, "list")])
    )
    for file_id, keys in zip(deleted[OUT], deleted[f"{KEY}_list"], strict=True):
        task.remove(path, file_id.as_py(), keys.values)
    return batch.filter(pc.invert(relocates))


def last_of_each_key(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The last row of every run with one partition path and record key; memory is bounded by a batch."""
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
    for name in (PATH, KEY):
        column = batch[name]
        result[:-1] |= np.asarray(pc.not_equal(column.slice(0, len(column) - 1), column.slice(1)))
    return result


def _same_key(left: pa.RecordBatch, right: pa.RecordBatch) -> bool:
    return all(left[name][-1] == right[name][0] for name in (PATH, KEY))
