"""The keys of statistics and bloom filters in the metadata table: hashes of names, in base64.  Pure.

Source: ColumnIndexID, PartitionIndexID, FileIndexID, HashID, Hudi 1.2.0; the hash is XXH64.
"""

from __future__ import annotations

import base64
import hashlib
import struct
from functools import lru_cache

_NO_PARTITION = "."
_SEED = 0xFFFFFFFFDABADABA  # an int, sign-extended by Java
_MASK = (1 << 64) - 1
_P1, _P2, _P3, _P4, _P5 = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
_LANES = struct.Struct("<4Q")
_EIGHT = struct.Struct("<Q")
_FOUR = struct.Struct("<I")


@lru_cache(maxsize=1024)
def column_id(name: str) -> str:
    """Return the key part of a column."""
    return _base64(_hash_bytes(name))


@lru_cache(maxsize=1024)
def partition_id(path: str) -> str:
    """Return the key part of a partition path, which is ``""`` in a table without partitions."""
    return _base64(_hash_bytes(path or _NO_PARTITION))


def file_id(name: str) -> str:
    """Return the key part of a file name."""
    return _base64(hashlib.md5(name.encode(), usedforsecurity=False).digest())


def _hash_bytes(text: str) -> bytes:
    return struct.pack(">Q", xxh64(text.encode(), _SEED))


def _base64(digest: bytes) -> str:
    return base64.b64encode(digest).decode()


def xxh64(data: bytes, seed: int) -> int:
    """Return the XXH64 hash of *data*.  Source: xxHash, doc/xxhash_spec.md.

    45 bytes are hashed as one block of 32 bytes in four lanes, then one step of 8, one of 4 and one of 1 byte.
    """
    whole = len(data) // _LANES.size * _LANES.size
    result = _of_lanes(data[:whole], seed) if whole else seed + _P5
    result = (result + len(data)) & _MASK
    offset = whole
    for size, step in ((_EIGHT.size, _with_eight), (_FOUR.size, _with_four), (1, _with_one)):
        while offset + size <= len(data):
            result = step(result, data, offset)
            offset += size
    for shift, factor in ((33, _P2), (29, _P3), (32, 1)):
        result = (result ^ (result >> shift)) * factor & _MASK
    return result


def _of_lanes(data: bytes, seed: int) -> int:
    lanes = [(seed + start) & _MASK for start in (_P1 + _P2, _P2, 0, -_P1)]
    for words in _LANES.iter_unpack(data):
        lanes = [_round(lane, word) for lane, word in zip(lanes, words, strict=True)]
    result = sum(_rotate_left(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK
    for lane in lanes:
        result = ((result ^ _round(0, lane)) * _P1 + _P4) & _MASK
    return result


def _with_eight(result: int, data: bytes, offset: int) -> int:
    (word,) = _EIGHT.unpack_from(data, offset)
    return (_rotate_left(result ^ _round(0, word), 27) * _P1 + _P4) & _MASK


def _with_four(result: int, data: bytes, offset: int) -> int:
    (word,) = _FOUR.unpack_from(data, offset)
    return (_rotate_left(result ^ (word * _P1 & _MASK), 23) * _P2 + _P3) & _MASK


def _with_one(result: int, data: bytes, offset: int) -> int:
    return _rotate_left(result ^ (data[offset] * _P5 & _MASK), 11) * _P1 & _MASK


def _round(lane: int, word: int) -> int:
    return _rotate_left((lane + word * _P2) & _MASK, 31) * _P1 & _MASK


def _rotate_left(value: int, by: int) -> int:
    return ((value << by) | (value >> (64 - by))) & _MASK
