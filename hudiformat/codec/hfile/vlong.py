"""Encode and decode Hadoop's variable-length integers.

One byte holds -112 to 127.  Other numbers have a first byte for the sign and the count of the bytes that follow, and
then the number, or for a negative one its complement:

    127     7f
    128     8f 80          -113 = -112 - 1: one byte follows
    300     8e 01 2c       -114 = -112 - 2: two bytes follow
    -113    87 70          -121 = -120 - 1: one byte follows, 0x70 = ~-113

Source: IOUtils.writeVarInt and readVarLong; Hadoop's WritableUtils.
"""

from __future__ import annotations

from hudiformat.wire import Cursor

_SMALLEST, _LARGEST = -112, 127
_NEGATIVE = -120


def encode_vlong(value: int) -> bytes:
    """Return the one to nine bytes of *value*."""
    if _SMALLEST <= value <= _LARGEST:
        return value.to_bytes(1, "big", signed=True)
    mark, rest = (_SMALLEST, value) if value >= 0 else (_NEGATIVE, ~value)
    count = -(-rest.bit_length() // 8)
    return (mark - count).to_bytes(1, "big", signed=True) + rest.to_bytes(count, "big")


def decode_vlong(cursor: Cursor) -> int:
    """Read the next integer.

    Raises:
        TruncatedBlockError: the integer does not end.
    """
    first = int.from_bytes(cursor.take(1, "vlong"), "big", signed=True)
    if first >= _SMALLEST:
        return first
    negative = first < _NEGATIVE
    rest = int.from_bytes(cursor.take((_NEGATIVE if negative else _SMALLEST) - first, "vlong"), "big")
    return ~rest if negative else rest
