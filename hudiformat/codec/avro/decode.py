"""Decode Avro records into a RecordBatch, column by column.  Layout: spec/avro-records.md.

Each node of the schema is read at all cursors at once and gives an Arrow array.  ``present`` says at which cursors
there is a value: below a null struct or in another branch of a union nothing is read, and the array is null there.
Whatever the bytes, the only error raised is a ``DecodeError``.

Three records of a nullable string and an int, each behind its length; the second string is null:

    bytes        00000004 02026108 | 00000002 000a | 00000005 020463640c
    located()    ([4, 12, 18], [8, 14, 23])             where each record begins and ends
    branch       [2, 0, 2]          present = [True, False, True], and every cursor moves one byte
    lengths      [1, 0, 2]          0 where there is no value
    string       ["a", null, "cd"]  the cursors move by 1, 0 and 2 bytes
    int          [4, 5, 6]          and every cursor is at the end of its record
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.types as pat

from hudiformat import kernels
from hudiformat.codec.avro.arrays import U64, Bytes, Longs, Mask, bitmap, content
from hudiformat.codec.avro.columns import Column, column_of
from hudiformat.codec.avro.compiled.decoded import RecordRanges, decode_columns, find_offsets
from hudiformat.codec.avro.cursors import PADDING, Cursors
from hudiformat.codec.avro.framing import LENGTH_SIZE, guess_offsets, walk_runs
from hudiformat.codec.avro.items import item_node, locate_items, read_branches, skip_values
from hudiformat.codec.avro.nodes import Array, Enum, Fixed, Map, Node, Nullable, Primitive, Record, Union, parse_schema
from hudiformat.codec.avro.schema import avro_to_arrow, has_vectors, with_views
from hudiformat.codec.conversion import batch_of
from hudiformat.codec.custom_types import is_vector, vectors_of
from hudiformat.errors import CorruptBlockError, TruncatedBlockError, unknown_column_error
from hudiformat.wire import INT32_MAX, shift_error_offsets

Fields: TypeAlias = tuple[tuple[str, Node], ...]

_FEW_RECORDS = 2048  # below, a plain loop is as fast as guessing
CHUNK_ROWS = 16384
"""About this many rows are decoded at once: with more, the gathered values leave the processor's cache."""


