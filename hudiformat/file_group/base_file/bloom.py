"""Write and read the bloom filters of record keys in the footers of base files.

Filters of Hudi's type SIMPLE are read and written, those of type DYNAMIC_V0 are read.  Layout: spec/base-file.md.

Source: InternalBloomFilter, HashFunction, MurmurHash, BloomFilterUtils; footers without a type code are SIMPLE.
"""

from __future__ import annotations

import base64
import itertools
import math
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudiformat import kernels
from hudiformat.errors import CorruptTableError
from hudiformat.file_group.base_file.bloom_kernel import WORK, mark

BLOOM_FILTER = "org.apache.hudi.bloomfilter"
BLOOM_FILTER_TYPE = "hoodie_bloom_filter_type_code"
"""The footer keys of the filter and of its type; without a type the filter is SIMPLE."""

_HEADER = struct.Struct(">iiBi")  # version, number of hashes, hash type, bits
_DYNAMIC = struct.Struct(">iii")  # keys per filter, keys in the last one, filters
_VERSION = -1
_MURMUR = 1
_M = np.uint32(0x5BD1E995)
_SHARE_OF_HASHES = 0.53
_MOST_KEYS = 120_000
"""The largest filter is one of so many keys, as by Hudi's defaults: two filters of 60,000 keys each."""
_POWER_OF_RATE = 8 / 9
"""A filter still serves if its rate is at most this power of the rate of a new one: 1e-8 for 1e-9, 8 % for 6 %."""
_MAX_HASHES = 1_000  # enough for a false positive rate of 1e-300
_MASK = 0xFFFFFFFF
_FEW, _LONG = 16, 1 << 9  # up to _FEW keys of more than _LONG bytes are hashed without arrays
_CHUNK = 16_384  # keys hashed at once: the working arrays stay in cache
_Words = npt.NDArray[np.uint32]
_Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class BloomFilter:
    """A set of record keys that may contain further keys by chance; ``bits`` are in the order of Java's BitSet.

    A key sets one bit per hash.  With 2 hashes and 100 bits, the keys "abcd", "abcdX" and "abcdXYZ"::

        first hash:  positions = [89, 5, 94]
        second hash: positions = [27, 67, 61]
        bits set:    5, 27, 61, 67, 89, 94
    """

    num_hashes: int
    num_bits: int
    bits: bytes

    @classmethod
    def of(cls, keys: pa.Array, *, false_positive_rate: float = 1e-9) -> BloomFilter:
        """Return the filter of *keys*, sized for their number; *keys* are strings, none of them null or empty."""
        num_hashes, num_bits = _size(len(keys), false_positive_rate)
        return cls(num_hashes, num_bits, bytes(-(-num_bits // 8))).with_keys(keys)

    @classmethod
    def of_each(cls, keys: pa.Array, counts: Sequence[int], *, false_positive_rate: float = 1e-9) -> list[BloomFilter]:
        """Return a filter of the first ``counts[0]`` of *keys*, one of the next ``counts[1]``, and so on.

        For many small filters this takes a fraction of the time of as many calls of :meth:`of`: the keys of all filters
        are hashed together.  Three keys, filters of 2 and 1 keys with 87 and 44 bits::

            bits    87   87   44    the size of each key's filter
            starts   0    0   88    where the flags of each key's filter begin, in whole bytes
        """
        sizes = [_size(count, false_positive_rate) for count in counts]
        empty = [cls(num_hashes, num_bits, bytes(-(-num_bits // 8))) for num_hashes, num_bits in sizes]
        marked = _mark_by_kernel(empty, keys, counts)
        if marked is not None:
            return [replace(one, bits=bits) for one, bits in zip(empty, marked, strict=True)]
        whole_bytes = [-(-num_bits // 8) for _, num_bits in sizes]
        starts = np.cumsum([0, *whole_bytes]) * 8
        of_key = np.repeat(np.arange(len(counts)), counts)
        hashes, bits = (np.array([size[at] for size in sizes], np.uint32)[of_key] for at in (0, 1))
        flags = np.zeros(starts[-1], np.uint8)
        for rows, chunk in _chunks(keys):
            first, wanted = starts[of_key[rows]], hashes[rows]
            for number, positions in enumerate(chunk.positions(int(wanted.max()), bits[rows])):
                flags[(positions + first)[number < wanted]] = 1
        packed = np.packbits(flags, bitorder="little").tobytes()
        return [
            cls(num_hashes, num_bits, packed[start // 8 : start // 8 + count])
            for (num_hashes, num_bits), start, count in zip(sizes, starts.tolist(), whole_bytes, strict=False)
        ]

    def might_contain(self, keys: pa.Array) -> npt.NDArray[np.bool_]:
        """Return for each key whether the filter may contain it; False is certain.

        The keys "a" and "b" with 2 hashes each, in a filter whose bits 1 and 6 are set::

            first hash:  positions = [6, 1]   matches = [T, T]
            second hash: positions = [1, 3]   matches = [T, F]
        """
        flags = np.unpackbits(np.frombuffer(self.bits, np.uint8), bitorder="little").view(np.bool_)
        matches = np.ones(len(keys), np.bool_)
        for rows, chunk in _chunks(keys):
            in_chunk = matches[rows]
            for positions in chunk.positions(self.num_hashes, self.num_bits):
                in_chunk &= flags[positions]
                if not in_chunk.any():
                    break
            matches[rows] = in_chunk
        return matches

    def fits(self, count: int, *, false_positive_rate: float = 1e-9) -> bool:
        """Return whether this filter serves *count* keys: its rate of false positives may be a little higher.

        It may be a quarter larger than a filter of these keys alone.
        """
        num_hashes, num_bits = _size(count, false_positive_rate)
        rate = _rate(count, num_hashes, num_bits) ** _POWER_OF_RATE
        return _rate(count, self.num_hashes, self.num_bits) <= rate and self.num_bits <= 1.25 * num_bits

    def with_keys(self, keys: pa.Array) -> BloomFilter:
        """Return a filter of the same size with further keys."""
        marked = _mark_by_kernel([self], keys, [len(keys)])
        if marked is not None:
            return replace(self, bits=marked[0])
        flags = np.unpackbits(np.frombuffer(self.bits, np.uint8), bitorder="little")
        _mark(flags, keys, self.num_hashes, self.num_bits)
        return replace(self, bits=np.packbits(flags, bitorder="little").tobytes())

    def serialize(self) -> str:
        """Return the text of the filter for the footer."""
        return base64.b64encode(_HEADER.pack(_VERSION, self.num_hashes, _MURMUR, self.num_bits) + self.bits).decode()

    @classmethod
    def parse(cls, text: str) -> BloomFilter:
        """Parse the filter in the footer's *text*.

        Raises:
            CorruptTableError: the text is not a SIMPLE filter.
        """
        return _simple_filter(_decode_base64(text))


def _mark_by_kernel(filters: Sequence[BloomFilter], keys: pa.Array, counts: Sequence[int]) -> list[bytes] | None:
    """Return the bits of *filters* with those of *keys*, of which each filter gets the next ``counts[i]``.

    The result is None if numpy is to set the bits.
    """
    array = keys.cast(pa.large_binary())
    _, offsets, data = array.buffers()
    size = 0 if data is None else data.size
    compiled = kernels.kernel(mark, size) if all(one.num_bits > 1 for one in filters) else None
    if compiled is None:
        return None
    ends = list(itertools.accumulate((len(one.bits) for one in filters), initial=0))
    numbers = [(start, one.num_bits, one.num_hashes, n) for start, one, n in zip(ends, filters, counts, strict=False)]
    table, work = np.array(numbers, np.int64), np.empty(WORK, np.uint8)
    bits = np.frombuffer(bytearray().join([one.bits for one in filters]), np.uint8)
    first = offsets.address + array.offset * np.dtype(np.int64).itemsize
    places = [one.ctypes.data for one in (bits, table, work)]
    compiled(places[0], places[1], len(filters), first, 0 if data is None else data.address, places[2])
    marked = bits.tobytes()
    return [marked[start:end] for start, end in itertools.pairwise(ends)]


def parse_filters(text: str, kind: str) -> tuple[BloomFilter, ...]:
    """Parse the filters in the footer's *text*, whose type is *kind*: one, or several for DYNAMIC_V0.

    A key may be in the file if any of the filters may contain it.

    Raises:
        CorruptTableError: the text is not a filter of that type, or the type is unknown.

    Source: InternalDynamicBloomFilter.
    """
    if kind == "SIMPLE":
        return (BloomFilter.parse(text),)
    if kind != "DYNAMIC_V0":
        raise CorruptTableError(f"not a bloom filter: expected type SIMPLE or DYNAMIC_V0, found {kind!r}")
    data = _decode_base64(text)
    _, num_bits = _parse_header(data)
    size = _HEADER.size + -(-num_bits // 8)
    start = _HEADER.size + _DYNAMIC.size
    _, _, count = _DYNAMIC.unpack_from(data, _HEADER.size) if len(data) >= start else (0, 0, -1)
    if count < 0 or len(data) != start + count * size:
        raise CorruptTableError(
            f"not a bloom filter of type DYNAMIC_V0: {len(data)} bytes do not hold {count} filters of {num_bits} bits"
        )
    return tuple(_simple_filter(data[start + i * size : start + (i + 1) * size]) for i in range(count))


def _mark(flags: npt.NDArray[np.uint8], keys: pa.Array, num_hashes: int, num_bits: int) -> None:
    """Set the flags of the bits that *keys* have in a filter."""
    ones = np.ones(_CHUNK, np.uint8)  # assigning an array is faster than assigning a single number
    for _, chunk in _chunks(keys):
        for positions in chunk.positions(num_hashes, num_bits):
            flags[positions] = ones[: len(positions)]


@lru_cache
def _size(count: int, false_positive_rate: float) -> tuple[int, int]:
    """Return the number of hashes and the number of bits of a filter of *count* keys.

    A filter with half of the hashes that make it smallest is a sixth larger and takes half of the time, which is a
    quarter of the time of a whole insert.  With the rate 1e-9::

        hashes  bits for each key
        30      43.1              the smallest filter, as Hudi sizes it
        16      50.0
        10      74.4

    Of more than 120,000 keys the filter gets no larger, as whoever opens the file reads the text of the whole filter
    with the footer: for a million keys that would be 8 MB.  The keys share the bits, by the number of hashes with the
    fewest false positives::

        keys       hashes  rate
        120,000    16      1e-9
        300,000    14      7e-5
        1,000,000   4      6 %
    """
    smallest = math.ceil(-math.log2(false_positive_rate))
    num_hashes = math.ceil(smallest * _SHARE_OF_HASHES)
    share_of_ones = false_positive_rate ** (1 / num_hashes)  # among the bits of a full filter
    num_bits = math.ceil(-num_hashes * min(max(count, 1), _MOST_KEYS) / math.log1p(-share_of_ones))
    if count > _MOST_KEYS:
        num_hashes = min(num_hashes, max(round(num_bits / count * math.log(2)), 1))
    return num_hashes, num_bits


def _rate(count: int, num_hashes: int, num_bits: int) -> float:
    """Return the rate of false positives of a filter that has *count* keys."""
    return (-math.expm1(-num_hashes * count / num_bits)) ** num_hashes


def _decode_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise CorruptTableError(f"not a bloom filter: {error}") from error


def _parse_header(data: bytes) -> tuple[int, int]:
    """Return the number of hashes and the number of bits from the header of a filter."""
    try:
        version, num_hashes, kind, num_bits = _HEADER.unpack_from(data)
    except struct.error as error:
        raise CorruptTableError(f"not a bloom filter: {error}") from error
    if (version, kind) != (_VERSION, _MURMUR) or not 0 < num_hashes <= _MAX_HASHES or num_bits <= 0:
        raise CorruptTableError(
            f"not a bloom filter of type SIMPLE: version {version}, {num_hashes} hashes of type {kind}, {num_bits} bits"
        )
    return num_hashes, num_bits


def _simple_filter(data: bytes) -> BloomFilter:
    num_hashes, num_bits = _parse_header(data)
    bits = data[_HEADER.size :]
    if len(bits) != -(-num_bits // 8):
        raise CorruptTableError(f"not a bloom filter of type SIMPLE: {num_bits} bits in {len(bits)} bytes")
    return BloomFilter(num_hashes, num_bits, bits)


def _chunks(keys: pa.Array) -> Iterator[tuple[_Numbers | slice, _Keys | _FewLongKeys]]:
    """Yield chunks of keys that have the same number of whole 4-byte words, with the rows of these keys.

    The keys "abcd", "a" and "efgh"::

        counts = [1, 0, 1]   whole words
        order  = [1, 0, 2]   counts[order] = [0, 1, 1]
        bounds = [0, 1, 3]   of the runs of equal counts
        chunks: rows [1], rows [0, 2]
    """
    array = keys.cast(pa.large_binary())
    offsets = np.frombuffer(array.buffers()[1], np.int64)[array.offset : array.offset + len(array) + 1]
    data = np.frombuffer(array.buffers()[2] or b"", np.uint8)
    starts, lengths = offsets[:-1], np.diff(offsets)
    counts = lengths // 4
    if (counts == counts[:1]).all():
        bounds, order = np.array([0, len(counts)]), None
    else:
        order = np.argsort(counts, kind="stable")
        bounds = np.append(np.flatnonzero(np.diff(counts[order], prepend=-1)), len(counts))
    for first, last in itertools.pairwise(bounds.tolist()):  # keys with the same number of words
        for start in range(first, last, _CHUNK):
            part = slice(start, min(start + _CHUNK, last))
            rows = part if order is None else order[part]
            few = len(starts[rows]) <= _FEW and lengths[rows][0] > _LONG
            yield rows, (_FewLongKeys if few else _Keys).of(data, starts[rows], lengths[rows])


@dataclass(frozen=True, slots=True)
class _Keys:
    """Keys prepared for MurmurHash; all have the same number of whole 4-byte words.

    What does not depend on the seed is computed once per key, not once per hash.

    ``words`` has an array per word index, with one mixed word per key.  ``tails`` are the remaining bytes of each key,
    up to three; without remaining bytes ``tails`` is 0 and ``factors`` is 1.  ``tails`` and ``factors`` are None if no
    key has remaining bytes, and ``factors`` and ``lengths`` are one number if they are the same for all keys.

    The keys "abcd", "abcdX" and "abcdXYZ"::

        words   = [[0xecf5b977, 0xecf5b977, 0xecf5b977]]   0x64636261, "abcd" little-endian, after _mix_words
        tails   = [0, 0x58, 0x58595A]               big-endian: the last byte is the lowest
        factors = [1, M, M]
        lengths = [4, 5, 7]
    """

    count: int
    words: list[_Words]
    tails: _Words | None
    factors: _Words | np.uint32 | None
    lengths: _Words | np.uint32

    @classmethod
    def of(cls, data: npt.NDArray[np.uint8], starts: _Numbers, lengths: _Numbers) -> _Keys:
        all_words = np.ndarray(max(len(data) - 3, 0), "<u4", data, strides=(1,))
        words = [
            _mix_words(all_words[starts + offset].astype(np.uint32)) for offset in range(0, int(lengths[0]) // 4 * 4, 4)
        ]
        left, count = lengths & 3, len(lengths)
        same_length = (lengths == lengths[0]).all()
        sizes = np.uint32(lengths[0]) if same_length else lengths.astype(np.uint32)
        if not left.any():
            return cls(count, words, None, None, sizes)
        factors = _M if left.all() else np.where(left > 0, _M, np.uint32(1))
        return cls(count, words, _tails(data, starts, lengths), factors, sizes)

    def positions(self, num_hashes: int, num_bits: int | _Words) -> Iterator[_Numbers]:
        """Yield for each hash the bit position of each key, in an array that the next hash overwrites.

        *num_bits* is the size of the filter, or of the filter of each key.  The first hash has the seed 0, every other
        one the hash before it.
        """
        bits = num_bits if isinstance(num_bits, np.ndarray) else np.uint32(num_bits)
        positions = np.empty(self.count, np.int64)
        seed, size, whole = (np.zeros(self.count, np.uint32) for _ in range(3))
        for _ in range(num_hashes):
            seed ^= self.lengths
            for word in self.words:
                seed *= _M
                seed ^= word
            if self.tails is not None and self.factors is not None:
                seed ^= self.tails
                seed *= self.factors
            seed ^= np.right_shift(seed, np.uint32(13), out=size)
            seed *= _M
            seed ^= np.right_shift(seed, np.uint32(15), out=size)
            # Java: Math.abs(hash % bits), where % keeps the sign of the hash.  In numpy, / is faster than %.
            np.abs(seed.view(np.int32), out=size.view(np.int32))
            np.floor_divide(size, bits, out=whole)
            whole *= bits
            yield np.subtract(size, whole, out=positions)


def _tails(data: npt.NDArray[np.uint8], starts: _Numbers, lengths: _Numbers) -> _Words:
    """Return the bytes of each key behind its last whole word.

    Java's bytes are signed: a byte of 0x80 and above is XORed in with its sign bits.
    """
    left, tails = lengths & 3, np.zeros(len(lengths), np.int32)
    for i in range(int(left.max(initial=0))):  # from the last byte, which is not shifted, to the first
        rows = np.flatnonzero(left > i)
        tails[rows] ^= data.view(np.int8)[(starts + lengths)[rows] - 1 - i].astype(np.int32) << (8 * i)
    return tails.view(np.uint32)


@dataclass(frozen=True, slots=True)
class _FewLongKeys:
    """As :class:`_Keys`, for a few long keys, which Python's integers hash faster than arrays do."""

    words: list[list[int]]
    tails: list[int]
    factors: list[int]
    lengths: list[int]

    @classmethod
    def of(cls, data: npt.NDArray[np.uint8], starts: _Numbers, lengths: _Numbers) -> _FewLongKeys:
        ends = starts + lengths // 4 * 4
        words = [
            _mix_words(np.frombuffer(data[start:end].tobytes(), "<u4").astype(np.uint32)).tolist()
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        ]
        left = lengths & 3
        factors = np.where(left > 0, _M, np.uint32(1))
        return cls(words, _tails(data, ends, left).tolist(), factors.tolist(), lengths.tolist())

    def positions(self, num_hashes: int, num_bits: int | _Words) -> Iterator[_Numbers]:
        """Yield for each hash the bit position of each key, as :meth:`_Keys.positions`."""
        seeds = [0] * len(self.words)
        for _ in range(num_hashes):
            seeds = [self._hash(key, seed) for key, seed in enumerate(seeds)]
            yield np.array([abs(seed - (seed >> 31 << 32)) for seed in seeds], np.int64) % num_bits

    def _hash(self, key: int, seed: int) -> int:
        factor = int(_M)
        seed ^= self.lengths[key]
        for word in self.words[key]:
            seed = seed * factor & _MASK ^ word
        seed = (seed ^ self.tails[key]) * self.factors[key] & _MASK
        seed = (seed ^ seed >> 13) * factor & _MASK
        return seed ^ seed >> 15


def _mix_words(words: _Words) -> _Words:
    """Mix *words* in place for the hash, and return them."""
    words *= _M
    words ^= words >> np.uint32(24)
    words *= _M
    return words
