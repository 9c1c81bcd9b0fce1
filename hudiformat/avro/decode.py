"""Avro values -> Arrow arrays.  Layout: spec/avro-records.md.

Each node of the schema is read at all positions at once and gives an Arrow array.  ``present`` says at which positions
there is a value: below a null struct or in another branch of a union nothing is read, and the array is null there.
Whatever the bytes, what is raised is a ``DecodeError``.

Avro records -> RecordBatch, column by column, some thousand rows at a time.  Layout: spec/avro-records.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pat

from hudiformat.avro.buffers import Bytes, Longs, Mask, bitmap, content
from hudiformat.avro.columns import column_of
from hudiformat.avro.cursors import PADDING, Cursors
from hudiformat.avro.framing import walk, walk_many
from hudiformat.avro.items import branch_of_two, locate, skip
from hudiformat.avro.nodes import Array, Enum, Fixed, Map, Node, Nullable, Primitive, Record, Union, parse_schema
from hudiformat.avro.schema import avro_to_arrow, batch_of
from hudiformat.avro.varint import U64
from hudiformat.errors import CorruptBlockError, SchemaError

_DECIMAL_SIZE = 16
_NOT_ASCII = 0x80
_HALF = U64(32)
_INLINE = 12  # the longest string that Arrow keeps in the view itself
_FIXED_WIDTH = {"float": "<u4", "double": "<u8"}
_DAY = {pa.time32("ms"): 86_400_000, pa.time64("us"): 86_400_000_000}


def read(node: Node, cursors: Cursors, present: Mask | None) -> pa.Array:
    """The array of what stands at the cursors, which move on."""
    if present is not None and not present.any():
        return pa.nulls(len(cursors), node.arrow)
    return _READERS[type(node)](node, cursors, present)


def _nullable(node: Nullable, cursors: Cursors, present: Mask | None) -> pa.Array:
    return read(node.inner, cursors, branch_of_two(node.null_branch, cursors, present))


def _record(node: Record, cursors: Cursors, present: Mask | None) -> pa.Array:
    children = [read(child, cursors, present) for _, child in node.fields]
    return pa.StructArray.from_buffers(node.arrow, len(cursors), [bitmap(present)], children=children)


def _primitive(node: Primitive, cursors: Cursors, present: Mask | None) -> pa.Array:
    kind = node.arrow
    if pat.is_decimal(kind):
        return _decimal_bytes(kind, cursors, present)
    if node.kind in ("string", "bytes"):
        return _text(kind, cursors, present)
    if node.kind == "boolean":
        values = cursors.byte(present)
        cursors.refuse(values > 1, present, "a boolean that is neither 0 nor 1")
        return _array_of(kind, np.packbits(values == 1, bitorder="little"), len(cursors), present)
    if node.kind in _FIXED_WIDTH:
        return _array_of(kind, cursors.gather(_FIXED_WIDTH[node.kind], present), len(cursors), present)
    numbers = cursors.int32(present) if node.kind == "int" else cursors.varint(present)
    if kind in _DAY:
        cursors.refuse((numbers < 0) | (numbers >= _DAY[kind]), present, "a time of day outside the day")
    return _array_of(kind, numbers, len(cursors), present)


def _array_of(kind: pa.DataType, values: Any, count: int, present: Mask | None) -> pa.Array:
    return pa.Array.from_buffers(kind, count, [bitmap(present), pa.py_buffer(values)])


def _text(kind: pa.DataType, cursors: Cursors, present: Mask | None) -> pa.Array:
    lengths = cursors.length(present)
    array = _alike(kind, lengths, cursors) if isinstance(lengths, int) else _unlike(kind, lengths, cursors, present)
    # Most text is ASCII, which a look at all bytes together shows.
    if pat.is_string(kind) and int(content(array.buffers()[2]).max(initial=0)) >= _NOT_ASCII:
        try:
            array.validate(full=True)
        except pa.ArrowInvalid as error:
            offset = cursors.base + int((cursors.pos - lengths)[_not_text(array)])
            raise CorruptBlockError(f"a string that is not UTF-8: {error}", offset=offset) from error
    return array


def _not_text(array: pa.Array) -> int:
    """Which string is the first that is no text."""
    low, high = 0, len(array)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            array.slice(low, middle - low).validate(full=True)
            low = middle
        except pa.ArrowInvalid:
            high = middle
    return low


def _alike(kind: pa.DataType, length: int, cursors: Cursors) -> pa.Array:
    """Strings of one length."""
    rows = len(cursors)
    if not length:
        return pa.Array.from_buffers(kind, rows, [None, pa.py_buffer(np.zeros(rows + 1, np.int32)), pa.py_buffer(b"")])
    values = cursors.gather(f"V{length}", None)
    places = np.arange(0, rows * length + 1, length, dtype=np.int32)
    return pa.Array.from_buffers(kind, rows, [None, pa.py_buffer(places), pa.py_buffer(values)])


def _unlike(kind: pa.DataType, lengths: Longs, cursors: Cursors, present: Mask | None) -> pa.Array:
    """Strings of different lengths: as views, each of a length and the bytes or their offset, which Arrow copies."""
    views = np.empty((len(lengths), 2), np.uint64)
    short = lengths <= _INLINE
    low, high = lengths.view(np.uint64), (cursors.pos << 32).view(np.uint64)
    if short.any():  # twelve bytes in two steps: numpy takes three times as long to copy other widths than words
        low = low | (cursors.peek("<u4").astype(np.uint64) << _HALF)
        inline = cursors.peek("<u8", ahead=4)
        high = inline if short.all() else np.where(short, inline, high)
    views[:, 0], views[:, 1] = low, high
    cursors.advance(lengths, present)
    view = pa.string_view() if pat.is_string(kind) else pa.binary_view()
    buffers = [bitmap(present), pa.py_buffer(views), pa.py_buffer(cursors.data)]
    return pa.Array.from_buffers(view, len(lengths), buffers).cast(kind)


def _fixed(node: Fixed, cursors: Cursors, present: Mask | None) -> pa.Array:
    before = cursors.copy()
    values = cursors.gather(f"V{node.size}", present)
    if not pat.is_decimal(node.arrow):
        return _array_of(node.arrow, values, len(cursors), present)
    return _decimals(node.arrow, values.view(np.uint8).reshape(-1, node.size), before, present)


def _decimals(kind: pa.DataType, rows: Bytes, cursors: Cursors, present: Mask | None) -> pa.Array:
    """Decimals from rows of big-endian two's complement."""
    width = rows.shape[1]
    sign = (rows[:, :1] >> 7) * np.uint8(0xFF)
    if width > _DECIMAL_SIZE:
        spare = rows[:, : width - _DECIMAL_SIZE]
        bad = (spare != sign).any(axis=1) | ((rows[:, width - _DECIMAL_SIZE] ^ sign[:, 0]) >> 7 != 0)
        cursors.refuse(bad, present, f"a decimal of over {_DECIMAL_SIZE} bytes")
        rows = rows[:, width - _DECIMAL_SIZE :]
    values = np.empty((len(rows), _DECIMAL_SIZE), np.uint8)
    values[:, : rows.shape[1]] = rows[:, ::-1]
    values[:, rows.shape[1] :] = sign
    array = _array_of(kind, values, len(rows), present)
    try:
        array.validate(full=True)
    except pa.ArrowInvalid as error:
        raise CorruptBlockError(f"a decimal with more digits than its type: {error}", offset=cursors.base) from error
    return array


