"""The meta fields: the five columns that Hudi puts in front of a table's own columns.  Pure.

In a base file, ``_hoodie_file_name`` is the full name of the file; in log records it is the file id.
``_hoodie_commit_seqno`` is ``<instant>_<task partition>_<counter>``; the counter ascends over all rows of a task.

A table with a changelog has a sixth: ``_hoodie_operation`` is ``I`` for an insert, ``U`` for an update, ``-U`` for the
row before an update and ``D`` for a delete.  Functions that add meta columns have the argument *operation*; None adds
no such column.

Source: HoodieRecord.HOODIE_META_COLUMNS_WITH_OPERATION, HoodieRecord.generateSequenceId, HoodieOperation.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.errors import SchemaError

COMMIT_TIME = "_hoodie_commit_time"
COMMIT_SEQNO = "_hoodie_commit_seqno"
RECORD_KEY = "_hoodie_record_key"
PARTITION_PATH = "_hoodie_partition_path"
FILE_NAME = "_hoodie_file_name"
OPERATION = "_hoodie_operation"

INSERTED, UPDATED = "I", "U"
DELETE_OPERATIONS = ("D", "-U")
"""The operations of rows that queries do not return."""

DELETED_FIELD = "_hoodie_is_deleted"
"""If a table has a boolean column of this name, rows in which it is true are deletes.

Source: HoodieRecord.
"""

Rows = TypeVar("Rows", pa.RecordBatch, pa.Table)

META_FIELDS = (COMMIT_TIME, COMMIT_SEQNO, RECORD_KEY, PARTITION_PATH, FILE_NAME)

_FEW_ROWS, _CACHED_ROWS = 1 << 10, 1 << 16
"""A column of one value is kept for batches between these numbers of rows."""
_FILE_NAME_INDEX = META_FIELDS.index(FILE_NAME)


def is_meta_field(name: str) -> bool:
    """Return whether *name* is a meta field; the operation is one too."""
    return name in META_FIELDS or name == OPERATION


def meta_schema(schema: pa.Schema, *, operation: bool = False) -> pa.Schema:
    """Return *schema* with the meta fields in front; with *operation*, the operation is one of them."""
    names = (*META_FIELDS, OPERATION) if operation else META_FIELDS
    return pa.schema([pa.field(name, pa.string()) for name in names] + list(without_meta_fields(schema)))


def without_meta_fields(schema: pa.Schema) -> pa.Schema:
    """Return *schema* without the meta fields."""
    return pa.schema([field for field in schema if not is_meta_field(field.name)])


def check_delete_column(schema: pa.Schema) -> None:
    """Refuse a column ``_hoodie_is_deleted`` that is not a boolean, as Hudi expects it.

    Raises:
        SchemaError: the column has another type.
    """
    if DELETED_FIELD in schema.names and not pa.types.is_boolean(kind := schema.field(DELETED_FIELD).type):
        raise SchemaError(f"column {DELETED_FIELD} has type {kind}: Hudi expects a boolean", column=DELETED_FIELD)


def add_meta_columns(
    batch: pa.RecordBatch,
    record_keys: pa.Array,
    *,
    instant: str,
    partition_path: str | pa.Array,
    file_name: str | pa.Array,
    task_partition: int,
    counters: int | pa.Array,
    operation: str | None = None,
) -> pa.RecordBatch:
    """Return *batch* with the meta columns in front; *counters* are the numbers of its rows, or the first of them.

    *partition_path* and *file_name* are the texts for all rows, or arrays with one text per row.  Columns with the same
    value in all rows are dictionary arrays with one value.
    """
    count = batch.num_rows
    if isinstance(counters, int):
        counters = pa.array(np.arange(counters, counters + count))
    meta = [
        _repeat_as_dictionary(instant, count),
        _sequence_numbers(counters, instant, task_partition),
        record_keys,
        _repeat_as_dictionary(partition_path, count) if isinstance(partition_path, str) else partition_path,
        _repeat_as_dictionary(file_name, count) if isinstance(file_name, str) else file_name,
        *([] if operation is None else [_repeat_as_dictionary(operation, count)]),
    ]
    fields = [pa.field(name, column.type) for name, column in zip((*META_FIELDS, OPERATION), meta, strict=False)]
    return pa.RecordBatch.from_arrays([*meta, *batch.columns], schema=pa.schema([*fields, *batch.schema]))


def add_origin(
    rows: Rows,
    record_keys: pa.Array | pa.ChunkedArray,
    counters: pa.Array | pa.ChunkedArray,
    *,
    instant: str,
    partition_path: str | pa.Array,
    task_partition: int,
    operation: str | None = None,
    joins_others: bool = True,
) -> Rows:
    """Return *rows* with the meta columns in front, except the file name; *counters* are the numbers of the rows.

    *partition_path* is the text for all rows, or an array with one text per row.  Columns with the same value in all
    rows are dictionary arrays with one value, which are written faster; they are strings if the rows join others
    (*joins_others*), with other values.
    """
    repeat = _repeat_as_strings if joins_others else _repeat_as_dictionary
    count = rows.num_rows
    meta: list[Any] = [
        repeat(instant, count),
        _sequence_numbers(counters, instant, task_partition),
        record_keys,
        repeat(partition_path, count) if isinstance(partition_path, str) else partition_path,
    ]
    meta += [] if operation is None else [repeat(operation, count)]
    names = [*META_FIELDS[:_FILE_NAME_INDEX], *([] if operation is None else [OPERATION])]
    own: list[pa.Field] = [pa.field(name, column.type) for name, column in zip(names, meta, strict=True)]
    make = pa.Table.from_arrays if isinstance(rows, pa.Table) else pa.RecordBatch.from_arrays
    return make([*meta, *rows.columns], schema=pa.schema([*own, *without_meta_fields(rows.schema)]))


def without_file_name(schema: pa.Schema) -> pa.Schema:
    """Return *schema* without the column of the file name."""
    return schema.remove(schema.get_field_index(FILE_NAME))


def add_file_name(rows: Rows, file_name: str) -> Rows:
    """Return *rows*, which have the other meta fields, with the name of the base file as a dictionary of one value."""
    names = _repeat_as_dictionary(file_name, rows.num_rows)
    return rows.add_column(_FILE_NAME_INDEX, pa.field(FILE_NAME, names.type), names)


def blank_meta_fields(rows: pa.Table) -> pa.Table:
    """Return *rows* with nulls in all meta fields, as tables without meta fields store them."""
    schema = pa.schema([field.with_type(pa.string()) if is_meta_field(field.name) else field for field in rows.schema])
    nulls = pa.nulls(rows.num_rows, pa.string())
    columns = [nulls if is_meta_field(name) else rows[name] for name in schema.names]
    return pa.Table.from_arrays(columns, schema=schema)


def _sequence_numbers(counters: Any, instant: str, task_partition: int) -> Any:
    return pc.binary_replace_slice(counters.cast(pa.string()), 0, 0, f"{instant}_{task_partition}_")


def _repeat_as_dictionary(value: str, count: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(np.zeros(count, np.int32), [value])


def _repeat_as_strings(value: str, count: int) -> pa.Array:
    if _FEW_ROWS < count <= _CACHED_ROWS:
        return _cached_column(value).slice(0, count)
    return pa.repeat(pa.scalar(value, pa.string()), count)


@lru_cache(maxsize=4)
def _cached_column(value: str) -> pa.Array:
    """Return a column of *value*, long enough for a batch of usual size, which is reused for the next batches."""
    return pa.repeat(pa.scalar(value, pa.string()), _CACHED_ROWS)
