"""The rows of a batch or table, some thousand at a time, in the types of an Avro schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import pyarrow as pa

from hudiformat.avro.arrays import one_batch
from hudiformat.avro.nodes import Nullable, Primitive, Record, parse_schema
from hudiformat.avro.schema import avro_to_arrow, resolve
from hudiformat.errors import SchemaError

CHUNK_ROWS = 16384
CHUNK_BYTES = 1 << 28

_Rows = TypeVar("_Rows", pa.RecordBatch, pa.Table)


def chunks(batch: pa.RecordBatch | pa.Table, schema_json: str, *, size: int) -> Iterator[pa.RecordBatch]:
    """The rows of *batch*, which has about *size* bytes, with the columns of the schema in its order.

    A column has its type, or is a dictionary of the one text that all rows share.  A null in a column that is not
    nullable may be in there only if *batch* has the very schema.

    Raises:
        SchemaError: a column that is not in the schema, a required column that is missing, or one of another type.
        DataError: a null where the schema allows none, or a value that cannot be cast.
    """
    target = avro_to_arrow(schema_json)
    if batch.schema.equals(target):  # then there is nothing to resolve
        for piece in _pieces(batch):
            yield from _not_too_large(piece) if size > CHUNK_BYTES else (piece,)
        return
    extra = next((name for name in batch.schema.names if target.get_field_index(name) < 0), None)
    if extra is not None:
        raise SchemaError(f"column {extra} is not in the Avro schema: drop it, or add it there", column=extra)
    record = parse_schema(schema_json)
    for piece in _pieces(batch):
        yield from _not_too_large(resolve(piece, _with_shared(target, record, piece)))


def _pieces(rows: pa.RecordBatch | pa.Table) -> Iterator[pa.RecordBatch]:
    """*rows* some at a time; only batches that are short are put together, and so copied."""
    batches = rows.to_batches() if isinstance(rows, pa.Table) else [rows]
    if len(batches) * CHUNK_ROWS > 2 * rows.num_rows + CHUNK_ROWS:
        return map(one_batch, _cut(rows))
    return (piece for batch in batches for piece in _cut(batch))


def _cut(rows: _Rows) -> Iterator[_Rows]:
    """*rows* in parts of like size, as each costs the same calls."""
    count = max(-(-rows.num_rows // max(round(rows.num_rows / CHUNK_ROWS), 1)), 1)
    return (rows.slice(first, count) for first in range(0, rows.num_rows, count))


def _with_shared(target: pa.Schema, record: Record, rows: pa.RecordBatch) -> pa.Schema:
    """*target*, but a text that is there once for all *rows* stays so: its cell is made once."""
    for index, (name, node) in enumerate(record.fields):
        column = rows.schema.get_field_index(name)
        array = rows.column(column) if column >= 0 else None
        is_plain = isinstance(node.inner if isinstance(node, Nullable) else node, Primitive)
        if is_plain and isinstance(array, pa.DictionaryArray) and _is_shared_text(array, target.field(index).type):
            target = target.set(index, target.field(index).with_type(array.type))
    return target


def _is_shared_text(array: pa.DictionaryArray, kind: pa.DataType) -> bool:
    is_text = array.type.value_type == kind and (pa.types.is_string(kind) or pa.types.is_binary(kind))
    return is_text and len(array.dictionary) == 1 and not (array.null_count or array.dictionary.null_count)


def _not_too_large(rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """*rows* in parts of at most CHUNK_BYTES, or of one row."""
    while rows.num_rows:
        part = rows
        while part.num_rows > 1 and part.nbytes > CHUNK_BYTES:
            part = part.slice(0, part.num_rows // 2)
        yield part
        rows = rows.slice(part.num_rows)