def _decimal_bytes(kind: pa.DataType, cursors: Cursors, present: Mask | None) -> pa.Array:
    before = cursors.copy()
    lengths = np.broadcast_to(np.asarray(cursors.length(present)), len(cursors))
    starts, ends = cursors.pos, cursors.pos + lengths
    cursors.move(ends)
    # A sign may be repeated at will; Java writes none, and this bounds the memory of a row.
    before.refuse((lengths > 2 * _DECIMAL_SIZE) | (lengths == 0), present, "a decimal of no bytes, or too many")
    width = max(int(lengths.max(initial=1)), 1)
    rows = np.zeros((len(starts), width), np.uint8)
    for length in np.unique(lengths[lengths > 0]).tolist():
        some = lengths == length
        part = cursors.at(starts[some], ends[some]).gather(f"V{length}", None).view(np.uint8).reshape(-1, length)
        rows[some, width - length :] = part
        rows[some, : width - length] = (part[:, :1] >> 7) * np.uint8(0xFF)
    return _decimals(kind, rows, before, present)


def _enum(node: Enum, cursors: Cursors, present: Mask | None) -> pa.Array:
    before = cursors.pos
    index = cursors.varint(present)
    bad = (index < 0) | (index >= len(node.symbols))
    cursors.refuse(bad, present, f"an enum has {len(node.symbols)} symbols", at=before)
    wanted = pa.array(index, mask=None if present is None else ~present)
    return pa.array(node.symbols, node.arrow).take(wanted)


