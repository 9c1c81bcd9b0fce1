"""The five columns that Hudi puts before a table's own.  Pure.

``_hoodie_file_name`` is the full name of the file in a base file, and the file id in log records.
``_hoodie_commit_seqno`` is ``<instant>_<task partition>_<counter>``, the counter rising over all of a task's rows.
Source: HoodieRecord.HOODIE_META_COLUMNS, HoodieRecord.generateSequenceId.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

COMMIT_TIME = "_hoodie_commit_time"
COMMIT_SEQNO = "_hoodie_commit_seqno"
RECORD_KEY = "_hoodie_record_key"
PARTITION_PATH = "_hoodie_partition_path"
FILE_NAME = "_hoodie_file_name"

Rows = TypeVar("Rows", pa.RecordBatch, pa.Table)

META_FIELDS = (COMMIT_TIME, COMMIT_SEQNO, RECORD_KEY, PARTITION_PATH, FILE_NAME)

_SOME = 1 << 16
_PLACE_OF_NAME = META_FIELDS.index(FILE_NAME)


def meta_schema(schema: pa.Schema) -> pa.Schema:
    """*schema* with the meta fields in front."""
    return pa.schema([pa.field(name, pa.string()) for name in META_FIELDS] + list(without_meta_fields(schema)))


def without_meta_fields(schema: pa.Schema) -> pa.Schema:
    """*schema* without the meta fields."""
    return pa.schema([field for field in schema if field.name not in META_FIELDS])


def add_meta_columns(
    batch: pa.RecordBatch,
    record_keys: pa.Array,
    *,
    instant: str,
    partition_path: str,
    file_name: str,
    task_partition: int,
    first_counter: int,
) -> pa.RecordBatch:
    """*batch* with the meta columns in front, its rows numbered from *first_counter*.

    What is the same in all rows stands there once, as a dictionary.
    """
    count = batch.num_rows
    counters = pa.array(np.arange(first_counter, first_counter + count))
    meta = [
        _shared(instant, count),
        _sequence_numbers(counters, instant, task_partition),
        record_keys,
        _shared(partition_path, count),
        _shared(file_name, count),
    ]
    fields = [pa.field(name, column.type) for name, column in zip(META_FIELDS, meta, strict=True)]
    return pa.RecordBatch.from_arrays([*meta, *batch.columns], schema=pa.schema([*fields, *batch.schema]))


def add_origin(
    rows: Rows,
    record_keys: pa.Array | pa.ChunkedArray,
    counters: pa.Array | pa.ChunkedArray,
    *,
    instant: str,
    partition_path: str,
    task_partition: int,
) -> Rows:
    """*rows* with the meta columns in front, but for the file's name; *counters* are the numbers of the rows."""
    count = rows.num_rows
    numbers = _sequence_numbers(counters, instant, task_partition)
    meta: list[Any] = [_constant(instant, count), numbers, record_keys, _constant(partition_path, count)]
    make = pa.Table.from_arrays if isinstance(rows, pa.Table) else pa.RecordBatch.from_arrays
    return cast("Rows", make([*meta, *rows.columns], schema=without_file_name(meta_schema(rows.schema))))


def without_file_name(schema: pa.Schema) -> pa.Schema:
    """*schema* without the column of the file's name."""
    return schema.remove(schema.get_field_index(FILE_NAME))


def add_file_name(rows: Rows, file_name: str) -> Rows:
    """*rows* that have the other meta fields, with the name of their base file: once, as a dictionary."""
    names = _shared(file_name, rows.num_rows)
    return rows.add_column(_PLACE_OF_NAME, pa.field(FILE_NAME, names.type), names)


def _sequence_numbers(counters: Any, instant: str, task_partition: int) -> Any:
    return pc.binary_replace_slice(counters.cast(pa.string()), 0, 0, f"{instant}_{task_partition}_")


def _shared(value: str, count: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(np.zeros(count, np.int32), [value])


def _constant(value: str, count: int) -> pa.Array:
    return _some(value).slice(0, count) if count <= _SOME else pa.repeat(pa.scalar(value, pa.string()), count)


@lru_cache(maxsize=4)
def _some(value: str) -> pa.Array:
    """The constant for a batch of usual size: the next ones have the same."""
    return pa.repeat(pa.scalar(value, pa.string()), _SOME)
