"""Set the bits of record keys in a bloom filter, in compiled code.

A hash takes the one before it as its seed, so that the processor would wait for each multiplication.  Keys that follow
one another and have the same number of whole words of four bytes are hashed side by side, up to 64 of them, eight in
one instruction where the processor has AVX2.  What they have in common is laid out in the memory at *work*::

    keys       "abcdefgh", "ijklmnopq", "rstuvwxyz0"
    words      abcd ijkl rstu | efgh mnop vwxy       mixed, four bytes each
    tails      0    q    z0                          what is left of each key
    factors    1    M    M                           a key without a tail is not multiplied once more
    seeds      a    b    c                           of these keys, after each hash: a bit of each

Source: MurmurHash, InternalBloomFilter.
"""

from __future__ import annotations

from hudiformat.kernels.memory import item32, load8, load32, load64, set_item32, store8

LANES = 64
"""Keys that are hashed side by side."""
LONGEST = 256
"""Bytes of the longest keys that are."""
_ENOUGH = 4
"""Fewer keys are hashed one after the other."""
_ARRAY = 4 * LANES
_SEEDS, _PLACES, _LENGTHS, _TAILS, _FACTORS, _WORDS = 0, _ARRAY, 2 * _ARRAY, 3 * _ARRAY, 4 * _ARRAY, 5 * _ARRAY
"""Where the arrays begin in the memory to work with, each of which has a number for each key."""
WORK = _WORDS + LONGEST * LANES
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
        whole = _whole_bytes(offsets, row)
        same = 1
        if whole <= LONGEST:
            while same < LANES and row + same < count and _whole_bytes(offsets, row + same) == whole:
                same += 1
        if same >= _ENOUGH:
            _mark_several(bits, num_bits, inverse, num_hashes, offsets + 8 * row, data, same, whole, work)
        else:
            for one in range(row, row + same):
                start = load64(offsets + 8 * one)
                _mark_one(bits, num_bits, inverse, num_hashes, data + start, load64(offsets + 8 * one + 8) - start)
        row += same


def _whole_bytes(offsets: int, row: int) -> int:
    return load64(offsets + 8 * row + 8) - load64(offsets + 8 * row) & ~3


def _mark_several(
    bits: int,
    num_bits: int,
    inverse: int,
    num_hashes: int,
    offsets: int,
    data: int,
    count: int,
    whole: int,
    work: int,
) -> None:
    """Set the bits of *count* keys, each of which has *whole* bytes and up to three more.

    The other lanes have what is in the memory; nothing comes of their hashes.
    """
    seeds, places, lengths = work + _SEEDS, work + _PLACES, work + _LENGTHS
    tails, factors, words = work + _TAILS, work + _FACTORS, work + _WORDS
    for lane in range(count):
        start, end = load64(offsets + 8 * lane), load64(offsets + 8 * lane + 8)
        for at in range(0, whole, 4):
            set_item32(words + at * LANES, lane, _mixed_word(data + start + at))
        left = end - start - whole
        set_item32(lengths, lane, end - start)
        set_item32(tails, lane, _tail(data + start + whole, left))
        set_item32(factors, lane, _M if left else 1)
    for lane in range(LANES):
        set_item32(seeds, lane, 0)
    for _ in range(num_hashes):
        for lane in range(LANES):
            set_item32(seeds, lane, item32(seeds, lane) ^ item32(lengths, lane))
        for at in range(words, words + whole * LANES, _ARRAY):
            for lane in range(LANES):
                set_item32(seeds, lane, (item32(seeds, lane) * _M & _LOW) ^ item32(at, lane))
        for lane in range(LANES):
            seed = _last_mix((item32(seeds, lane) ^ item32(tails, lane)) * item32(factors, lane) & _LOW)
            set_item32(seeds, lane, seed)
            set_item32(places, lane, _place(seed, num_bits, inverse))
        for lane in range(count):
            _set_bit(bits, item32(places, lane))


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
        _set_bit(bits, _place(seed, num_bits, inverse))


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


def _place(seed: int, num_bits: int, inverse: int) -> int:
    """Return the number of the bit that a hash means; a product with *inverse* gives the quotient, or one less."""
    value = (1 << 32) - seed if seed >> 31 else seed  # Java: Math.abs
    place = value - (value * inverse >> 32) * num_bits
    return place - num_bits if place >= num_bits else place


def _set_bit(bits: int, place: int) -> None:
    at = bits + (place >> 3)
    store8(at, load8(at) | 1 << (place & 7))