def _list(node: Array | Map, cursors: Cursors, present: Mask | None) -> pa.Array:
    inner = node.items if isinstance(node, Array) else node.entries
    rows, starts = locate(inner, cursors, present)
    counts = np.bincount(rows, minlength=len(cursors))
    offsets = np.zeros(len(cursors) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    items = cursors.at(starts, cursors.end[rows])
    child = read(inner, items, None) if len(rows) else pa.nulls(0, inner.arrow)
    return pa.Array.from_buffers(node.arrow, len(cursors), [bitmap(present), pa.py_buffer(offsets)], children=[child])


def _union(node: Union, cursors: Cursors, present: Mask | None) -> pa.Array:
    before = cursors.pos
    branch = cursors.varint(present)
    bad = (branch < 0) | (branch >= len(node.branches))
    cursors.refuse(bad, present, f"a union has {len(node.branches)} branches", at=before)
    members = []
    valid = present
    for index, inner in enumerate(node.branches):
        chosen = (branch == index) if present is None else (branch == index) & present
        if inner is not None:
            members.append(read(inner, cursors, chosen))
        else:
            valid = ~chosen if present is None else present & ~chosen
    return pa.StructArray.from_buffers(node.arrow, len(cursors), [bitmap(valid)], children=members)


_READERS: dict[type[Node], Callable[[Any, Cursors, Mask | None], pa.Array]] = {
    Nullable: _nullable,
    Record: _record,
    Primitive: _primitive,
    Fixed: _fixed,
    Enum: _enum,
    Array: _list,
    Map: _list,
    Union: _union,
}


_CHUNK_ROWS = 16384  # about so many; with more, what is gathered of them leaves the cache


@dataclass(frozen=True, slots=True)
class Records:
    """Avro records of one schema in a buffer: where each begins and ends.  Nothing is decoded yet."""

    data: Bytes
    starts: Longs
    ends: Longs
    schema: str

    def __len__(self) -> int:
        return len(self.starts)

    def take(self, rows: Longs) -> Records:
        """Only these of them, in ascending order."""
        return Records(self.data, self.starts[rows], self.ends[rows], self.schema)

    def decode(self, columns: Sequence[str] | None = None) -> pa.RecordBatch:
        """The records as rows.

        With *columns* only these are made, in this order; those before the last of them are skipped, those behind it
        not even looked at.

        Raises:
            SchemaError: there is no column of that name.
            DecodeError: the bytes are no records of this schema; ``offset`` counts from the start of the buffer.
        """
        record, schema, count = parse_schema(self.schema), _selected(avro_to_arrow(self.schema), columns), len(self)
        if not count:
            return batch_of([pa.nulls(0, field.type) for field in schema], schema, 0)
        if round(count / _CHUNK_ROWS) <= 1:  # a single chunk
            return _batch(record, schema, self._cursors(slice(None)))
        nodes = dict(record.fields)
        whole = {name: column_of(nodes[name], count) for name in schema.names}
        for cursors in self._chunks():
            for name, array in _arrays(record, schema.names, cursors):
                whole[name].add(array)
        return batch_of([whole[name].array() for name in schema.names], schema, count)

    def decode_parts(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """As :meth:`decode`, in batches of thousands of rows as they are made: nothing is copied into one.

        Raises:
            SchemaError, DecodeError: as :meth:`decode`.
        """
        record, schema = parse_schema(self.schema), _selected(avro_to_arrow(self.schema), columns)
        for cursors in self._chunks():
            yield _batch(record, schema, cursors)

    def _chunks(self) -> Iterator[Cursors]:
        """The records, in chunks of like size: a small one at the end would cost as many calls as the others.

        But for the last, a multiple of eight, for columns put their bits together byte by byte.
        """
        count = max(round(len(self) / _CHUNK_ROWS), 1)
        size = max(-(-len(self) // (8 * count)) * 8, 8)
        for first in range(0, len(self), size):
            yield self._cursors(slice(first, first + size))

    def _cursors(self, part: slice) -> Cursors:
        """Cursors over the bytes of some records alone, so that 32-bit offsets do for them."""
        starts, ends = self.starts[part], self.ends[part]
        first, last = int(starts[0]), int(ends[-1])
        if last + PADDING <= len(self.data):
            window = self.data[first : last + PADDING]
        else:
            window = np.zeros(last - first + PADDING, np.uint8)
            window[:-PADDING] = self.data[first:last]
        return Cursors(window, starts - first, ends - first, base=first)


def find_records(data: memoryview | bytes, count: int, writer_schema: str) -> Records:
    """The *count* records of an Avro data block, which *data* holds exactly: each a length (int32) and Avro binary.

    Raises:
        SchemaError: the schema is no Avro record schema.
        DecodeError: the bytes are not *count* records; ``offset`` counts from the start of *data*.
    """
    parse_schema(writer_schema)
    starts, ends = walk(memoryview(data).cast("B"), count)
    return Records(np.frombuffer(data, np.uint8), starts, ends, writer_schema)


def find_runs(data: memoryview | bytes, firsts: Longs, lasts: Longs, counts: Longs, writer_schema: str) -> Records:
    """The records of many short runs: of ``counts[i]`` records from ``firsts[i]`` to ``lasts[i]`` in *data*.

    Raises:
        DecodeError: as :func:`find_records`; where is not said.
    """
    content = np.frombuffer(data, np.uint8)
    return Records(content, *walk_many(content, firsts, lasts, counts), writer_schema)


def decode_records(
    data: memoryview | bytes, count: int, writer_schema: str, *, columns: Sequence[str] | None = None
) -> pa.RecordBatch:
    """The records of :func:`find_records`, decoded.

    Raises:
        SchemaError: the schema is no Avro record schema, or has none of a column that was asked for.
        DecodeError: the bytes are not *count* records of this schema; ``offset`` counts from the start of *data*.
    """
    return find_records(data, count, writer_schema).decode(columns)


def _selected(schema: pa.Schema, columns: Sequence[str] | None) -> pa.Schema:
    if columns is None:
        return schema
    for name in columns:
        if schema.get_field_index(name) < 0:
            raise SchemaError(f"column {name} is not in the Avro schema, which has {schema.names}", column=name)
    return pa.schema([schema.field(name) for name in columns])


def _batch(record: Record, schema: pa.Schema, cursors: Cursors) -> pa.RecordBatch:
    arrays = dict(_arrays(record, schema.names, cursors))
    return batch_of([arrays[name] for name in schema.names], schema, len(cursors))


def _arrays(record: Record, names: Sequence[str], cursors: Cursors) -> Iterator[tuple[str, pa.Array]]:
    """The columns of these names, in the order in which they stand in the record."""
    wanted = set(names)
    found = 0
    for name, node in record.fields:
        if found == len(wanted) < len(record.fields):
            return  # nobody needs to know what follows the last column asked for
        if name in wanted:
            found += 1
            yield name, read(node, cursors, None)
        else:
            skip(node, cursors, None)
    cursors.refuse(cursors.pos != cursors.end, None, "a record ends before its length says")
