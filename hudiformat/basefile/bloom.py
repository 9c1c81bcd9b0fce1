"""The bloom filter of record keys in a base file's footer, of Hudi's types SIMPLE and, to read, DYNAMIC_V0.

Layout: spec/base-file.md.

Source: InternalBloomFilter, HashFunction, MurmurHash, BloomFilterUtils; footers without a type code are SIMPLE.
"""

from __future__ import annotations

import base64
import itertools
import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudiformat.errors import CorruptTableError

BLOOM_FILTER = "org.apache.hudi.bloomfilter"
BLOOM_FILTER_TYPE = "hoodie_bloom_filter_type_code"
"""Where a footer keeps the filter, and its type; without one it is SIMPLE."""

_HEADER = struct.Struct(">iiBi")  # version, number of hashes, hash type, bits
_DYNAMIC = struct.Struct(">iii")  # keys per filter, keys in the last one, filters
_VERSION = -1
_MURMUR = 1
_M = np.uint32(0x5BD1E995)
_MAX_HASHES = 1_000  # a rate of false positives of 1e-300 asks for so many
_CHUNK = 16_384  # keys hashed at once: the working arrays stay in cache
_Words = npt.NDArray[np.uint32]
_Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class BloomFilter:
    """A set of record keys that may answer yes to a key it does not hold; ``bits`` in Java's BitSet order."""

    num_hashes: int
    num_bits: int
    bits: bytes

    @classmethod
    def of(cls, keys: pa.Array, *, false_positive_rate: float = 1e-9) -> BloomFilter:
        """The filter of *keys* (strings, none null or empty), sized for as many as there are."""
        num_hashes, num_bits = _sizes(len(keys), false_positive_rate)
        flags = np.zeros(-(-num_bits // 8) * 8, dtype=np.uint8)
        ones = np.ones(_CHUNK, np.uint8)  # a number alone takes longer to assign
        for _, alike in _alike(keys):
            for positions in alike.positions(num_hashes, num_bits):
                flags[positions] = ones[: len(positions)]
        return cls(num_hashes, num_bits, np.packbits(flags, bitorder="little").tobytes())

    def might_contain(self, keys: pa.Array) -> npt.NDArray[np.bool_]:
        """For each key whether the filter may hold it; False is certain."""
        flags = np.unpackbits(np.frombuffer(self.bits, np.uint8), bitorder="little").view(np.bool_)
        found = np.ones(len(keys), np.bool_)
        for places, alike in _alike(keys):
            may_be = found[places]
            for positions in alike.positions(self.num_hashes, self.num_bits):
                may_be &= flags[positions]
                if not may_be.any():
                    break
            found[places] = may_be
        return found

    def fits(self, count: int, *, false_positive_rate: float = 1e-9) -> bool:
        """Whether it has the size of a filter of *count* keys: of the same keys it is then the same."""
        return (self.num_hashes, self.num_bits) == _sizes(count, false_positive_rate)

    def serialize(self) -> str:
        """The text that stands in the footer."""
        return base64.b64encode(_HEADER.pack(_VERSION, self.num_hashes, _MURMUR, self.num_bits) + self.bits).decode()

    @classmethod
    def parse(cls, text: str) -> BloomFilter:
        """The filter that *text*, out of a footer, holds.

        Raises:
            CorruptTableError: it is not a SIMPLE filter.
        """
        return _only_simple(_decoded(text))


def parse_filters(text: str, kind: str) -> tuple[BloomFilter, ...]:
    """The filters that *text*, of a type that the footer calls *kind*, holds; of DYNAMIC_V0 any of them may hold a key.

    Raises:
        CorruptTableError: it is no filter of that type, or the type is none that is known.

    Source: InternalDynamicBloomFilter.
    """
    if kind == "SIMPLE":
        return (BloomFilter.parse(text),)
    if kind != "DYNAMIC_V0":
        raise CorruptTableError(f"not a bloom filter: expected type SIMPLE or DYNAMIC_V0, found {kind!r}")
    data = _decoded(text)
    num_hashes, num_bits = _checked_header(data)
    size = _HEADER.size + -(-num_bits // 8)
    start = _HEADER.size + _DYNAMIC.size
    _, _, count = _DYNAMIC.unpack_from(data, _HEADER.size) if len(data) >= start else (0, 0, -1)
    if count < 0 or len(data) != start + count * size:
        raise CorruptTableError(
            f"not a bloom filter: {len(data)} bytes, of which {num_hashes} hashes and {num_bits} bits"
        )
    return tuple(_only_simple(data[start + i * size : start + (i + 1) * size]) for i in range(count))


def _sizes(count: int, false_positive_rate: float) -> tuple[int, int]:
    """The numbers of hashes and of bits of a filter of *count* keys.

    Source: BloomFilterUtils.getNumHashes, getBitSize.
    """
    entries = max(count, 1)
    num_bits = math.ceil(entries * (-math.log(false_positive_rate) / (math.log(2) * math.log(2))))
    return math.ceil(math.log(2) * num_bits / entries), num_bits


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise CorruptTableError(f"not a bloom filter: {error}") from error


def _checked_header(data: bytes) -> tuple[int, int]:
    """The numbers of hashes and of bits."""
    try:
        version, num_hashes, kind, num_bits = _HEADER.unpack_from(data)
    except struct.error as error:
        raise CorruptTableError(f"not a bloom filter: {error}") from error
    if (version, kind) != (_VERSION, _MURMUR) or not 0 < num_hashes <= _MAX_HASHES or num_bits <= 0:
        raise CorruptTableError(
            f"not a bloom filter of type SIMPLE: version {version}, {num_hashes} hashes of type {kind}, {num_bits} bits"
        )
    return num_hashes, num_bits


def _only_simple(data: bytes) -> BloomFilter:
    num_hashes, num_bits = _checked_header(data)
    bits = data[_HEADER.size :]
    if len(bits) != -(-num_bits // 8):
        raise CorruptTableError(f"not a bloom filter of type SIMPLE: {num_bits} bits in {len(bits)} bytes")
    return BloomFilter(num_hashes, num_bits, bits)


def _alike(keys: pa.Array) -> Iterator[tuple[_Numbers | slice, _Keys]]:
    """*keys* in pieces whose keys have one number of whole words each, and their places."""
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
    for first, last in itertools.pairwise(bounds.tolist()):
        for start in range(first, last, _CHUNK):
            piece = slice(start, min(start + _CHUNK, last))
            places = piece if order is None else order[piece]
            yield places, _Keys.of(data, starts[places], lengths[places])


@dataclass(frozen=True, slots=True)
class _Keys:
    """Keys as the hash takes them: their mixed 4-byte words, one array per place, and the up to three bytes left.

    Their lengths in whole words are the same.  Without bytes left, ``tails`` is 0, and ``factors`` 1.
    """

    words: list[_Words]
    tails: _Words
    factors: _Words
    lengths: _Words

    @classmethod
    def of(cls, data: npt.NDArray[np.uint8], starts: _Numbers, lengths: _Numbers) -> _Keys:
        every = np.ndarray(max(len(data) - 3, 0), "<u4", data, strides=(1,))
        words = [_mixed(every[starts + at].astype(np.uint32)) for at in range(0, int(lengths[0]) // 4 * 4, 4)]
        # Java's bytes are signed: a tail byte of 0x80 and above is XORed in with its sign bits.
        left, tails = lengths & 3, np.zeros(len(lengths), np.int32)
        for i in range(int(left.max())):  # counted from the end: the last byte is not shifted
            has = np.flatnonzero(left > i)
            tails[has] ^= data.view(np.int8)[(starts + lengths)[has] - 1 - i].astype(np.int32) << (8 * i)
        factors = np.where(left > 0, _M, np.uint32(1))
        return cls(words, tails.view(np.uint32), factors, lengths.astype(np.uint32))

    def positions(self, num_hashes: int, num_bits: int) -> Iterator[_Numbers]:
        """For each hash the bit of each key, in an array that the next ones overwrite."""
        bits, positions = np.uint32(num_bits), np.empty(len(self.lengths), np.int64)
        seed, size = np.zeros(len(self.lengths), np.uint32), np.empty(len(self.lengths), np.uint32)
        for _ in range(num_hashes):
            seed ^= self.lengths
            for word in self.words:
                seed *= _M
                seed ^= word
            seed ^= self.tails
            seed *= self.factors
            seed ^= np.right_shift(seed, np.uint32(13), out=size)
            seed *= _M
            seed ^= np.right_shift(seed, np.uint32(15), out=size)
            # Java: Math.abs(hash % bits), where % keeps the hash's sign.  numpy divides faster than it takes rests.
            np.abs(seed.view(np.int32), out=size.view(np.int32))
            yield np.subtract(size, size // bits * bits, out=positions)


def _mixed(words: _Words) -> _Words:
    """*words* as they go into the hash, in their own memory."""
    words *= _M
    words ^= words >> np.uint32(24)
    words *= _M
    return words
