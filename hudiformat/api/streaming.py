"""Write a stream of rows, which may be larger than memory.

A stream of up to 128 MiB is read whole before anything is written.  The rows of a larger stream are written
while they are read: if a later row turns out to be invalid, files have been written already, and they are rolled back.
In memory are the rows that wait to be written to their file groups, up to 256 MiB; the updates of a copy-on-write
table, whose base files are rewritten at the end; and, if keys are looked up, the keys of the table's partitions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.arguments import ArrowRows
from hudiformat.errors import DataError, WriteConflictError, format_value
from hudiformat.schema.table_schema import RowKeys, as_reader
from hudiformat.table.options.values import Operation, SortMode
from hudiformat.table.state import TableState
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.commit.transaction import Committed, attempts
from hudiformat.write.duplicates import combine_stream
from hudiformat.write.rows import KeyedRows
from hudiformat.write.write import CheckedColumns, check_rows, local_task, read_incoming, write_rows

_KEY = "_hudiformat_key"


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """How much of a stream is in memory.

    Up to *most_at_once* bytes are read before anything is written, and so many bytes of rows are combined in memory at
    once.  The rows of a larger stream are written in pieces of about *piece* bytes.
    """

    most_at_once: int = 128 << 20
    piece: int = 32 << 20


STREAM_LIMITS = StreamLimits()


def write_stream(
    state: TableState, *, operation: Operation, data: ArrowRows, limits: StreamLimits = STREAM_LIMITS
) -> Committed:
    """Write a stream of rows in one commit; return the commit and the state of the table after it.

    *data* is an object with ``__arrow_c_stream__``, or an iterator of record batches.

    Raises:
        SchemaError, DataError: the rows cannot be written; the table is unchanged.
        WriteConflictError: another writer committed first, and the stream cannot be read a second time.
        CommitError: the write did not become visible.
    """
    reader = _reader(data)
    head: list[pa.RecordBatch] = []
    size = 0
    for batch in reader:
        head.append(batch)
        size += _size_of(batch)
        if size > limits.most_at_once:
            break
    is_sorted = operation is Operation.BULK_INSERT and state.options.bulk_insert_sort is not SortMode.NONE
    if size <= limits.most_at_once or operation is Operation.DELETE or is_sorted:
        whole = pa.Table.from_batches([*head, *reader], reader.schema)
        return write_rows(state, operation=operation, data=whole)
    every = chain(_drain(head), reader)
    return _write_large(state, operation, pa.RecordBatchReader.from_batches(reader.schema, every), limits)


def _size_of(batch: pa.RecordBatch) -> int:
    """Return the bytes of *batch*; pyarrow up to 21 cannot say them of views of texts, which Polars exports."""
    try:
        return batch.nbytes
    except pa.ArrowTypeError:
        return batch.get_total_buffer_size()


def _drain(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the batches in order and remove each from the list, so that its memory can be freed."""
    batches.reverse()
    while batches:
        yield batches.pop()


def _reader(data: ArrowRows) -> pa.RecordBatchReader:
    if not isinstance(data, Iterator) or hasattr(data, "__arrow_c_stream__"):
        return as_reader(data)
    first = next(data, None)
    if not isinstance(first, pa.RecordBatch):
        raise DataError(f"expected an iterator of pyarrow.RecordBatch, found {format_value(first)} in it")
    return pa.RecordBatchReader.from_batches(first.schema, chain([first], data))


def _write_large(
    state: TableState, operation: Operation, reader: pa.RecordBatchReader, limits: StreamLimits
) -> Committed:
    """Write the rows while they are read; the stream can be read once, so a repeated write raises an error."""
    reader = read_incoming(state, operation, reader)
    checked = check_rows(state, operation, reader.schema)
    is_read = False
    for write in attempts(state, operation, in_tasks=False, change=checked.change):
        with write, local_task(write.plan, state.storage, cache=state.context.parsed.cache) as task:
            if is_read:
                raise WriteConflictError(
                    f"{state.storage.root}: another writer was faster, and the rows of a stream cannot be read again: "
                    "give them anew",
                    path=state.storage.root,
                )
            is_read = True
            for piece in _prepare_pieces(write.plan, checked, reader, limits):
                for located in task.locate(piece):
                    task.write(located)
            write.commit(task.finish())
    return write.result


def _prepare_pieces(
    plan: WritePlan, checked: CheckedColumns, reader: pa.RecordBatchReader, limits: StreamLimits
) -> Iterator[KeyedRows]:
    """Yield the rows in pieces with keys and paths; if the write combines rows, each key occurs in one row only."""
    keys = RowKeys.of(plan.config)
    pieces = map(checked.fit, _pieces(reader, limits.piece))
    batches = (batch for piece in pieces for batch in piece.combine_chunks().to_batches())
    if not plan.combines:
        for batch in batches:
            yield KeyedRows.of(keys, batch)
        return
    keyed = (_with_key(plan, batch) for batch in batches)
    for batch in combine_stream(keyed, _KEY, plan.combining, memory=limits.most_at_once):
        yield KeyedRows.of(keys, batch.drop_columns([_KEY]))


def _pieces(reader: pa.RecordBatchReader, least: int) -> Iterator[pa.Table]:
    """Yield the batches of *reader*, joined into tables of at least *least* bytes."""
    waiting: list[pa.RecordBatch] = []
    for batch in reader:
        waiting.append(batch)
        if sum(map(_size_of, waiting)) >= least:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)


def _with_key(plan: WritePlan, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows with the column _KEY: the record key, after the partition path unless the index is global."""
    keys = RowKeys.of(plan.config)
    found = keys.record_keys(batch)
    if not plan.options.is_global:
        found = pc.binary_join_element_wise(keys.partition_paths(batch), found, "\0")
    return batch.append_column(_KEY, found)
