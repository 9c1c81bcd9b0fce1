"""The bloom filter of record keys in a base file's footer, of Hudi's types SIMPLE and, to read, DYNAMIC_V0.

Layout: spec/base-file.md.

Source: InternalBloomFilter, HashFunction, MurmurHash, BloomFilterUtils; footers without a type code are SIMPLE.
"""

from __future__ import annotations

import base64
import math
import struct
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


@dataclass(frozen=True, slots=True)
class BloomFilter:
    """A set of record keys that may answer yes to a key it does not hold; ``bits`` in Java's BitSet order."""

    num_hashes: int
    num_bits: int
    bits: bytes

    @classmethod
    def of(cls, keys: pa.Array, *, false_positive_rate: float = 1e-9) -> BloomFilter:
        """The filter of *keys* (strings, none null or empty), sized for as many as there are."""
        entries = max(len(keys), 1)
        # As BloomFilterUtils.getBitSize and getNumHashes.
        num_bits = math.ceil(entries * (-math.log(false_positive_rate) / (math.log(2) * math.log(2))))
        num_hashes = math.ceil(math.log(2) * num_bits / entries)
        flags = np.zeros(-(-num_bits // 8) * 8, dtype=np.bool_)
        for start in range(0, len(keys), _CHUNK):
            flags[_Keys.of(keys.slice(start, _CHUNK)).positions(num_hashes, num_bits).ravel()] = True
        return cls(num_hashes, num_bits, np.packbits(flags, bitorder="little").tobytes())

    def might_contain(self, keys: pa.Array) -> npt.NDArray[np.bool_]:
        """For each key whether the filter may hold it; False is certain."""
        flags = np.unpackbits(np.frombuffer(self.bits, np.uint8), bitorder="little").view(np.bool_)
        found = [
            flags[_Keys.of(keys.slice(start, _CHUNK)).positions(self.num_hashes, self.num_bits)].all(axis=0)
            for start in range(0, len(keys), _CHUNK)
        ]
        return np.concatenate([np.empty(0, np.bool_), *found])

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


@dataclass(frozen=True, slots=True)
class _Keys:
    """Keys as the hash takes them: their mixed 4-byte words, one array per place, and the up to three bytes left."""

    words: list[_Words]
    tails: _Words
    lengths: _Words

    @classmethod
    def of(cls, keys: pa.Array) -> _Keys:
        array = keys.cast(pa.large_binary())
        offsets = np.frombuffer(array.buffers()[1], np.int64)[array.offset : array.offset + len(array) + 1]
        data = np.frombuffer(array.buffers()[2] or b"", np.uint8)
        lengths = np.diff(offsets)
        padded = np.zeros((len(lengths), int(lengths.max(initial=0)) // 4 * 4 + 4), dtype=np.uint8)
        padded[np.arange(padded.shape[1]) < lengths[:, None]] = data[offsets[0] : offsets[-1]]
        # Java's bytes are signed: a tail byte of 0x80 and above is XORed in with its sign bits.
        signed = padded.view(np.int8)
        tails = np.zeros(len(lengths), dtype=np.int32)
        for i in range(3):  # counted from the end: the last byte is not shifted
            byte = signed[np.arange(len(lengths)), np.maximum(lengths - 1 - i, 0)].astype(np.int32) << (8 * i)
            tails ^= np.where(lengths % 4 > i, byte, 0)
        mixed = np.ascontiguousarray(padded.view("<u4").astype(np.uint32)[:, :-1].T)
        mixed *= _M
        mixed ^= mixed >> np.uint32(24)
        mixed *= _M
        return cls(list(mixed), tails.view(np.uint32), lengths.astype(np.uint32))

    def positions(self, num_hashes: int, num_bits: int) -> npt.NDArray[np.int64]:
        """The bits of each key: one row per hash, one column per key."""
        positions = np.empty((num_hashes, len(self.lengths)), dtype=np.int64)
        count, has_tail = self.lengths >> np.uint32(2), (self.lengths & np.uint32(3)) != 0
        shortest, bits = int(count.min(initial=0)), np.uint32(num_bits)
        seed = np.zeros(len(self.lengths), dtype=np.uint32)
        for row in positions:
            seed ^= self.lengths
            for i, word in enumerate(self.words):
                if i < shortest:
                    seed *= _M
                    seed ^= word
                else:
                    np.copyto(seed, (seed * _M) ^ word, where=i < count)
            np.copyto(seed, (seed ^ self.tails) * _M, where=has_tail)
            seed ^= seed >> np.uint32(13)
            seed *= _M
            seed ^= seed >> np.uint32(15)
            # Java: Math.abs(hash % bits), where % keeps the hash's sign.  numpy divides faster than it takes rests.
            size = np.abs(seed.view(np.int32)).view(np.uint32)
            np.subtract(size, size // bits * bits, out=row)
        return positions
