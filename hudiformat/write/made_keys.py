"""Record keys of a table that has no record key columns: each row gets one, which nothing in the row is about.

The rows of a write bring them in the meta field ``_hoodie_record_key``, and so do rows that a query has shown: an
upsert or a delete finds them by it, in the partition ``_hoodie_partition_path``.

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
from hudiformat.schema.table_schema import CARRIED, CARRIED_NAMES
from hudiformat.table.options.values import Operation
from hudiformat.table.state import TableState
from hudiformat.timeline.table_config import TableConfig

_KEEPING = (Operation.UPSERT, Operation.DELETE)
"""Rows of other operations are new ones, whatever keys they had."""


def new_prefix(name: str) -> str:
    """What the keys of the write *name*, an instant or a stream, or of one task of it, begin with: no other's do."""
    return f"{name}_{secrets.token_hex(8)}"


def carried(config: TableConfig, schema: pa.Schema) -> pa.Schema:
    """*schema*, and last what the rows of a write bring to a table without a record key."""
    if config.record_key_fields:
        return schema
    return pa.schema([*(field for field in schema if field.name not in CARRIED_NAMES), *CARRIED])


def keeps_keys(config: TableConfig, operation: Operation, names: Sequence[str]) -> bool:
    """Whether rows with the columns *names* have been in the table, which has no record key, and are found there.

    Raises:
        DataError: a delete of rows that do not say which they are.
    """
    there = set(names)
    if operation is Operation.DELETE and not (config.record_key_fields or there >= {*CARRIED_NAMES}):
        raise DataError(
            f"the table has no record key: the rows to delete need {RECORD_KEY} and {PARTITION_PATH}, as a query shows "
            "them; or delete by a condition",
            column=RECORD_KEY,
        )
    return operation in _KEEPING and RECORD_KEY in there


def with_keys(state: TableState, operation: Operation, reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """*reader*, whose rows bring their keys to a table that has no record key.

    Raises:
        DataError: as for :func:`keeps_keys`.
    """
    keeps = keeps_keys(state.config, operation, reader.schema.names)
    batches = batches_with_keys(reader, state.next_instant, keeps=keeps)
    return pa.RecordBatchReader.from_batches(carried(state.config, reader.schema), batches)


def batches_with_keys(batches: Iterable[pa.RecordBatch], name: str, *, keeps: bool) -> Iterator[pa.RecordBatch]:
    """*batches* with their keys: those that they have, where it *keeps* them, else new ones of the write *name*."""
    prefix, first = new_prefix(name), 0
    for batch in batches:
        yield _with_keys(batch, prefix, first, keeps=keeps)
        first += batch.num_rows


def _with_keys(batch: pa.RecordBatch, prefix: str, first: int, *, keeps: bool) -> pa.RecordBatch:
    made = pc.binary_join_element_wise(prefix, pa.array(np.arange(first, first + len(batch))).cast(pa.string()), "_")
    own = [name for name in batch.schema.names if name not in CARRIED_NAMES]
    keys, paths = (_text(batch, name) if keeps else pa.nulls(len(batch), pa.string()) for name in CARRIED_NAMES)
    paths = pc.if_else(pc.is_valid(keys), paths, pa.scalar(None, pa.string()))
    schema = pa.schema([*(batch.schema.field(name) for name in own), *CARRIED])
    return pa.RecordBatch.from_arrays([*(batch[name] for name in own), pc.coalesce(keys, made), paths], schema=schema)


def _text(batch: pa.RecordBatch, name: str) -> pa.Array:
    there = batch.schema.get_field_index(name) >= 0
    return batch[name].cast(pa.string()) if there else pa.nulls(len(batch), pa.string())
