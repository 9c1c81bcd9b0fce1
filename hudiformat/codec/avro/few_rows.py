"""Encode a few rows as Avro records without numpy, of which each call takes as long as some twenty values here.

This is for rows of numbers, booleans, strings and bytes, nullable or not, whose types are exactly those of the schema.
All else is left to the module encode, whose bytes these are.

Two rows of a nullable string and an int, ("a", 1) and (null, 300):

    column 0   [02 02 61, 00]        the branch, the length 1, "a"; the branch of null
    column 1   [02, d8 04]
    records    [02 02 61 02, 00 d8 04]
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from struct import unpack_from
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.types as pat

from hudiformat.codec.avro.nodes import Node, Nullable, Primitive, parse_schema
from hudiformat.wire import int32

_Values: TypeAlias = Callable[[list[Any], int, int], list[bytes] | None]
"""From the buffers of an array, its offset and its length to the bytes of each value; those of a null do not count.

None stands for long texts.
"""
_Column: TypeAlias = tuple[_Values, bytes | None, bytes]
"""How values are encoded, and the bytes in front of a value and in place of null; None if no value may be null."""


def encode_few(rows: pa.RecordBatch, schema_json: str, *, framed: bool) -> bytes | None:
    """Return the records of *rows*, which have the schema's types; None if the module encode has to encode them."""
    columns = _columns_of(schema_json)
    if not columns:
        return None
    cells = []
    for array, (encode, full, empty) in zip(rows.columns, columns, strict=True):
        buffers, first, count = array.buffers(), array.offset, len(array)
        values = encode(buffers, first, count)
        if values is None:
            return None
        if array.null_count:
            if full is None:
                return None  # encode raises the error
            valid = _bits(buffers[0], first, count)
            values = [full + value if valid >> row & 1 else empty for row, value in enumerate(values)]
        elif full is not None:
            values = [full + value for value in values]
        cells.append(values)
    records = map(b"".join, zip(*cells, strict=True))
    return b"".join([int32(len(record)) + record for record in records] if framed else records)


@lru_cache(maxsize=256)
def _columns_of(schema_json: str) -> tuple[_Column, ...] | None:
    columns = [_column_of(node) for _, node in parse_schema(schema_json).fields]
    return None if None in columns else tuple(column for column in columns if column is not None)


def _column_of(node: Node) -> _Column | None:
    full, empty = None, b""
    if isinstance(node, Nullable):
        full, empty = (b"\2", b"\0") if node.null_branch == 0 else (b"\0", b"\2")
        node = node.inner
    if not isinstance(node, Primitive) or pat.is_decimal(node.arrow) or node.kind not in _ENCODERS:
        return None
    return _ENCODERS[node.kind], full, empty


_MOST_TEXT = 1 << 16  # bytes of a column


def _varint(value: int) -> bytes:
    """Return the varint of an unsigned number, in groups of seven bits, the lowest first."""
    if value < len(_SHORT):
        return _SHORT[value]
    groups = []
    while value > 0x7F:  # noqa: PLR2004 - seven bits
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    groups.append(value)
    return bytes(groups)


_SHORT: list[bytes] = []
_SHORT += [_varint(value) for value in range(1 << 10)]


def _bits(buffer: Any, first: int, count: int) -> int:
    """Return the bits of a bitmap from *first* on, the first one as the lowest bit of the result."""
    return int.from_bytes(memoryview(buffer)[first >> 3 : (first + count + 7) >> 3], "little") >> (first & 7)


def _integers(kind: str, size: int) -> _Values:
    def encode(buffers: list[Any], first: int, count: int) -> list[bytes]:
        numbers = unpack_from(f"<{count}{kind}", buffers[1], size * first)
        return [_varint(number << 1 ^ number >> 63) for number in numbers]  # zigzag

    return encode


def _fixed(size: int) -> _Values:
    def encode(buffers: list[Any], first: int, count: int) -> list[bytes]:
        data = bytes(memoryview(buffers[1])[size * first : size * (first + count)])
        return [data[at : at + size] for at in range(0, len(data), size)]

    return encode


def _booleans(buffers: list[Any], first: int, count: int) -> list[bytes]:
    bits = _bits(buffers[1], first, count)
    return [_SHORT[bits >> row & 1] for row in range(count)]


def _texts(buffers: list[Any], first: int, count: int) -> list[bytes] | None:
    offsets = unpack_from(f"<{count + 1}i", buffers[1], 4 * first)
    start = offsets[0]
    if offsets[-1] - start > _MOST_TEXT:
        return None
    data = b"" if buffers[2] is None else bytes(memoryview(buffers[2])[start : offsets[-1]])
    return [_varint(end - at << 1) + data[at - start : end - start] for at, end in pairwise(offsets)]


_ENCODERS: dict[str, _Values] = {
    "boolean": _booleans,
    "int": _integers("i", 4),
    "long": _integers("q", 8),
    "float": _fixed(4),
    "double": _fixed(8),
    "string": _texts,
    "bytes": _texts,
}
