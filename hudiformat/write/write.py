"""A write of this process: rows in, one commit out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.errors import DataError
from hudiformat.index.global_index import route
from hudiformat.merge import RowSource
from hudiformat.naming import WriteToken
from hudiformat.options.enums import Operation, SortMode
from hudiformat.storage import Storage, open_storage
from hudiformat.table.schema import RowKeys, TableSchema
from hudiformat.table.state import TableContext
from hudiformat.timeline import TableConfig, WriteStat
from hudiformat.transaction.begin import Commit, refuse_unwritable, write_and_commit
from hudiformat.transaction.plan import WritePlan, partial_schema
from hudiformat.write.partial_updates import partial_rows
from hudiformat.write.rows import combine
from hudiformat.write.task import WriteTask

_BATCH_ROWS = 65_536
_BATCHES = 16
_LOCAL_TOKEN = WriteToken(0, 0, 0)


def write_rows(context: TableContext, operation: Operation, data: Any) -> Commit:
    """Write *data* in one commit; nothing is written when the rows cannot be."""
    rows = fitted_rows(context, operation, data)
    return write_and_commit(context, operation, lambda plan: write_prepared(plan, rows, storage=context.storage))


def check_rows(context: TableContext, operation: Operation, schema: pa.Schema) -> TableSchema:
    """The schema that the rows of a write are brought to; looks at columns and at no row.

    Raises:
        SchemaError: the columns contradict the table's, or have a type that Avro cannot hold.
        OptionError: the columns of a partial update cannot be those of one.
        DataError: a column that keys are made of is missing.
        UnsupportedFeatureError: the table cannot be written.
    """
    refuse_unwritable(context)
    keys = RowKeys.of(context.config)
    keys.check(schema)
    table = context.schema()
    partial = partial_schema(operation, context.options)
    if partial is not None:
        table = partial_rows(context, partial, schema)
    if operation is Operation.DELETE:
        table = table.only(list(dict.fromkeys([*keys.key_fields, *keys.partition_fields])))
        schema = pa.schema([schema.field(name) for name in table.arrow.names])
    table.check(schema)
    return table


def fitted_rows(context: TableContext, operation: Operation, data: Any) -> pa.Table:
    """*data* with the columns and types that the write has; for a delete, those that keys are made of.

    Raises:
        SchemaError, DataError: the rows cannot be written.
    """
    reader = as_reader(data)
    schema = check_rows(context, operation, reader.schema)
    names = [name for name in reader.schema.names if operation is not Operation.DELETE or name in schema.arrow.names]
    rows = pa.Table.from_batches([schema.fit(batch.select(names)) for batch in reader], schema.arrow)
    keys = RowKeys.of(context.config)
    keys.record_keys(rows)  # bad keys and paths are found before the timeline is touched
    keys.partition_paths(rows)
    return rows


def write_prepared(plan: WritePlan, rows: pa.Table, *, storage: Storage | None = None) -> list[WriteStat]:
    """Write *rows*, which have the columns and types of the write, in this process; the statistics of the files."""
    if plan.combines:
        rows = combined(plan, rows)
    if plan.looks_everywhere:
        return _write_routed(plan, rows, storage=storage)
    if plan.operation is Operation.BULK_INSERT and plan.options.bulk_insert_sort is not SortMode.NONE:
        rows = _sorted(plan.config, rows)
    with WriteTask(plan, _LOCAL_TOKEN, storage=storage) as task:
        # Of many rows more at once: what is near each other in the index is then looked up together.
        for batch in rows.combine_chunks().to_batches(max_chunksize=max(_BATCH_ROWS, rows.num_rows // _BATCHES)):
            task.write(batch)
        return task.finish()


def _write_routed(plan: WritePlan, rows: pa.Table, *, storage: Storage | None) -> list[WriteStat]:
    """Write *rows* where a look-up in all partitions sends them."""
    routes = route(plan, open_storage(plan.root) if storage is None else storage, rows)
    with WriteTask(plan, _LOCAL_TOKEN, storage=storage) as task:
        for (path, file_id), keys in routes.moved.items():
            task.take_out(path, file_id, keys)
        start = 0
        for batch in routes.rows.combine_chunks().to_batches(max_chunksize=_BATCH_ROWS):
            paths, groups = (array.slice(start, batch.num_rows) for array in (routes.paths, routes.groups))
            task.write_found(batch, paths, groups)
            start += batch.num_rows
        return task.finish()


def _sorted(config: TableConfig, rows: pa.Table) -> pa.Table:
    """*rows* by partition path and record key.

    Source: GlobalSortPartitioner, RDDPartitionSortPartitioner; where one task has all rows they do the same.
    """
    keys = RowKeys.of(config)
    sorting = pa.table({"path": keys.partition_paths(rows), "key": keys.record_keys(rows)})
    order = pc.sort_indices(sorting, [("path", "ascending"), ("key", "ascending")])
    return RowSource(rows.combine_chunks()).at(np.asarray(order).astype(np.int64))


def as_reader(data: Any) -> pa.RecordBatchReader:
    """The batches of anything that speaks Arrow's C stream: tables, batches, readers, data frames.

    Raises:
        DataError: *data* does not.
    """
    if isinstance(data, pa.RecordBatchReader):
        return data
    if isinstance(data, pa.Table):  # not by its stream: pyarrow 19.0.0 dies of views that come out of one
        return data.to_reader()
    if isinstance(data, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(data.schema, [data])
    if hasattr(data, "__arrow_c_stream__"):
        try:
            return pa.RecordBatchReader.from_stream(data)
        except pa.ArrowInvalid as error:  # a stream of one column's values
            raise DataError(f"expected rows, found {type(data).__name__}: {error}") from error
    raise DataError(f"expected rows with __arrow_c_stream__ (such as a pyarrow.Table), found {type(data).__name__}")


def combined(plan: WritePlan, rows: pa.Table) -> pa.Table:
    """*rows* with one row per partition path and record key, or with a global index per record key alone."""
    keys = RowKeys.of(plan.config)
    groups = [] if plan.options.is_global else [keys.partition_paths(rows)]
    return combine(rows, [*groups, keys.record_keys(rows)], plan.ordering_fields)
