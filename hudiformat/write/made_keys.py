"""Record keys of a table that has no record key columns: each new row gets a generated key.

The rows of a write carry their keys in the meta field ``_hoodie_record_key``, and so do the rows that a query returns:
an upsert or a delete finds a row by this key, in the partition ``_hoodie_partition_path``.

Source: AutoRecordGenWrapperKeyGenerator, HoodieCreateRecordUtils, Hudi 1.2.0.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.errors import DataError
from hudiformat.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from hudiformat.schema.table_schema import KEY_META_FIELDS, KEY_META_NAMES
from hudiformat.table.options.values import Operation
from hudiformat.table.state import TableState
from hudiformat.timeline.table_config import TableConfig

_KEEPING_OPERATIONS = (Operation.UPSERT, Operation.DELETE)
"""Operations whose rows keep the keys that they bring; every row of another operation is new."""


def new_prefix(name: str) -> str:
    """Return a unique prefix for the keys that one task generates in the write *name*, an instant or a stream."""
    return f"{name}_{secrets.token_hex(8)}"


def with_key_fields(config: TableConfig, schema: pa.Schema) -> pa.Schema:
    """Return *schema*, followed for a table without a record key by the meta fields that the rows of a write carry."""
    if config.record_key_fields:
        return schema
    return pa.schema([*(field for field in schema if field.name not in KEY_META_NAMES), *KEY_META_FIELDS])


def keeps_keys(config: TableConfig, operation: Operation, names: Sequence[str]) -> bool:
    """Return whether rows with the columns *names* keep the record keys that the table, without key columns, gave them.

    Raises:
        DataError: a delete of rows that do not carry their record keys and partition paths.
    """
    there = set(names)
    if operation is Operation.DELETE and not (config.record_key_fields or there >= {*KEY_META_NAMES}):
        raise DataError(
            f"the table has no record key: the rows to delete need {RECORD_KEY} and {PARTITION_PATH}, as a query "
            "returns them; add both columns, or delete by a condition",
            column=RECORD_KEY,
        )
    return operation in _KEEPING_OPERATIONS and RECORD_KEY in there


def add_keys(state: TableState, operation: Operation, reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """Return a reader of the rows of *reader* with a record key for each, for a table that has no record key columns.

    Raises:
        DataError: as for :func:`keeps_keys`.
    """
    keeps = keeps_keys(state.config, operation, reader.schema.names)
    batches = add_keys_to_batches(reader, state.next_instant, keeps=keeps)
    return pa.RecordBatchReader.from_batches(with_key_fields(state.config, reader.schema), batches)


def add_keys_to_batches(batches: Iterable[pa.RecordBatch], name: str, *, keeps: bool) -> Iterator[pa.RecordBatch]:
    """Yield *batches* with record keys: the keys that the rows carry, if *keeps*, and generated keys for the others.

    *name* is the instant or the stream of the write.
    """
    prefix, first = new_prefix(name), 0
    for batch in batches:
        yield _add_keys(batch, prefix, first, keeps=keeps)
        first += batch.num_rows


def _add_keys(batch: pa.RecordBatch, prefix: str, first: int, *, keeps: bool) -> pa.RecordBatch:
    made = pc.binary_join_element_wise(prefix, pa.array(np.arange(first, first + len(batch))).cast(pa.string()), "_")
    own = [name for name in batch.schema.names if name not in KEY_META_NAMES]
    keys, paths = (_text_column(batch, name) if keeps else pa.nulls(len(batch), pa.string()) for name in KEY_META_NAMES)
    paths = pc.if_else(pc.is_valid(keys), paths, pa.scalar(None, pa.string()))
    schema = pa.schema([*(batch.schema.field(name) for name in own), *KEY_META_FIELDS])
    return pa.RecordBatch.from_arrays([*(batch[name] for name in own), pc.coalesce(keys, made), paths], schema=schema)


def _text_column(batch: pa.RecordBatch, name: str) -> pa.Array:
    there = batch.schema.get_field_index(name) >= 0
    return batch[name].cast(pa.string()) if there else pa.nulls(len(batch), pa.string())
