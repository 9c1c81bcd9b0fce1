"""RecordBatch -> Avro records, some thousand rows at a time.  Layout: spec/avro-records.md."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from hudiformat.avro.arrays import Bytes, Longs, Words, content, one_batch
from hudiformat.avro.cells import Cell, join, size
from hudiformat.avro.encoders import column_cells, head_and_length, length_prefix
from hudiformat.avro.nodes import Nullable, Primitive, Record, parse_schema
from hudiformat.avro.schema import avro_to_arrow, resolve
from hudiformat.errors import SchemaError

_CHUNK_ROWS = 16384
_CHUNK_BYTES = 1 << 28
_SPARE_BYTES = 64  # per row, for lengths, branches and varints that are longer than the Arrow values

_Rows = TypeVar("_Rows", pa.RecordBatch, pa.Table)


class _Parts(NamedTuple):
    """In which rows parts begin, in ascending order; ``heads`` are the eight bytes before each part, if there are."""

    firsts: Longs
    heads: Words | None = None

    def within(self, first: int, end: int) -> _Parts:
        """Those that begin in the rows from *first* to *end*, which are then counted from *first*."""
        here = slice(*np.searchsorted(self.firsts, (first, end)))
        return _Parts(self.firsts[here] - first, None if self.heads is None else self.heads[here])


_NO_PARTS = _Parts(np.zeros(0, np.int64))


def encode_records(
    batch: pa.RecordBatch | pa.Table, schema_json: str, *, framed: bool = True, head: bytes = b"", tail: bytes = b""
) -> memoryview:
    """The records part of an Avro data block: for each row its length (int32, big-endian) and its Avro binary.

    Columns are matched to the schema's fields by name, in any order; a nullable field without a column is null, and
    types are promoted where nothing is lost.  *head* and *tail* are put around the records.  Without *framed*, the
    lengths are left out.

    Raises:
        SchemaError: a column that is not in the schema, a required column that is missing, or one of another type.
        DataError: a null where the schema allows none, or a value that its type does not hold.
        EncodeError: a record of 2 GiB or more.
    """
    output = _Output(batch, head)
    _encode(output, batch, schema_json, _NO_PARTS, framed=framed)
    output.append(content(tail))
    return output.written()


def encode_parts(
    batch: pa.RecordBatch | pa.Table, schema_json: str, firsts: Longs, heads: Words
) -> tuple[memoryview, Longs]:
    """The records of :func:`encode_records` in parts, and the offsets at which these begin, and the last one ends.

    Part ``i`` begins with the row ``firsts[i]``, and before its first record are the eight bytes of ``heads[i]``.
    The first part begins with row 0, and each one has a row at least.
    """
    output = _Output(batch)
    starts = _encode(output, batch, schema_json, _Parts(firsts, heads), framed=True)
    return output.written(), starts


def encode_datums(batch: pa.RecordBatch, schema_json: str) -> pa.LargeBinaryArray:
    """The Avro binary of each row without its length; otherwise as :func:`encode_records`."""
    output = _Output(batch)
    starts = _encode(output, batch, schema_json, _Parts(np.arange(batch.num_rows)), framed=False)
    buffers = [None, pa.py_buffer(starts), pa.py_buffer(output.written())]
    return pa.Array.from_buffers(pa.large_binary(), batch.num_rows, buffers)


def _encode(
    output: _Output, batch: pa.RecordBatch | pa.Table, schema_json: str, parts: _Parts, *, framed: bool
) -> Longs:
    """Append the records; the offsets in the output at which parts begin, and the last one ends."""
    record, first, starts = parse_schema(schema_json), 0, []
    for rows in _chunks(batch, schema_json):
        here = parts.within(first, first + len(rows))
        cells: list[Cell] = []
        for index, (name, node) in enumerate(record.fields):
            cells += column_cells(node, rows.field(index), None, name)
        lengths = size(cells, len(rows))
        if framed:
            prefix = length_prefix(lengths) if here.heads is None else head_and_length(lengths, here.firsts, here.heads)
            cells.insert(0, prefix)
            lengths += prefix.lengths
        data, ends = join(cells, lengths)
        starts.append(ends[here.firsts] + output.used)
        output.append(data)
        first += len(rows)
    return np.concatenate([*starts, [output.used]])


def _size_of(batch: pa.RecordBatch | pa.Table) -> int:
    """About how many bytes the values have."""
    try:
        return int(batch.nbytes)
    except pa.ArrowTypeError:  # pyarrow before 24 does not know it of views
        return int(batch.get_total_buffer_size())


class _Output:
    """Bytes that grow at the end, seldom moved: there is room for as many as the Arrow values have, and some more."""

    def __init__(self, batch: pa.RecordBatch | pa.Table, head: bytes = b"") -> None:
        self._room = np.empty(_size_of(batch) + batch.num_rows * _SPARE_BYTES + _SPARE_BYTES, np.uint8)
        self.used = 0
        self.append(content(head))

    def append(self, part: Bytes) -> None:
        end = self.used + len(part)
        if end > len(self._room):
            room = np.empty(end * 2, np.uint8)
            room[: self.used] = self._room[: self.used]
            self._room = room
        self._room[self.used : end] = part
        self.used = end

    def written(self) -> memoryview:
        return self._room[: self.used].data.toreadonly()


def _chunks(batch: pa.RecordBatch | pa.Table, schema_json: str) -> Iterator[pa.StructArray]:
    """Some thousand rows at a time, with the columns of the schema in its order and types."""
    target = avro_to_arrow(schema_json)
    extra = next((name for name in batch.schema.names if target.get_field_index(name) < 0), None)
    if extra is not None:
        raise SchemaError(f"column {extra} is not in the Avro schema: drop it, or add it there", column=extra)
    record = parse_schema(schema_json)
    fits = batch.schema.equals(target)  # then there is nothing to resolve, and column_cells checks the nulls
    for piece in _pieces(batch):
        left = piece
        while left.num_rows:
            chunk = _not_too_large(left if fits else resolve(left, _with_shared(target, record, left)))
            left = left.slice(chunk.num_rows)
            yield chunk.to_struct_array()


def _pieces(rows: pa.RecordBatch | pa.Table) -> Iterator[pa.RecordBatch]:
    """*rows* some at a time; only batches that are short are put together, and so copied."""
    batches = rows.to_batches() if isinstance(rows, pa.Table) else [rows]
    if len(batches) * _CHUNK_ROWS > 2 * rows.num_rows + _CHUNK_ROWS:
        return map(one_batch, _cut(rows))
    return (piece for batch in batches for piece in _cut(batch))


def _cut(rows: _Rows) -> Iterator[_Rows]:
    """*rows* in parts of like size, as each costs the same calls."""
    count = max(-(-rows.num_rows // max(round(rows.num_rows / _CHUNK_ROWS), 1)), 1)
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


def _not_too_large(chunk: pa.RecordBatch) -> pa.RecordBatch:
    while chunk.num_rows > 1 and chunk.nbytes > _CHUNK_BYTES:
        chunk = chunk.slice(0, chunk.num_rows // 2)
    return chunk
