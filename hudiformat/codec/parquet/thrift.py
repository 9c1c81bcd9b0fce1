"""Encode and decode Thrift's compact protocol, in which Parquet's footers are written.

Structs are kept as they are, unknown fields too, so that a footer can be changed in a few places and written again.
Pure.  Layout: spec/parquet-copy.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

from hudiformat.errors import DecodeError

MAX_DEPTH = 32
"""The limit of structs and lists within each other; a footer has 7 levels."""


class Kind(IntEnum):
    """The types of the compact protocol; a boolean field has its value in its type."""

    TRUE = 1
    FALSE = 2
    BYTE = 3
    I16 = 4
    I32 = 5
    I64 = 6
    DOUBLE = 7
    BINARY = 8
    LIST = 9
    SET = 10
    STRUCT = 12
    UUID = 13


@dataclass(frozen=True, slots=True)
class Items:
    """A list or set: the type of its items, and the items."""

    kind: Kind
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a struct."""

    kind: Kind
    value: Value


Struct: TypeAlias = Mapping[int, Field]
"""Fields by their number, in the order in which they are written."""
Value: TypeAlias = "bool | int | bytes | Items | Struct"
"""Numbers are ints; a double is its 8 bytes."""

_KINDS = {int(kind): kind for kind in Kind}  # Kind(code) takes several times as long
_INTEGERS = (Kind.I16, Kind.I32, Kind.I64)
_BOOLEANS = (Kind.TRUE, Kind.FALSE)
_NIBBLE = 15
"""The most that fits into half a byte: the distance to a field's number, or 1 more than the length of a short list."""
_BITS = 64
_LOW = 127
"""The seven low bits of a varint's byte, which belong to the number; the eighth says that another byte follows."""
_FIXED = {Kind.DOUBLE: 8, Kind.UUID: 16}


def decode_struct(data: bytes, start: int = 0) -> tuple[Struct, int]:
    """Decode the struct that begins at byte *start*; return it and the offset just after it.

    The struct ``{1: i32 7, 3: binary "ab"}``::

        15        field 0 + 1, type 5
        0e        7, zigzag
        28        field 1 + 2, type 8
        02 61 62  two bytes
        00        end

    Raises:
        DecodeError: the bytes end before the struct does, or are no struct.
    """
    reader = _Reader(data, start)
    return reader.struct(0), reader.position


def encode_struct(struct: Struct) -> bytes:
    """Return the bytes of *struct*: the inverse of :func:`decode_struct`."""
    parts = bytearray()
    _write_struct(parts, struct)
    return bytes(parts)


def decode_length(data: bytes, start: int) -> tuple[int, int]:
    """Return the length of a text or list that is at *start*, and the offset behind it.

    Raises:
        DecodeError: the bytes end before it does, or it is too long.
    """
    reader = _Reader(data, start)
    return reader.varint(), reader.position


class _Reader:
    __slots__ = ("_data", "position")

    def __init__(self, data: bytes, position: int) -> None:
        self._data = data
        self.position = position

    def struct(self, depth: int) -> Struct:
        if depth > MAX_DEPTH:
            raise DecodeError(f"expected at most {MAX_DEPTH} levels of structs and lists", offset=self.position)
        fields: dict[int, Field] = {}
        number = 0
        while head := self._byte():  # 0 ends the struct
            number = number + (head >> 4) if head >> 4 else self._integer()
            kind = self._kind(head & 15)
            value = kind is Kind.TRUE if kind in _BOOLEANS else self._value(kind, depth)
            fields[number] = Field(kind, value)
        return fields

    def _value(self, kind: Kind, depth: int) -> Value:
        if kind in _INTEGERS:
            return self._integer()
        if kind is Kind.BINARY:
            return self._take(self.varint())
        if kind is Kind.STRUCT:
            return self.struct(depth + 1)
        if kind in (Kind.LIST, Kind.SET):
            return self._items(depth + 1)
        if kind in _FIXED:
            return self._take(_FIXED[kind])
        value = self._byte()
        return value == Kind.TRUE if kind in _BOOLEANS else value

    def _items(self, depth: int) -> Items:
        head = self._byte()
        count = head >> 4 if head >> 4 < _NIBBLE else self.varint()
        kind = self._kind(head & 15)
        if depth > MAX_DEPTH or count > len(self._data) - self.position:  # an item takes at least a byte
            raise DecodeError(f"a list of {count} items at level {depth} is no part of a footer", offset=self.position)
        return Items(kind, tuple(self._value(kind, depth) for _ in range(count)))

    def _kind(self, code: int) -> Kind:
        kind = _KINDS.get(code)
        if kind is None:
            raise DecodeError(f"expected a type of Thrift, found {code}", offset=self.position)
        return kind

    def _byte(self) -> int:
        position = self.position
        if position >= len(self._data):
            raise DecodeError("expected a byte, found none", offset=position)
        self.position = position + 1
        return self._data[position]

    def _take(self, count: int) -> bytes:
        end = self.position + count
        if end > len(self._data):
            raise DecodeError(f"expected {count} bytes, found {len(self._data) - self.position}", offset=self.position)
        taken = self._data[self.position : end]
        self.position = end
        return taken

    def varint(self) -> int:
        value = self._byte()
        if value <= _LOW:  # most numbers in a footer
            return value
        value, shift = value & _LOW, 7
        while True:
            byte = self._byte()
            value |= (byte & _LOW) << shift
            if byte <= _LOW:
                return value
            shift += 7
            if shift >= _BITS:
                raise DecodeError("expected a number of at most 64 bits", offset=self.position)

    def _integer(self) -> int:
        value = self.varint()
        return value >> 1 ^ -(value & 1)


def _write_struct(parts: bytearray, struct: Struct) -> None:
    before = 0
    for number, field in struct.items():
        kind = field.kind
        if kind in _BOOLEANS:
            kind = Kind.TRUE if field.value else Kind.FALSE
        if 0 < number - before <= _NIBBLE:
            parts.append((number - before) << 4 | kind)
        else:
            parts.append(kind)
            _write_integer(parts, number)
        before = number
        if kind not in _BOOLEANS:
            _write_value(parts, kind, field.value)
    parts.append(0)


def _write_value(parts: bytearray, kind: Kind, value: Value) -> None:
    if isinstance(value, Items):
        _write_items(parts, value)
    elif isinstance(value, Mapping):
        _write_struct(parts, value)
    elif isinstance(value, bytes):
        if kind is Kind.BINARY:
            _write_varint(parts, len(value))
        parts += value
    elif kind in _BOOLEANS:
        parts.append(Kind.TRUE if value else Kind.FALSE)
    elif kind is Kind.BYTE:
        parts.append(value)
    else:
        _write_integer(parts, value)


def _write_items(parts: bytearray, items: Items) -> None:
    count = len(items.values)
    parts.append(min(count, _NIBBLE) << 4 | items.kind)
    if count >= _NIBBLE:
        _write_varint(parts, count)
    for value in items.values:
        _write_value(parts, items.kind, value)


def _write_varint(parts: bytearray, value: int) -> None:
    while value > _LOW:
        parts.append(value & _LOW | _LOW + 1)
        value >>= 7
    parts.append(value)


def _write_integer(parts: bytearray, value: int) -> None:
    _write_varint(parts, (value << 1 ^ value >> 63) & 0xFFFFFFFFFFFFFFFF)
