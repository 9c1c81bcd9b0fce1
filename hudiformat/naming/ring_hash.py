"""Hash record keys to positions on a ring of buckets: XXH32 of a key's UTF-8 bytes, a column at a time.

All keys with the same number of bytes are hashed at once in numpy.  Sums wrap at 32 bits.  A text of 35 bytes is two
stripes of 16 bytes and a rest of 3: word i of a stripe is mixed into lane i, the four lanes become one number, and the
bytes of the rest are mixed into that.  Texts of less than 16 bytes have no stripes: "abc" is three bytes of rest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.naming.bucket_hash import composite_keys, hash_composite_keys

RING_END = 0x7FFFFFFF
"""The last position on a ring.

Source: HoodieConsistentHashingMetadata.HASH_VALUE_MASK.
"""

_Words = npt.NDArray[np.uint32]
_P1, _P2, _P3, _P4, _P5 = (np.uint32(prime) for prime in (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1))
_STRIPE, _WORD = 16, 4
"""The number of bytes in a stripe, and in one of its four words."""
_LANES, _TURNS = (0x24234428, 0x85EBCA77, 0, 0x61C8864F), (1, 7, 12, 18)
"""The start values of the four lanes, P1 + P2, P2, 0 and -P1, and by how many bits each is rotated at the end."""
_MASK = 0xFFFFFFFF
_LONG, _FEW = 512, 16
"""Up to _FEW texts of one length above _LONG bytes are hashed with Python's integers, which are faster then."""


def ring_positions(record_keys: pa.Array, hash_fields: Sequence[str]) -> npt.NDArray[np.int64]:
    """Return the position of each record key on the ring, from 0 to RING_END, from the key's text alone.

    If a key contains both ``,`` and ``:``, the values of its hash fields are joined and hashed.

    Source: ConsistentBucketIdentifier.getBucket, Hudi 1.2.0.
    """
    places = _positions_of([record_keys])
    rows = composite_keys(record_keys)
    if len(rows):
        places[rows] = hash_composite_keys(record_keys.take(pa.array(rows)), hash_fields, _positions_of)
    return places


def _positions_of(columns: Sequence[pa.Array]) -> npt.NDArray[np.int64]:
    """Return the positions of rows whose values are joined; a null is the text ``null``, as in Java."""
    joined = columns[0]
    if len(columns) > 1 or joined.null_count:
        joined = pc.binary_join_element_wise(*(pc.fill_null(one, "null") for one in columns), "")
    places: npt.NDArray[np.int64] = (xxh32(joined) & np.uint32(RING_END)).astype(np.int64)
    return places


def xxh32(texts: pa.Array) -> _Words:
    """Return XXH32 with seed 0 of the UTF-8 bytes of each text; none is null.

    Source: the specification of xxHash; HashID.getXXHash32, Hudi 1.2.0.
    """
    values = texts.cast(pa.large_binary())
    offsets = np.frombuffer(values.buffers()[1], np.int64)[values.offset : values.offset + len(values) + 1]
    data = np.frombuffer(values.buffers()[2] or b"", np.uint8)
    lengths = np.diff(offsets)
    hashes = np.empty(len(values), np.uint32)
    for length in np.unique(lengths).tolist():
        rows = np.flatnonzero(lengths == length)
        if length > _LONG and len(rows) <= _FEW:
            hashes[rows] = [_hash_one(data[offsets[row] : offsets[row + 1]].tobytes()) for row in rows.tolist()]
        else:
            hashes[rows] = _hash_equal_lengths(data[offsets[rows][:, None] + np.arange(length)])
    return hashes


def _hash_one(text: bytes) -> int:
    """Return the hash of one text, computed with Python's integers."""
    lanes = list(_LANES)
    end = len(text) // _STRIPE * _STRIPE
    for number, word in enumerate(np.frombuffer(text[:end], "<u4").tolist()):
        mixed = lanes[number & 3] + word * int(_P2) & _MASK
        lanes[number & 3] = (mixed << 13 | mixed >> 19) * int(_P1) & _MASK
    state = sum(lane << bits | lane >> (32 - bits) for lane, bits in zip(lanes, _TURNS, strict=True)) + len(text)
    rest = text[end:]
    words = np.frombuffer(rest[: len(rest) // _WORD * _WORD], "<u4").tolist()
    for word in words:
        state = state + word * int(_P3) & _MASK
        state = (state << 17 | state >> 15) * int(_P4)
    for byte in rest[len(words) * _WORD :]:
        state = state + byte * int(_P5) & _MASK
        state = (state << 11 | state >> 21) * int(_P1)
    return int(_avalanche(np.array([state & _MASK], np.uint32))[0])


def _hash_equal_lengths(data: npt.NDArray[np.uint8]) -> _Words:
    """Return the hash of each row of bytes."""
    length = data.shape[1]
    words_end = length - length % _WORD
    words = np.ascontiguousarray(data[:, :words_end]).view("<u4").astype(np.uint32)
    in_stripes = length // _STRIPE * _STRIPE // _WORD
    state = _mix_stripes(words[:, :in_stripes]) if in_stripes else np.full(len(data), _P5)
    state += np.uint32(length)
    for column in range(in_stripes, words.shape[1]):  # whole words behind the stripes, then the last bytes
        state = _rotate_left(state + words[:, column] * _P3, 17) * _P4
    for column in range(words_end, length):
        state = _rotate_left(state + data[:, column].astype(np.uint32) * _P5, 11) * _P1
    return _avalanche(state)


def _mix_stripes(words: _Words) -> _Words:
    """Return one number per row, mixed from the four lanes of its 16-byte stripes."""
    lanes = [np.full(len(words), start, np.uint32) for start in _LANES]
    for column in range(words.shape[1]):
        lane = column % len(lanes)
        lanes[lane] = _rotate_left(lanes[lane] + words[:, column] * _P2, 13) * _P1
    total = np.zeros(len(words), np.uint32)
    for mixed, bits in zip(lanes, _TURNS, strict=True):
        total += _rotate_left(mixed, bits)
    return total


def _avalanche(state: _Words) -> _Words:
    state = (state ^ state >> np.uint32(15)) * _P2
    state = (state ^ state >> np.uint32(13)) * _P3
    mixed: _Words = state ^ state >> np.uint32(16)
    return mixed


def _rotate_left(words: _Words, bits: int) -> _Words:
    rotated: _Words = words << np.uint32(bits) | words >> np.uint32(32 - bits)
    return rotated
