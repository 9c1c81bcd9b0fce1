"""Compute the MD5 hashes of record keys, by which Hudi's Spark writer assigns new records to buckets.  Pure.

All keys whose messages have the same number of 64-byte blocks are hashed at once in numpy; hashlib would need one call
per key.
"""

from __future__ import annotations

import hashlib
import math

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_BLOCK = 64  # bytes
_TAIL = 9  # bytes behind a message: 0x80, then, at the end of the last block, the length of the message in bits
# Up to _FEW_KEYS keys of more than _MANY_BLOCKS blocks are hashed by hashlib: numpy needs some hundred calls a block.
_MANY_BLOCKS, _FEW_KEYS = 8, 64
_KEYS_AT_ONCE = 1 << 13  # the states of these keys stay in the processor's cache
_ROUNDS = tuple(
    (shift, np.uint32(int(abs(math.sin(i + 1)) * 2**32)), word)
    for i in range(_BLOCK)
    for shift, word in [
        (
            ((7, 12, 17, 22), (5, 9, 14, 20), (4, 11, 16, 23), (6, 10, 15, 21))[i // 16][i % 4],
            (i, 5 * i + 1, 3 * i + 5, 7 * i)[i // 16] % 16,
        )
    ]
)
_START = (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476)
_Words = npt.NDArray[np.uint32]


def md5_hashes(record_keys: pa.Array) -> npt.NDArray[np.int64]:
    """Return the first eight bytes of the MD5 of each key as a little-endian signed number; no key may be null.

    Source: NumericUtils.getMessageDigestHash, Hudi 1.2.0; RFC 1321.
    """
    parts = [_slice_hashes(record_keys.slice(i, _KEYS_AT_ONCE)) for i in range(0, len(record_keys), _KEYS_AT_ONCE)]
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _slice_hashes(record_keys: pa.Array) -> npt.NDArray[np.int64]:
    """Hash keys in groups with the same number of blocks.

    Keys of 3, 55 and 56 bytes, with 9 bytes behind each::

        lengths = [3, 55, 56]   (lengths + 9 - 1) // 64 + 1 = [1, 1, 2] blocks
        rows with 1 block: [0, 1]   rows with 2 blocks: [2]
    """
    keys = record_keys.cast(pa.large_binary())
    offsets = np.frombuffer(keys.buffers()[1], np.int64)[keys.offset : keys.offset + len(keys) + 1]
    data = np.frombuffer(keys.buffers()[2] or b"", np.uint8)
    lengths = np.diff(offsets)
    hashes = np.empty(len(keys), np.int64)
    blocks = (lengths + _TAIL - 1) // _BLOCK + 1
    for count in np.unique(blocks).tolist():
        rows = np.flatnonzero(blocks == count)
        if count > _MANY_BLOCKS and len(rows) <= _FEW_KEYS:
            hashes[rows] = [_digest_one(data[offsets[row] : offsets[row + 1]].tobytes()) for row in rows.tolist()]
            continue
        hashes[rows] = _digest(_pad_messages(data, offsets[rows], lengths[rows], count))
    return hashes


def _digest_one(key: bytes) -> int:
    return int.from_bytes(hashlib.md5(key, usedforsecurity=False).digest()[:8], "little", signed=True)


def _pad_messages(
    data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64], blocks: int
) -> _Words:
    """Return the padded messages of keys that fill *blocks* blocks, as 32-bit words: one row per key.

    The key "abc" is the 64 bytes 61 62 63 80 00 ... 00 18 00 00 00 00 00 00 00; its length is 0x18 = 24 bits.
    """
    padded = np.zeros((len(starts), blocks * _BLOCK), np.uint8)
    columns = np.arange(padded.shape[1])
    inside = columns < lengths[:, None]
    padded[inside] = data[(starts[:, None] + columns)[inside]]
    padded[np.arange(len(starts)), lengths] = 0x80
    padded[:, -8:] = (lengths * 8).astype("<u8")[:, None].view(np.uint8)
    return padded.view("<u4").astype(np.uint32)


def _digest(words: _Words) -> npt.NDArray[np.int64]:
    """Return the first half of the MD5 of each row of *words*."""
    state = [np.full(len(words), value, np.uint32) for value in _START]
    for start in range(0, words.shape[1], 16):
        block = np.ascontiguousarray(words[:, start : start + 16].T)
        state = [before + after for before, after in zip(state, _compress(state, block), strict=True)]
    low, high = state[0].astype(np.uint64), state[1].astype(np.uint64)
    hashes: npt.NDArray[np.int64] = (low | (high << np.uint64(32))).view(np.int64)
    return hashes


def _compress(state: list[_Words], block: _Words) -> tuple[_Words, _Words, _Words, _Words]:
    """Return the state after MD5's 64 rounds over one block of 16 words per key."""
    a, b, c, d = state
    for i, (shift, constant, word) in enumerate(_ROUNDS):
        rotated = _mix(i // 16, b, c, d)
        rotated += a
        rotated += block[word]
        rotated += constant
        overflow = rotated >> np.uint32(32 - shift)
        rotated <<= np.uint32(shift)
        rotated |= overflow
        rotated += b
        a, b, c, d = d, rotated, b, c
    return a, b, c, d


def _mix(turn: int, b: _Words, c: _Words, d: _Words) -> _Words:
    """Return, as a new array, the value of MD5's function F, G, H or I, which the rounds of *turn* (0 to 3) use."""
    if turn == 0:
        return d ^ (b & (c ^ d))
    if turn == 1:
        return c ^ (d & (b ^ c))
    return b ^ c ^ d if turn == 2 else c ^ (b | ~d)  # noqa: PLR2004 - the third of four
