"""A write of this process: rows in, one commit out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from hudiformat.errors import DataError
from hudiformat.merge.ordering import comparable
from hudiformat.naming import WriteToken
from hudiformat.storage import Storage
from hudiformat.table.begin import Commit, check_rows, write_and_commit
from hudiformat.table.context import TableContext
from hudiformat.table.keys import RowKeys
from hudiformat.table.merging import merge_mode
from hudiformat.table.options import WriteOptions
from hudiformat.table.plan import Operation, WritePlan
from hudiformat.table.task import WriteTask
from hudiformat.timeline import MergeMode, TableConfig, WriteStat

_BATCH_ROWS = 65_536
_LOCAL_TOKEN = WriteToken(0, 0, 0)


def write_rows(context: TableContext, operation: Operation, data: Any) -> Commit:
    """Write *data* in one commit; nothing is written when the rows cannot be."""
    reader = as_reader(data)
    schema = check_rows(context, operation, reader.schema)
    names = [name for name in reader.schema.names if operation is not Operation.DELETE or name in schema.arrow.names]
    rows = pa.Table.from_batches([schema.fit(batch.select(names)) for batch in reader], schema.arrow)
    keys = RowKeys.of(context.config)
    keys.record_keys(rows)  # bad keys and paths are found before the timeline is touched
    keys.partition_paths(rows)
    return write_and_commit(context, operation, lambda plan: write_prepared(plan, rows, storage=context.storage))


def write_prepared(plan: WritePlan, rows: pa.Table, *, storage: Storage | None = None) -> list[WriteStat]:
    """Write *rows*, which have the columns and types of the write, in this process; the statistics of the files."""
    if combines(plan.operation, plan.options):
        rows = _combined(plan.config, plan.operation, rows)
    with WriteTask(plan, _LOCAL_TOKEN, storage=storage) as task:
        for batch in rows.combine_chunks().to_batches(max_chunksize=_BATCH_ROWS):
            task.write(batch)
        return task.finish()


def combines(operation: Operation, options: WriteOptions) -> bool:
    """Whether a write keeps one row of several with one key."""
    if operation is Operation.INSERT:
        return options.combine_before_insert
    return operation is Operation.DELETE or options.combine_before_upsert


def combining_fields(config: TableConfig, operation: Operation) -> tuple[str, ...]:
    """The columns that say which row of several with one key is kept; without any, the last one is."""
    by_event_time = operation is not Operation.DELETE and merge_mode(config) is MergeMode.EVENT_TIME_ORDERING
    return config.ordering_fields if by_event_time else ()


def as_reader(data: Any) -> pa.RecordBatchReader:
    """The batches of anything that speaks Arrow's C stream: tables, batches, readers, data frames.

    Raises:
        DataError: *data* does not.
    """
    if isinstance(data, pa.RecordBatchReader):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(data.schema, [data])
    if hasattr(data, "__arrow_c_stream__"):
        try:
            return pa.RecordBatchReader.from_stream(data)
        except pa.ArrowInvalid as error:  # a stream of one column's values
            raise DataError(f"expected rows, found {type(data).__name__}: {error}") from error
    raise DataError(f"expected rows with __arrow_c_stream__ (such as a pyarrow.Table), found {type(data).__name__}")


def _combined(config: TableConfig, operation: Operation, rows: pa.Table) -> pa.Table:
    keys = RowKeys.of(config)
    return combine(rows, [keys.partition_paths(rows), keys.record_keys(rows)], combining_fields(config, operation))


def combine(rows: pa.Table, groups: list[pa.Array], ordering_fields: tuple[str, ...]) -> pa.Table:
    """*rows* with one row per key, the one with the highest ordering values; of equals the last.

    *groups* are arrays that together are the key, such as partition path and record key.

    Source: HoodieWriteHelper.deduplicateRecords.
    """
    codes = np.zeros(rows.num_rows, dtype=np.int64)
    for group in groups:
        encoded = group.dictionary_encode()
        codes = codes * (len(encoded.dictionary) + 1) + np.asarray(encoded.indices).astype(np.int64)
    ranks = comparable(tuple(rows[name] for name in ordering_fields), rows.num_rows)
    order = np.lexsort((np.arange(rows.num_rows), ranks, codes))
    last = np.flatnonzero(np.diff(codes[order], append=-1))
    return rows if len(last) == rows.num_rows else rows.take(pa.array(np.sort(order[last])))
