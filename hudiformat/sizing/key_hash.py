"""The number that decides which bucket a new record goes to: the first half of its key's MD5.  Pure.

All keys of a length are digested at once, in numpy: hashlib would take a call per key.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_BLOCK = 64  # bytes that MD5 takes at a time; after the message come a bit and its length, in nine bytes
_TAIL = 9
_KEYS_AT_ONCE = 1 << 13  # the state of so many keys stays in the processor's cache
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


def key_hashes(record_keys: pa.Array) -> npt.NDArray[np.int64]:
    """The first eight bytes of the MD5 of each key (none null), as a little-endian signed number.

    Source: NumericUtils.getMessageDigestHash, Hudi 1.2.0; RFC 1321.
    """
    parts = [_hash_slice(record_keys.slice(i, _KEYS_AT_ONCE)) for i in range(0, len(record_keys), _KEYS_AT_ONCE)]
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _hash_slice(record_keys: pa.Array) -> npt.NDArray[np.int64]:
    keys = record_keys.cast(pa.large_binary())
    offsets = np.frombuffer(keys.buffers()[1], np.int64)[keys.offset : keys.offset + len(keys) + 1]
    data = np.frombuffer(keys.buffers()[2] or b"", np.uint8)
    lengths = np.diff(offsets)
    hashes = np.empty(len(keys), np.int64)
    for count in np.unique((lengths + _TAIL - 1) // _BLOCK + 1).tolist():
        rows = np.flatnonzero((lengths + _TAIL - 1) // _BLOCK + 1 == count)
        hashes[rows] = _digest(_padded(data, offsets[rows], lengths[rows], count))
    return hashes


def _padded(
    data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64], blocks: int
) -> _Words:
    """The messages of keys that fill so many blocks, as words: a row per key."""
    padded = np.zeros((len(starts), blocks * _BLOCK), np.uint8)
    columns = np.arange(padded.shape[1])
    inside = columns < lengths[:, None]
    padded[inside] = data[(starts[:, None] + columns)[inside]]
    padded[np.arange(len(starts)), lengths] = 0x80
    padded[:, -8:] = (lengths * 8).astype("<u8")[:, None].view(np.uint8)
    return padded.view("<u4").astype(np.uint32)


def _digest(words: _Words) -> npt.NDArray[np.int64]:
    state = [np.full(len(words), value, np.uint32) for value in _START]
    for start in range(0, words.shape[1], 16):
        block = np.ascontiguousarray(words[:, start : start + 16].T)
        state = [before + after for before, after in zip(state, _compressed(state, block), strict=True)]
    low, high = state[0].astype(np.uint64), state[1].astype(np.uint64)
    hashes: npt.NDArray[np.int64] = (low | (high << np.uint64(32))).view(np.int64)
    return hashes


def _compressed(state: list[_Words], block: _Words) -> tuple[_Words, _Words, _Words, _Words]:
    a, b, c, d = state
    for i, (shift, constant, word) in enumerate(_ROUNDS):
        turned = _mixed(i // 16, b, c, d)
        turned += a
        turned += block[word]
        turned += constant
        above = turned >> np.uint32(32 - shift)
        turned <<= np.uint32(shift)
        turned |= above
        turned += b
        a, b, c, d = d, turned, b, c
    return a, b, c, d


def _mixed(turn: int, b: _Words, c: _Words, d: _Words) -> _Words:
    """What a round of the turn 0 to 3 mixes in, in a new array."""
    if turn == 0:
        return d ^ (b & (c ^ d))
    if turn == 1:
        return c ^ (d & (b ^ c))
    return b ^ c ^ d if turn == 2 else c ^ (b | ~d)  # noqa: PLR2004 - the third of four
