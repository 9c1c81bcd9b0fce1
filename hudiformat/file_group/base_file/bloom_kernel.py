"""Set the bits of record keys in a bloom filter, in compiled code.

A hash takes the one before it as its seed, so that the processor would wait for each multiplication.  Four keys of the
same length are hashed side by side: their words are mixed once, and kept in the memory at *work*::

    keys       "abcdefgh", "ijklmnop", "qrstuvwx", "yz012345"
    work       abcd ijkl qrst yz01 | efgh mnop uvwx 2345      mixed, four bytes each
    seeds      a    b    c    d                               of these keys, after each hash: a bit of each

Source: MurmurHash, InternalBloomFilter.
"""

from __future__ import annotations

from hudiformat.kernels.memory import load8, load32, load64, store8, store32

LONGEST = 4_096
"""Bytes of the longest keys that are hashed side by side."""
WORK = 4 * LONGEST
"""Bytes of memory to work with."""

_M = 0x5BD1E995
_LOW = 0xFFFF_FFFF
_SIGN, _SIGNS = 0x80, 0xFFFF_FF00


BYTES, BITS, HASHES, KEYS = range(4)
"""The numbers of a filter, each of eight bytes: its first byte among those of all filters, and how many it has of each.

``BITS`` is at least 2.
"""
FILTER_SIZE = 4 * 8


def mark(bits: int, filters: int, number: int, offsets: int, data: int, work: int) -> int:
    """Set the bits of keys in *number* filters, whose bits begin at the address *bits*; the result is 0.

    *filters* is the address of their numbers, *offsets* that of the 64-bit offsets of the keys of one filter after the
    other, *data* that of the bytes of all keys.
    """
    for one in range(filters, filters + number * FILTER_SIZE, FILTER_SIZE):
        count = load64(one + 8 * KEYS)
        _mark_keys(bits + load64(one), load64(one + 8 * BITS), load64(one + 8 * HASHES), offsets, data, count, work)
        offsets += 8 * count
    return 0


def _mark_keys(bits: int, num_bits: int, num_hashes: int, offsets: int, data: int, count: int, work: int) -> None:
    inverse = (1 << 32) // num_bits
    row = 0
    while row < count:
        start, end = load64(offsets + 8 * row), load64(offsets + 8 * row + 8)
        length = end - start
        if (
            row + 4 <= count
            and length <= LONGEST
            and load64(offsets + 8 * row + 16) == end + length
            and load64(offsets + 8 * row + 24) == end + 2 * length
            and load64(offsets + 8 * row + 32) == end + 3 * length
        ):
            _mark_four(bits, num_bits, inverse, num_hashes, data + start, length, work)
            row += 4
        else:
            _mark_one(bits, num_bits, inverse, num_hashes, data + start, length)
            row += 1


def _mark_four(bits: int, num_bits: int, inverse: int, num_hashes: int, start: int, length: int, work: int) -> None:
    """Set the bits of four keys of *length* bytes each, which follow one another."""
    whole, second, third, fourth = length & ~3, start + length, start + 2 * length, start + 3 * length
    for at in range(0, whole, 4):
        store32(work + 4 * at, _mixed_word(start + at))
        store32(work + 4 * at + 4, _mixed_word(second + at))
        store32(work + 4 * at + 8, _mixed_word(third + at))
        store32(work + 4 * at + 12, _mixed_word(fourth + at))
    left = length - whole
    tail_a, tail_b = _tail(start + whole, left), _tail(second + whole, left)
    tail_c, tail_d = _tail(third + whole, left), _tail(fourth + whole, left)
    a = b = c = d = 0
    for _ in range(num_hashes):
        a, b, c, d = a ^ length, b ^ length, c ^ length, d ^ length
        for at in range(work, work + 4 * whole, 16):
            a = (a * _M & _LOW) ^ load32(at)
            b = (b * _M & _LOW) ^ load32(at + 4)
            c = (c * _M & _LOW) ^ load32(at + 8)
            d = (d * _M & _LOW) ^ load32(at + 12)
        if left:
            a, b = (a ^ tail_a) * _M & _LOW, (b ^ tail_b) * _M & _LOW
            c, d = (c ^ tail_c) * _M & _LOW, (d ^ tail_d) * _M & _LOW
        a, b, c, d = _last_mix(a), _last_mix(b), _last_mix(c), _last_mix(d)
        _set_bit(bits, a, num_bits, inverse)
        _set_bit(bits, b, num_bits, inverse)
        _set_bit(bits, c, num_bits, inverse)
        _set_bit(bits, d, num_bits, inverse)


def _mark_one(bits: int, num_bits: int, inverse: int, num_hashes: int, start: int, length: int) -> None:
    """Set the bits of a key."""
    end = start + (length & ~3)
    left = length & 3
    tail, seed = _tail(end, left), 0
    for _ in range(num_hashes):
        seed ^= length & _LOW
        for at in range(start, end, 4):
            seed = (seed * _M & _LOW) ^ _mixed_word(at)
        if left:
            seed = (seed ^ tail) * _M & _LOW
        seed = _last_mix(seed)
        _set_bit(bits, seed, num_bits, inverse)


def _mixed_word(at: int) -> int:
    word = load32(at) * _M & _LOW
    return (word ^ word >> 24) * _M & _LOW


def _tail(at: int, left: int) -> int:
    """Return the last bytes of a key as one number.  Java's are signed: 0x80 and above bring their sign bits."""
    found = 0
    for i in range(left):
        byte = load8(at + i)
        found = (found << 8 & _LOW) ^ (byte | _SIGNS if byte >= _SIGN else byte)
    return found


def _last_mix(seed: int) -> int:
    seed = (seed ^ seed >> 13) * _M & _LOW
    return seed ^ seed >> 15


def _set_bit(bits: int, seed: int, num_bits: int, inverse: int) -> None:
    """Set the bit that a hash means.  A product with 2^32 / *num_bits* gives the quotient, or one less."""
    value = (1 << 32) - seed if seed >> 31 else seed  # Java: Math.abs
    position = value - (value * inverse >> 32) * num_bits
    position -= num_bits if position >= num_bits else 0
    at = bits + (position >> 3)
    store8(at, load8(at) | 1 << (position & 7))
