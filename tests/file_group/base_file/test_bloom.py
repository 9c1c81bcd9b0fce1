"""The bloom filter of record keys, against the filters that Hudi wrote, a reference and a hand-made vector."""

from __future__ import annotations

import base64
import struct

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat.errors import CorruptTableError
from hudiformat.file_group.base_file.bloom import BloomFilter, _size, parse_filters
from tests.effort import sample
from tests.tables import NAMES, base_files

pytestmark = pytest.mark.unmeasured

FOOTER = b"org.apache.hudi.bloomfilter"
TYPE_CODE = b"hoodie_bloom_filter_type_code"  # written for other types than SIMPLE
HAND_MADE = bytes.fromhex(
    "FF FF FF FF"  # version -1
    "00 00 00 02"  # number of hashes
    "01"  # hash type: murmur
    "00 00 00 0A"  # bits
    "05 02"  # bits 0, 2 and 9
)


def murmur(key: bytes, seed: int) -> int:
    """Hudi's MurmurHash of one key, as a signed number; a port of the loop, byte by byte."""
    mask, m = 0xFFFFFFFF, 0x5BD1E995
    h = seed ^ len(key)
    for start in range(0, len(key) // 4 * 4, 4):
        k = int.from_bytes(key[start : start + 4], "little") * m & mask
        k = (k ^ k >> 24) * m & mask
        h = h * m & mask ^ k
    tail = key[len(key) // 4 * 4 :]
    if tail:
        for i in range(len(tail)):  # from the end, and signed
            byte = tail[len(tail) - 1 - i]
            h ^= (byte - 256 if byte > 127 else byte) << (8 * i) & mask
        h = h * m & mask
    h = (h ^ h >> 13) * m & mask
    h ^= h >> 15
    return h - 2**32 if h >= 2**31 else h


def reference(keys: list[str], num_hashes: int, num_bits: int) -> bytes:
    flags = [False] * (-(-num_bits // 8) * 8)
    for key in keys:
        seed = 0
        for _ in range(num_hashes):
            signed = murmur(key.encode(), seed)
            flags[abs(signed) % num_bits] = True
            seed = signed & 0xFFFFFFFF
    return np.packbits(flags, bitorder="little").tobytes()


WITHOUT_FILTERS = {  # no meta fields, or no base files
    "v6-cow-no-metafields-h0150",
    "v6-mor-log-only-h0150",
    "v9-mor-completion-order-h120",
    "v9-mor-log-only-h120",
}


@pytest.mark.parametrize("name", sample(NAMES, of=17))
def test_filters_equal_hudis_byte_for_byte(name: str) -> None:
    found = 0
    for path, file in base_files(name).items():
        footer = file.metadata.metadata or {}
        if FOOTER not in footer or TYPE_CODE in footer:
            continue
        text = footer[FOOTER].decode()
        theirs = BloomFilter.parse(text)
        keys = file.read(["_hoodie_record_key"])[0].combine_chunks()
        assert theirs.serialize() == text
        assert theirs.might_contain(keys).all()
        assert reference(keys.to_pylist(), theirs.num_hashes, theirs.num_bits) == theirs.bits, path
        absent = pa.array([f"not-there-{i}" for i in range(100)])
        assert not theirs.might_contain(absent).any()
        found += 1
    assert (found == 0) == (name in WITHOUT_FILTERS)


def test_a_filter_spelled_out() -> None:
    bloom = BloomFilter(num_hashes=2, num_bits=10, bits=b"\x05\x02")
    text = base64.b64encode(HAND_MADE).decode()
    assert bloom.serialize() == text == "/////wAAAAIBAAAACgUC"
    assert BloomFilter.parse(text) == bloom


@pytest.mark.parametrize(
    ("key", "hash_value"),
    [("", 0), ("a", 0x92685F5E - 2**32), ("abcd", 0x26873021), ("é", 0xE91C0273 - 2**32)],
)
def test_the_bit_of_a_key_is_its_murmur_hash(key: str, hash_value: int) -> None:
    assert murmur(key.encode(), 0) == hash_value
    bits = 1000
    position = abs(hash_value) % bits
    only = np.zeros(bits, np.bool_)
    only[position] = True
    for flags, found in ((only, True), (~only, False)):
        bloom = BloomFilter(1, bits, np.packbits(flags, bitorder="little").tobytes())
        assert bloom.might_contain(pa.array([key])).tolist() == [found]


def test_the_size_follows_from_the_number_of_keys() -> None:
    bloom = BloomFilter.of(pa.array([f"k{i}" for i in range(1000)]))
    assert (bloom.num_bits, bloom.num_hashes, len(bloom.bits)) == (50002, 16, 6251)
    loose = BloomFilter.of(pa.array(["k"]), false_positive_rate=0.5)
    assert (loose.num_bits, loose.num_hashes) == (2, 1)


@pytest.mark.parametrize(
    ("count", "num_hashes"), [(120_000, 16), (200_000, 16), (300_000, 14), (1_000_000, 4), (9_000_000, 1)]
)
def test_a_filter_of_very_many_keys_gets_no_larger(count: int, num_hashes: int) -> None:
    assert _size(count, 1e-9) == (num_hashes, 6_000_233)


def test_many_keys_share_the_bits_of_the_largest_filter() -> None:
    keys = pa.array(np.arange(400_000)).cast(pa.string())
    bloom = BloomFilter.of(keys)
    assert len(bloom.serialize()) < 1_000_100
    assert bloom.might_contain(keys.slice(0, 20_000)).all()
    others = bloom.might_contain(pc.binary_join_element_wise(keys.slice(0, 20_000), pa.scalar("x"), ""))
    assert others.sum() < 40  # 1 of 1,400 is expected
    assert [count for count in (300_000, 500_000, 2_000_000) if bloom.fits(count)] == [300_000, 500_000]


def test_no_key_at_all() -> None:
    bloom = BloomFilter.of(pa.array([], pa.string()))
    assert not any(bloom.bits)
    assert bloom.might_contain(pa.array([], pa.string())).tolist() == []
    assert bloom.might_contain(pa.array(["a"])).tolist() == [False]


def test_more_keys_than_are_hashed_at_once() -> None:
    keys = pa.array([f"key-{i}" for i in range(40_000)])
    bloom = BloomFilter.of(keys)
    assert bloom.might_contain(keys).all()
    assert bloom.bits == BloomFilter.of(keys.take(pa.array(range(39_999, -1, -1)))).bits


@settings(deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=20), st.integers(0, 3))
def test_filters_are_those_of_the_loop_and_hold_every_key(keys: list[str], skipped: int) -> None:
    array = pa.array(["skipped"] * skipped + keys, pa.string()).slice(skipped)
    bloom = BloomFilter.of(array)
    assert bloom.bits == reference(keys, bloom.num_hashes, bloom.num_bits)
    assert bloom.might_contain(array).all()
    assert BloomFilter.parse(bloom.serialize()) == bloom


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 16, 17])
@pytest.mark.parametrize("length", sample([511, 512, 513, 515, 2_000], of=2))
def test_long_keys_have_the_bits_of_the_loop_however_many_they_are(count: int, length: int) -> None:
    keys = [f"{number:02d}{'ä' * length}"[:length] for number in range(count)]
    bloom = BloomFilter.of(pa.array(keys))
    assert bloom.bits == reference(keys, bloom.num_hashes, bloom.num_bits)
    assert bloom.might_contain(pa.array([*keys, "x" * length])).tolist() == [True] * count + [False]


def test_keys_of_several_lengths_are_answered_in_their_order() -> None:
    there = ["a", "longer than the others", "ab", "abcd", "", "abcdefgh"]
    bloom = BloomFilter.of(pa.array(there))
    asked = ["", "not there", "abcd", "x", "ab", "nor is this one there", "a", "abcdefgh", "abcdefgi"]
    assert bloom.might_contain(pa.array(asked)).tolist() == [key in there for key in asked]


def test_a_filter_fits_about_the_number_of_keys_that_it_was_made_for() -> None:
    bloom = BloomFilter.of(pa.array([f"k{i}" for i in range(1000)]))
    assert [count for count in (790, 801, 1000, 1187, 1188) if bloom.fits(count)] == [801, 1000, 1187]
    assert not bloom.fits(1000, false_positive_rate=1e-7)
    hudis = BloomFilter(30, 43133, bytes(5392))  # the smallest filter of 1,000 keys
    assert [count for count in (700, 1000, 1100, 1200) if hudis.fits(count)] == [700, 1000, 1100]
    assert BloomFilter.of(pa.array([], pa.string())).fits(0)


def damaged(at: int, new: bytes) -> str:
    return base64.b64encode(HAND_MADE[:at] + new + HAND_MADE[at + len(new) :]).decode()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("no base64!", id="not base64"),
        pytest.param("\u00e9", id="not ASCII"),
        pytest.param(base64.b64encode(HAND_MADE[:12]).decode(), id="cut in the header"),
        pytest.param(base64.b64encode(HAND_MADE[:-1]).decode(), id="cut in the bits"),
        pytest.param(base64.b64encode(HAND_MADE + b"\0").decode(), id="too long"),
        pytest.param(damaged(3, b"\xfe"), id="another version"),
        pytest.param(damaged(8, b"\x02"), id="another hash"),
        pytest.param(damaged(9, b"\xff"), id="a negative number of bits"),
        pytest.param(damaged(4, b"\xff"), id="a negative number of hashes"),
        pytest.param(damaged(4, b"\x7f"), id="hashes without end"),
        pytest.param(base64.b64encode(HAND_MADE[:9] + bytes(4)).decode(), id="no bits"),
    ],
)
def test_text_that_is_no_filter_is_refused(text: str) -> None:
    with pytest.raises(CorruptTableError, match="not a bloom filter"):
        BloomFilter.parse(text)
    with pytest.raises(CorruptTableError, match="not a bloom filter"):
        parse_filters(text, "DYNAMIC_V0")


