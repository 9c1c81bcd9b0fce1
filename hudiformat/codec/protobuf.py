"""The part of Protocol Buffers that HFiles and ORC files need: varints, and byte strings behind their length.

The field 1 with the number 300 and the field 2 with the bytes "ab":

    08           tag: 1 << 3 | 0, a varint follows
    ac 02        300 = 0x2c + (2 << 7)
    12           tag: 2 << 3 | 2, a length follows
    02 61 62     two bytes
"""

from __future__ import annotations

from collections.abc import Iterator

from hudiformat.errors import CorruptBlockError
from hudiformat.wire import Cursor

_VARINT, _FIXED64, _LENGTH_DELIMITED, _FIXED32 = 0, 1, 2, 5
_MOST_SHIFT = 63
_UNSIGNED = (1 << 64) - 1


def encode_varint(value: int) -> bytes:
    """Return *value* in seven bits per byte, lowest first; a negative value as 64 bits of a Java ``long``."""
    value &= _UNSIGNED
    parts = bytearray()
    while value > 0x7F:  # noqa: PLR2004 - a byte without its highest bit
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def encode_field(number: int, value: int | bytes) -> bytes:
    """Return a field with its tag."""
    if isinstance(value, int):
        return encode_varint(number << 3 | _VARINT) + encode_varint(value)
    return encode_varint(number << 3 | _LENGTH_DELIMITED) + encode_delimited(value)


def encode_delimited(message: bytes) -> bytes:
    """Return *message* behind its length."""
    return encode_varint(len(message)) + message


def decode_varint(cursor: Cursor) -> int:
    """Read the next varint, unsigned.

    Raises:
        DecodeError: the varint does not end, or does not fit into 64 bits.
    """
    start = cursor.offset
    value = 0
    for shift in range(0, _MOST_SHIFT + 1, 7):
        byte = cursor.take(1, "varint")[0]
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value & _UNSIGNED
    raise CorruptBlockError("a varint of more than ten bytes", offset=start)


def decode_delimited(cursor: Cursor, what: str) -> Cursor:
    """Return a cursor over the next message, which follows its length."""
    size = decode_varint(cursor)
    start = cursor.offset
    return Cursor(cursor.take(size, what), base=start)


def decode_fields(message: Cursor) -> Iterator[tuple[int, int | bytes]]:
    """Yield the number and value of each field; fields of fixed width, which nobody here needs, are skipped.

    Raises:
        DecodeError: the message is damaged.
    """
    while message.remaining:
        start = message.offset
        tag = decode_varint(message)
        number, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            yield number, decode_varint(message)
        elif kind == _LENGTH_DELIMITED:
            yield number, bytes(message.take(decode_varint(message), "field"))
        elif kind in (_FIXED64, _FIXED32):
            message.take(8 if kind == _FIXED64 else 4, "field")
        else:
            raise CorruptBlockError(f"field {number} of the wire type {kind}", offset=start)
