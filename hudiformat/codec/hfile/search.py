"""Find the entries of a few keys in a data block, without decoding the others.

The bytes of a block are searched for the bytes of the key in an entry, between the key's length and ``KEY_TAIL``.  They
are not part of a value if another entry, or the end of the block, follows where the entry ends.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from hudiformat.codec.hfile.chain import KEY_TAIL, LENGTHS_SIZE, ROW_LENGTH_SIZE

MAX_SEARCHED_KEYS = 24
"""Up to this many keys are searched in a block; searching more takes longer than decoding all of its entries."""

_LENGTHS = struct.Struct(">ii")
_HEAD = struct.Struct(">iih")


def find_values(content: memoryview, keys: Sequence[bytes], *, suffix: int | None) -> list[bytes | None] | None:
    """Return the value of each of *keys*, None for keys that the block does not have.

    *suffix* is the number of bytes behind each value.  The result is None instead of a list if the entries do not have
    Hudi's form, or the bytes of a key were found but are no entry: then all entries have to be decoded.
    """
    data = bytes(content)
    if suffix is None or not _begins_entry(data, 0):
        return None
    values: list[bytes | None] = []
    for key in keys:
        start = data.find(len(key).to_bytes(ROW_LENGTH_SIZE, "big") + key + KEY_TAIL)
        if start < 0:
            values.append(None)
            continue
        value = _value_at(data, start - LENGTHS_SIZE, len(key), suffix)
        if value is None:
            return None
        values.append(value)
    return values


def _value_at(data: bytes, start: int, row: int, suffix: int) -> bytes | None:
    """Return the value of the entry at *start* with a key of *row* bytes; None if there is no such entry."""
    if start < 0:
        return None
    key, value = _LENGTHS.unpack_from(data, start)
    begin = start + LENGTHS_SIZE + key
    end = begin + value
    is_entry = key == ROW_LENGTH_SIZE + row + len(KEY_TAIL) and value >= 0 and _begins_entry(data, end + suffix)
    return data[begin:end] if is_entry else None


def _begins_entry(data: bytes, start: int) -> bool:
    """Return whether an entry of Hudi's begins at *start*, or the block ends there."""
    if start + _HEAD.size > len(data):
        return start == len(data)
    key, _, row = _HEAD.unpack_from(data, start)
    tail = start + _HEAD.size + row
    return key == ROW_LENGTH_SIZE + row + len(KEY_TAIL) and data[tail : tail + len(KEY_TAIL)] == KEY_TAIL