def test_the_filters_of_hudis_base_files_hold_their_keys() -> None:
    files = base_files("v9-mor-avro-h120")
    assert files
    for path, file in files.items():
        metadata = file.metadata.metadata or {}
        [bloom] = parse_filters(
            metadata[FOOTER].decode(), metadata.get(b"hoodie_bloom_filter_type_code", b"SIMPLE").decode()
        )
        keys = file.read(columns=["_hoodie_record_key"])["_hoodie_record_key"].combine_chunks()
        assert bloom.might_contain(keys).all(), path
        assert not bloom.might_contain(pa.array([f"other-{i}" for i in range(200)])).any()


def test_a_dynamic_filter_that_has_grown_has_several() -> None:
    one, other = (BloomFilter.of(pa.array([f"{side}{i}" for i in range(9)])) for side in "ab")
    parts = [base64.b64decode(bloom.serialize()) for bloom in (one, other)]
    data = parts[0][:13] + struct.pack(">iii", 9, 9, 2) + b"".join(parts)
    assert parse_filters(base64.b64encode(data).decode(), "DYNAMIC_V0") == (one, other)
    assert parse_filters(one.serialize(), "SIMPLE") == (one,)
    with pytest.raises(CorruptTableError, match="not a bloom filter"):
        parse_filters(base64.b64encode(data[:-1]).decode(), "DYNAMIC_V0")
    with pytest.raises(CorruptTableError, match="expected type SIMPLE or DYNAMIC_V0, found 'NEW'"):
        parse_filters(one.serialize(), "NEW")


