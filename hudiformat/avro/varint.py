"""Avro's variable-length integers, many at a time.

A varint holds seven bits a byte, lowest first, the high bit set on all bytes but the last.  Up to eight bytes are held
in one unsigned 64-bit number in the order they stand in memory (little-endian).
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

U64 = np.uint64
Words: TypeAlias = npt.NDArray[np.uint64]
Narrow: TypeAlias = npt.NDArray[np.unsignedinteger[Any]]
"""Unsigned integers of any width: as narrow as they may be, for that is how fast they are."""
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


class _Decoding(NamedTuple):
    """The constants above for words of one width."""

    carry: np.unsignedinteger[Any]
    position: np.unsignedinteger[Any]
    seven: np.unsignedinteger[Any]
    top: np.unsignedinteger[Any]
    steps: list[tuple[np.unsignedinteger[Any], ...]]


def _decoding(kind: type[np.unsignedinteger[Any]]) -> _Decoding:
    size = kind().itemsize
    every, spare = (1 << 8 * size) - 1, 64 - 8 * size
    steps = [tuple(kind(int(part) & every) for part in step) for step in _STEPS[::-1][: size.bit_length() - 1]]
    return _Decoding(kind(int(_CONTINUE) & every), kind(int(_POSITION) >> spare), kind(7), kind(8 * size - 8), steps)


_DECODING = {kind().itemsize: _decoding(kind) for kind in (np.uint16, np.uint32, np.uint64)}


def zigzag(values: Longs) -> Words:
    """Signed to unsigned, so that small negative numbers stay short."""
    result: Words = ((values << 1) ^ (values >> 63)).view(np.uint64)
    return result


def unzigzag(values: Narrow) -> Longs:
    """The inverse of :func:`zigzag`."""
    # The negative of 1 is all ones; unsigned arithmetic wraps without a warning.
    one = values.dtype.type(1)
    odd = values & one
    values = values >> one
    values ^= np.negative(odd, out=odd)
    result: Longs = values.view(values.dtype.name[1:])  # signed, and as wide
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


def stops(words: Narrow) -> Narrow:
    """Of each word the high bits that are not set, for the lowest is where a varint ends; 0 where none ends."""
    found: Narrow = ~words & _DECODING[words.itemsize].carry
    return found


def decode(words: Narrow, stops: Narrow) -> tuple[Narrow, Narrow]:
    """The unsigned value at the start of each word and its bytes; where the word does not hold it all, 0 bytes."""
    first = stops & np.negative(stops)  # the lowest bit set: where the first byte without a high bit ends
    used = first << first.dtype.type(1)
    used -= first.dtype.type(1)
    used &= words
    return groups(used), _sizes(first)


def sizes(stops: Narrow) -> Narrow:
    """The bytes of each varint, 0 for one that is longer than a word."""
    return _sizes(stops & np.negative(stops))


def _sizes(first: Narrow) -> Narrow:
    way = _DECODING[first.itemsize]
    first >>= way.seven
    first *= way.position
    first >>= way.top
    return first


def groups(words: Narrow) -> Narrow:
    """The groups of seven bits of each word put together."""
    values: Narrow = words & ~_DECODING[words.itemsize].carry
    for low, high, shift in _DECODING[words.itemsize].steps:
        upper = values >> shift
        upper &= high
        values &= low
        values |= upper
    return values