class Records:
    """Avro records of one schema in a buffer.  Nothing is decoded yet.

    Either *found* says where each record begins and ends, or *count* records fill the bytes from *first* to *last*,
    each behind its length.  In the second case a kernel finds them while it decodes them, and damage is raised only
    then.
    """

    __slots__ = ("_count", "_found", "data", "first", "last", "schema")

    def __init__(
        self,
        data: Bytes,
        schema: str,
        *,
        found: tuple[Longs, Longs] | None = None,
        count: int = 0,
        first: int = 0,
        last: int = 0,
    ) -> None:
        self.data = data
        self.schema = schema
        self.first = first
        self.last = last
        self._count = count if found is None else len(found[0])
        self._found = found

    def __len__(self) -> int:
        return self._count

    def locate(self) -> tuple[Longs, Longs]:
        """Return where each record begins and ends.

        Raises:
            DecodeError: as :func:`find_records`.
        """
        if self._found is None:
            with shift_error_offsets(self.first):
                offsets = record_offsets(self.data[self.first : self.last].data, self._count) + self.first
            self._found = offsets[:-1] + LENGTH_SIZE, offsets[1:]
        return self._found

    def take(self, rows: Longs | slice) -> Records:
        """Return the records at the indices *rows*, which are in ascending order."""
        starts, ends = self.locate()
        return Records(self.data, self.schema, found=(starts[rows], ends[rows]))

    def split(self, chunk_rows: int = CHUNK_ROWS) -> Iterator[Records]:
        """Yield the records in parts of about *chunk_rows* rows.

        Their sizes are about equal: a small last part would cost as many calls as the others.  The size of each part
        but the last is a multiple of eight, because the bits of columns are joined in whole bytes.
        """
        count = max(round(len(self) / chunk_rows), 1)
        size = max(-(-len(self) // (8 * count)) * 8, 8)
        for first in range(0, len(self), size):
            yield self.take(slice(first, first + size))

    def decode(
        self, columns: Sequence[str] | None = None, *, views: bool = False, chunk_rows: int = CHUNK_ROWS
    ) -> pa.RecordBatch:
        """Decode the records into rows, without kernels about *chunk_rows* rows at a time.

        With *columns* only these columns are decoded, in this order.  Fields in front of the last of them are skipped,
        fields behind it are not read at all.  With *views* columns of strings and bytes are Arrow's views of the
        buffer, which keep it alive; texts in nested columns are not.

        Raises:
            SchemaError: there is no column of that name.
            DecodeError: the bytes are no records of this schema; ``offset`` counts from the start of the buffer.
        """
        schema, count = _select_fields(avro_to_arrow(self.schema), columns), len(self)
        if views:
            schema = with_views(schema)
        if not count:
            return batch_of([pa.nulls(0, field.type) for field in schema], schema, 0)
        wanted = frozenset(schema.names)
        arrays, places = None, self._ranges()
        if kernels.is_active():
            arrays = decode_columns(self.data, places, self.schema, wanted, views=views)
        else:
            kernels.bytes_handled[0] += (self.last or int(places.ends[-1])) - int(places.starts[0])
        fields = parse_schema(self.schema).fields
        is_split = arrays is None and round(count / chunk_rows) > 1
        joined = self._new_columns(fields, wanted, views=views) if is_split else {}
        for part in self.split(chunk_rows) if arrays is None else ():
            cursors, arrays = part.cursors(), {}
            for name, node in fields:
                if len(arrays) == len(wanted) < len(fields):
                    break  # the fields behind the last selected column are not needed
                if name not in wanted:
                    skip_values(node, cursors, None)
                    continue
                arrays[name] = (_read_views if views and _is_text(node) else read_values)(node, cursors, None)
                if joined:
                    joined[name].add(arrays[name])
            else:
                cursors.raise_if(cursors.pos != cursors.end, None, "a record ends before its declared length")
        arrays = {name: column.array() for name, column in joined.items()} or arrays or {}
        if has_vectors(self.schema):
            arrays |= {one.name: vectors_of(arrays[one.name], one.type) for one in schema if is_vector(one.type)}
        return batch_of([arrays[name] for name in schema.names], schema, count)

    def _ranges(self) -> RecordRanges:
        if self._found is not None:
            return RecordRanges(*self._found)
        bounds = np.empty(self._count + 1, np.int64)
        bounds[0] = self.first
        return RecordRanges(bounds, bounds[1:], self.last)

    def _new_columns(self, fields: Fields, wanted: frozenset[str], *, views: bool) -> dict[str, Column]:
        """Return the *wanted* columns, to be filled part by part."""
        return {name: column_of(node, len(self), views=views) for name, node in fields if name in wanted}

    def cursors(self) -> Cursors:
        """Return a cursor per record, over the part of the buffer with the records: 32-bit offsets suffice there."""
        starts, ends = self.locate()
        first, last = int(starts[0]), int(ends[-1])
        if last + PADDING <= len(self.data):
            window = self.data[first : last + PADDING]
        else:
            window = np.zeros(last - first + PADDING, np.uint8)
            window[:-PADDING] = self.data[first:last]
        return Cursors(window, starts - first, ends - first, base=first)


def find_records(data: memoryview | bytes, count: int, writer_schema: str, *, start: int = 0) -> Records:
    """Locate the *count* records that fill *data* from *start* on: each is a length (int32) and Avro binary.

    Raises:
        SchemaError: the schema is no Avro record schema.
        DecodeError: the bytes are not *count* records; ``offset`` counts from the start of *data*.  Where kernels are
            used, it may be raised when the records are decoded.
    """
    parse_schema(writer_schema)
    records = Records(_with_padding(data), writer_schema, count=count, first=start, last=len(data))
    if not kernels.is_active() or not 0 < count <= (len(data) - start) // LENGTH_SIZE:
        records.locate()
    return records


def _with_padding(data: memoryview | bytes) -> Bytes:
    """Return the bytes of *data*, and up to :data:`PADDING` bytes behind it if *data* is a part of something larger.

    So the records at the end of a block need not be copied to have bytes behind them: other blocks follow in the file.
    """
    content = np.frombuffer(data, np.uint8)
    if not isinstance(data, memoryview) or not (around := memoryview(data.obj)).c_contiguous:
        return content
    whole = np.frombuffer(around, np.uint8)
    first = content.ctypes.data - whole.ctypes.data
    return whole[first : first + len(content) + PADDING]


def find_runs(data: memoryview | bytes, firsts: Longs, lasts: Longs, counts: Longs, writer_schema: str) -> Records:
    """Locate the records of many short runs: ``counts[i]`` records lie from ``firsts[i]`` to ``lasts[i]`` in *data*.

    Raises:
        DecodeError: as :func:`find_records`, without an offset.
    """
    content = np.frombuffer(data, np.uint8)
    return Records(content, writer_schema, found=walk_runs(content, firsts, lasts, counts))


def record_offsets(data: memoryview, count: int) -> Longs:
    """Return where each of the *count* records that fill *data* begins with its length, and the end.

    Raises:
        DecodeError: the records do not fill *data* exactly, or a length is negative.
    """
    total, pos = len(data), 0
    if total > INT32_MAX:
        raise CorruptBlockError(f"{total} bytes of records: a block has less than 2 GiB")
    if not 0 <= count <= total // LENGTH_SIZE:
        raise CorruptBlockError(f"{count} records are declared, in {total} bytes")
    if count >= _FEW_RECORDS:
        content = np.frombuffer(data, np.uint8)
        found = find_offsets(content, count) if kernels.is_active() else None
        if found is not None or (found := guess_offsets(content, count)) is not None:
            return found
    offsets = [0]
    unpack, add = struct.Struct(">i").unpack_from, offsets.append
    try:
        for _ in range(count):
            (length,) = unpack(data, pos)
            if length < 0:
                raise CorruptBlockError(f"a record of length {length}", offset=pos)
            pos += LENGTH_SIZE + length
            add(pos)
    except struct.error as error:
        raise TruncatedBlockError(f"record {len(offsets)} of {count} runs past the end", offset=pos) from error
    if pos > total:
        raise TruncatedBlockError(f"record {count} of {count} runs past the end at byte {total}", offset=offsets[-2])
    if pos < total:
        raise CorruptBlockError(f"{total - pos} bytes follow the last of {count} records", offset=pos)
    return np.array(offsets, np.int64)


def decode_records(
    data: memoryview | bytes,
    count: int,
    writer_schema: str,
    *,
    columns: Sequence[str] | None = None,
    chunk_rows: int = CHUNK_ROWS,
) -> pa.RecordBatch:
    """Locate and decode the records that fill *data*, as :func:`find_records` and :meth:`Records.decode` do.

    Raises:
        SchemaError: the schema is no Avro record schema, or does not have one of *columns*.
        DecodeError: the bytes are not *count* records of this schema; ``offset`` counts from the start of *data*.
    """
    return find_records(data, count, writer_schema).decode(columns, chunk_rows=chunk_rows)


def _select_fields(schema: pa.Schema, columns: Sequence[str] | None) -> pa.Schema:
    if columns is None:
        return schema
    for name in columns:
        if schema.get_field_index(name) < 0:
            raise unknown_column_error(name, schema.names)
    return pa.schema([schema.field(name) for name in columns])


def read_values(node: Node, cursors: Cursors, present: Mask | None) -> pa.Array:
    """Read the values at the cursors into an array; the cursors move behind the values."""
    if isinstance(node, Nullable):
        present = cursors.branch_of_two(node.null_branch, present)
        node = node.inner
    if present is not None and not present.any():
        return pa.nulls(len(cursors), node.arrow)
    if isinstance(node, Record):
        children = []
        for _, child in node.fields:
            array = read_values(child, cursors, present)
            children.append(array)
        return pa.StructArray.from_buffers(node.arrow, len(cursors), [bitmap(present)], children=children)
    return _READERS[node.kind if isinstance(node, Primitive) else type(node)](node, cursors, present)


_DECIMAL_SIZE = 16
_NOT_ASCII = 0x80
_HALF = U64(32)
_INLINE = 12  # the longest string that Arrow keeps in the view itself
_OF_LOW = np.array([((1 << 8 * min(size, 4)) - 1) << 32 | 0xFFFFFFFF for size in range(_INLINE + 1)], np.uint64)
_OF_HIGH = np.array([(1 << 8 * max(size - 4, 0)) - 1 for size in range(_INLINE + 1)], np.uint64)
_FIXED_WIDTH = {"float": "<u4", "double": "<u8"}
_DAY: dict[pa.DataType, int] = {pa.time32("ms"): 86_400_000, pa.time64("us"): 86_400_000_000}


def _read_boolean(node: Primitive, cursors: Cursors, present: Mask | None) -> pa.Array:
    values = cursors.byte(present)
    cursors.raise_if(values > 1, present, "a boolean that is neither 0 nor 1")
    return _array_of(node.arrow, np.packbits(values == 1, bitorder="little"), len(cursors), present)


def _read_floating(node: Primitive, cursors: Cursors, present: Mask | None) -> pa.Array:
    return _array_of(node.arrow, cursors.gather(_FIXED_WIDTH[node.kind], present), len(cursors), present)


def _read_integer(node: Primitive, cursors: Cursors, present: Mask | None) -> pa.Array:
    numbers = cursors.int32(present) if node.kind == "int" else cursors.varint(present)
    if node.arrow in _DAY:
        cursors.raise_if((numbers < 0) | (numbers >= _DAY[node.arrow]), present, "a time of day outside the day")
    return _array_of(node.arrow, numbers, len(cursors), present)


def _array_of(kind: pa.DataType, values: Any, count: int, present: Mask | None) -> pa.Array:
    return pa.Array.from_buffers(kind, count, [bitmap(present), pa.py_buffer(values)])


def _read_text(node: Primitive, cursors: Cursors, present: Mask | None) -> pa.Array:
    kind = node.arrow
    if pat.is_decimal(kind):
        return _decimal_bytes(kind, cursors, present)
    lengths = cursors.length(present)
    if isinstance(lengths, int):
        array = _equal_lengths(kind, lengths, cursors)
    else:
        array = _make_views(kind, lengths, cursors, present, exact=False).cast(kind)  # copies one text behind the other
    # Most text is ASCII, which the largest of all bytes shows.
    if pat.is_string(kind) and int(content(array.buffers()[2]).max(initial=0)) >= _NOT_ASCII:
        _check_text(array, cursors.pos - lengths, cursors.base)
    return array


def _is_text(node: Node) -> bool:
    return isinstance(node, (Primitive, Nullable)) and (pat.is_string(node.arrow) or pat.is_binary(node.arrow))


def _read_views(node: Node, cursors: Cursors, present: Mask | None) -> pa.Array:
    """Read strings or bytes as :func:`read_values` does, into an array of views."""
    if isinstance(node, Nullable):
        present = cursors.branch_of_two(node.null_branch, present)
    lengths = np.array(np.broadcast_to(np.asarray(cursors.length(present)), len(cursors)))
    array = _make_views(node.arrow, lengths, cursors, present)
    if pat.is_string(node.arrow):
        _check_text(array, cursors.pos - lengths, cursors.base)
    return array


def _check_text(array: pa.Array, starts: Longs, base: int) -> None:
    """Refuse strings that are not UTF-8; they begin at *starts*.

    Raises:
        CorruptBlockError: a string is not UTF-8; ``offset`` is that of the first such string.
    """
    try:
        array.validate(full=True)
    except pa.ArrowInvalid as error:
        offset = base + int(starts[_first_not_text(array)])
        raise CorruptBlockError(f"a string that is not UTF-8: {error}", offset=offset) from error


def _first_not_text(array: pa.Array) -> int:
    """Return the index of the first string that is not UTF-8, by bisection."""
    low, high = 0, len(array)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            array.slice(low, middle - low).validate(full=True)
            low = middle
        except pa.ArrowInvalid:
            high = middle
    return low


def _equal_lengths(kind: pa.DataType, length: int, cursors: Cursors) -> pa.Array:
    """Return strings that all have one length: their bytes are gathered, and their offsets computed."""
    rows = len(cursors)
    if not length:
        return pa.Array.from_buffers(kind, rows, [None, pa.py_buffer(np.zeros(rows + 1, np.int32)), pa.py_buffer(b"")])
    values = cursors.gather(f"V{length}", None)
    starts = np.arange(0, rows * length + 1, length, dtype=np.int32)
    return pa.Array.from_buffers(kind, rows, [None, pa.py_buffer(starts), pa.py_buffer(values)])


def _make_views(
    kind: pa.DataType, lengths: Longs, cursors: Cursors, present: Mask | None, *, exact: bool = True
) -> pa.Array:
    """Return strings as Arrow's views; *exact* ones have zeros behind short texts, and the first bytes of long ones.

    A view is 16 bytes: the length (int32), then the bytes themselves if they are at most twelve, else the first four
    bytes, the number of their buffer (here 0) and their offset in it.  The cast to plain strings uses neither the first
    four bytes nor the bytes behind short texts.  For the strings "ab" at the position 5, "abcdefghijklmn" at 8 and ""
    at 30, as two 64-bit numbers each:

        low    [2 | "ab.." << 32,  14 | "abcd" << 32,  0 | "...." << 32]
        high   ["........",        8 << 32,            "........"]           the dots are bytes that do not count
    """
    views = np.empty((len(lengths), 2), np.uint64)
    short = lengths <= _INLINE
    low, high = lengths.view(np.uint64), (cursors.pos << 32).view(np.uint64)
    if exact or short.any():  # in two steps: numpy copies words three times as fast as twelve bytes
        low = low | (cursors.peek("<u4").astype(np.uint64) << _HALF)
        inline = cursors.peek("<u8", ahead=4)
        if exact:
            size = np.minimum(lengths, _INLINE)
            low, inline = low & _OF_LOW[size], inline & _OF_HIGH[size]
        high = inline if short.all() else np.where(short, inline, high)
    views[:, 0], views[:, 1] = low, high
    cursors.advance(lengths, present)
    view = pa.string_view() if pat.is_string(kind) else pa.binary_view()
    buffers = [bitmap(present), pa.py_buffer(views), pa.py_buffer(cursors.data)]
    return pa.Array.from_buffers(view, len(lengths), buffers)


def _read_fixed(node: Fixed, cursors: Cursors, present: Mask | None) -> pa.Array:
    before = cursors.copy()
    values = cursors.gather(f"V{node.size}", present)
    if not pat.is_decimal(node.arrow):
        return _array_of(node.arrow, values, len(cursors), present)
    return _decimals(node.arrow, values.view(np.uint8).reshape(-1, node.size), before, present)


def _decimals(kind: pa.DataType, rows: Bytes, cursors: Cursors, present: Mask | None) -> pa.Array:
    """Return decimals from rows of big-endian two's complement; Arrow's have 16 bytes, little-endian.

    For the numbers 258 and -2 in three bytes each:

        rows      [[00, 01, 02], [ff, ff, fe]]
        sign      [[00], [ff]]
        values    [[02, 01, 00, 00 ... 00], [fe, ff, ff, ff ... ff]]
    """
    width = rows.shape[1]
    sign = (rows[:, :1] >> 7) * np.uint8(0xFF)
    if width > _DECIMAL_SIZE:
        spare = rows[:, : width - _DECIMAL_SIZE]
        bad = (spare != sign).any(axis=1) | ((rows[:, width - _DECIMAL_SIZE] ^ sign[:, 0]) >> 7 != 0)
        cursors.raise_if(bad, present, f"a decimal of over {_DECIMAL_SIZE} bytes")
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
    # Leading sign bytes may be repeated at will; Java writes none, and the limit bounds the memory of a row.
    before.raise_if((lengths > 2 * _DECIMAL_SIZE) | (lengths == 0), present, "a decimal of no bytes, or too many")
    width = max(int(lengths.max(initial=1)), 1)
    rows = np.zeros((len(starts), width), np.uint8)
    # Numbers of one length at a time: their bytes are put at the end of the rows, behind bytes of their sign.
    for length in np.unique(lengths[lengths > 0]).tolist():
        some = lengths == length
        part = cursors.at(starts[some], ends[some]).gather(f"V{length}", None).view(np.uint8).reshape(-1, length)
        rows[some, width - length :] = part
        rows[some, : width - length] = (part[:, :1] >> 7) * np.uint8(0xFF)
    return _decimals(kind, rows, before, present)


def _read_enum(node: Enum, cursors: Cursors, present: Mask | None) -> pa.Array:
    before = cursors.pos
    index = cursors.varint(present)
    bad = (index < 0) | (index >= len(node.symbols))
    cursors.raise_if(bad, present, f"an enum has {len(node.symbols)} symbols", at=before)
    indices = pa.array(index, mask=None if present is None else ~present)
    return pa.array(node.symbols, node.arrow).take(indices)


def _read_list(node: Array | Map, cursors: Cursors, present: Mask | None) -> pa.Array:
    inner = item_node(node)
    rows, starts = locate_items(inner, cursors, present)
    # The rows [0, 0, 2] of three items in three lists give the counts [2, 0, 1] and the offsets [0, 2, 2, 3].
    counts = np.bincount(rows, minlength=len(cursors))
    offsets = np.zeros(len(cursors) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    items = cursors.at(starts, cursors.end[rows])
    child = read_values(inner, items, None) if len(rows) else pa.nulls(0, inner.arrow)
    return pa.Array.from_buffers(node.arrow, len(cursors), [bitmap(present), pa.py_buffer(offsets)], children=[child])


def _read_union(node: Union, cursors: Cursors, present: Mask | None) -> pa.Array:
    members = []
    valid = present
    for inner, chosen in read_branches(node, cursors, present):
        if inner is not None:
            members.append(read_values(inner, cursors, chosen))
        else:
            valid = ~chosen if present is None else present & ~chosen
    return pa.StructArray.from_buffers(node.arrow, len(cursors), [bitmap(valid)], children=members)


_READERS: dict[str | type[Node], Callable[[Any, Cursors, Mask | None], pa.Array]] = {
    "boolean": _read_boolean,
    "int": _read_integer,
    "long": _read_integer,
    "float": _read_floating,
    "double": _read_floating,
    "string": _read_text,
    "bytes": _read_text,
    Fixed: _read_fixed,
    Enum: _read_enum,
    Array: _read_list,
    Map: _read_list,
    Union: _read_union,
}
"""The function that reads a node that is neither nullable nor a record, by the kind of a primitive, or by its class."""