def dynamic(*filters: BloomFilter) -> str:
    """Source: InternalDynamicBloomFilter.write."""
    parts = [base64.b64decode(bloom.serialize()) for bloom in filters]
    return base64.b64encode(parts[0][:13] + struct.pack(">iii", 3, 0, len(parts)) + b"".join(parts)).decode()


def test_many_keys_are_looked_up_in_chunks() -> None:
    keys = pa.array([str(number) for number in range(40_000)])
    assert BloomFilter.of(keys.slice(0, 30_000)).might_contain(keys).sum() == pytest.approx(30_000, abs=1)
    assert np.array_equal(
        BloomFilter.of(pa.array(["b", "d", "f"])).might_contain(pa.array([], pa.string())), np.empty(0, np.bool_)
    )


@pytest.mark.parametrize("cut", [5, 20, 30])
def test_a_dynamic_filter_that_breaks_off_is_damage(cut: int) -> None:
    data = base64.b64decode(dynamic(BloomFilter.of(pa.array(["b", "d", "f"]))))
    with pytest.raises(CorruptTableError, match="not a bloom filter"):
        parse_filters(base64.b64encode(data[:cut]).decode(), "DYNAMIC_V0")


def test_a_simple_filter_ends_with_its_bits() -> None:
    data = base64.b64decode(BloomFilter.of(pa.array(["b", "d", "f"])).serialize())
    with pytest.raises(CorruptTableError, match="bits in"):
        BloomFilter.parse(base64.b64encode(data + b"x").decode())


def test_further_keys_are_in_the_filter_with_the_others() -> None:
    keys = pa.array([f"k{i}" for i in range(1000)])
    bloom = BloomFilter.of(keys).with_keys(pa.array(["new", "x" * 600]))
    assert bloom.might_contain(pa.concat_arrays([keys, pa.array(["new", "x" * 600])])).all()
    assert not bloom.might_contain(pa.array([f"other{i}" for i in range(1000)])).any()
    assert BloomFilter.of(keys).with_keys(keys) == BloomFilter.of(keys)


@pytest.mark.parametrize("counts", [[3], [1, 0, 2, 10], [50, 1, 1], [0]])
def test_filters_that_are_made_together_are_those_of_each_alone(counts: list[int]) -> None:
    texts = [
        f"{'k' * (number % 7)}{number}" if number % 5 else "é" * 300 + str(number) for number in range(sum(counts))
    ]
    keys, start = pa.array(texts, pa.string()), 0
    for count, found in zip(counts, BloomFilter.of_each(keys, counts), strict=True):
        assert found == BloomFilter.of(keys.slice(start, count))
        start += count
