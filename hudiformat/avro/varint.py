"""Avro's variable-length integers, many at a time.

A varint holds seven bits a byte, lowest first, the high bit set on all bytes but the last.  Up to eight bytes are held
in one unsigned 64-bit number in the order they stand in memory (little-endian).
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

U64 = np.uint64
Words: TypeAlias = npt.NDArray[np.uint64]
Longs: TypeAlias = npt.NDArray[np.int64]

_CONTINUE = U64(0x8080808080808080)
_SEVEN = U64(0x7F)
_MASK56 = (1 << 56) - 1
# 1 << 8k times this has k + 1 in its top byte: the position of a byte without a loop or a logarithm.
_POSITION = U64(0x0102030405060708)
# Each step halves the distance of seven-bit groups from where they belong: (low mask, high mask, shift).
_STEPS = (
    (U64(0x000000000FFFFFFF), U64(0x00FFFFFFF0000000), U64(4)),
    (U64(0x00003FFF00003FFF), U64(0x0FFFC0000FFFC000), U64(2)),
    (U64(0x007F007F007F007F), U64(0x3F803F803F803F80), U64(1)),
)


def zigzag(values: Longs) -> Words:
    """Signed to unsigned, so that small negative numbers stay short."""
    result: Words = ((values << 1) ^ (values >> 63)).view(np.uint64)
    return result


def unzigzag(values: Words) -> Longs:
    """The inverse of :func:`zigzag`."""
    # 0 - (bit) is all ones for an odd number; unsigned arithmetic wraps without a warning.
    result: Longs = ((values >> U64(1)) ^ (U64(0) - (values & U64(1)))).view(np.int64)
    return result


def encode(values: Words) -> list[tuple[Words, Longs | int, int]]:
    """Each varint as words of up to eight bytes, their lengths (one number if they are equal), and the longest.

    One word, or two where any value needs nine or ten bytes.
    """
    top = int(values.max(initial=0))
    if top < 1 << 7:
        return [(values, 1, 1)]
    if top < 1 << 14:
        return [_two_bytes(values)]
    lengths = _lengths(values, min(top, _MASK56))
    spread = _spread(values if top <= _MASK56 else values & U64(_MASK56), top)
    spread |= _CONTINUE & ((U64(1) << (lengths * U64(8) - U64(8))) - U64(1))
    if top <= _MASK56:
        return [(spread, _same_or_each(lengths), -(-top.bit_length() // 7))]
    high = values >> U64(56)
    spread |= np.where(high != 0, _CONTINUE, U64(0))
    rest, more, longest = _two_bytes(high)
    return [(spread, _same_or_each(lengths), 8), (rest, more - (high == 0), longest)]


def _two_bytes(values: Words) -> tuple[Words, Longs | int, int]:
    long = (values > _SEVEN).view(np.uint8).astype(np.uint64)
    spread: Words = (values & _SEVEN) | (values >> U64(7) << U64(8)) | (long << U64(7))
    return spread, _same_or_each(long + U64(1)), 2


def _same_or_each(lengths: Words) -> Longs | int:
    shortest = int(lengths.min())
    return shortest if shortest == int(lengths.max()) else lengths.view(np.int64)


def _spread(values: Words, top: int) -> Words:
    """The groups of seven bits in bytes of their own; *top* is the largest value."""
    for low, high, shift in _STEPS[top < 1 << 28 :]:  # what is that small has nothing to move in the first step
        values = (values & low) | ((values & high) << shift)
    return values


def _lengths(values: Words, top: int) -> Words:
    """How many groups of seven bits each value has, at most eight; *top* is the largest value."""
    lengths = np.ones(len(values), np.uint8)
    for bits in range(7, top.bit_length(), 7):
        lengths += values >= U64(1 << bits)
    return lengths.astype(np.uint64)


def decode(words: Words) -> tuple[Words, Words]:
    """The unsigned value at the start of each word and its bytes; 0 bytes where eight do not hold it."""
    stops = ~words & _CONTINUE
    first = stops & (U64(0) - stops)  # the lowest bit set: where the first byte without a high bit ends
    sizes = ((first >> U64(7)) * _POSITION) >> U64(56)
    return groups(words & ((first << U64(1)) - U64(1)), int(sizes.max(initial=1))), sizes


def groups(words: Words, longest: int = 8) -> Words:
    """The groups of seven bits put together, of which there are *longest* at most."""
    values: Words = words & ~_CONTINUE
    for low, high, shift in _STEPS[::-1][: (longest - 1).bit_length()]:
        values = (values & low) | ((values >> shift) & high)
    return values
