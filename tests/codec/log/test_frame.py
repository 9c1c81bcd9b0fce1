from __future__ import annotations

import contextlib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat.codec.log.block import LogBlock, decode_block, encode_block
from hudiformat.codec.log.frame import (
    FORMAT_VERSION,
    MAGIC,
    MAX_HEADER_ENTRIES,
    BlockHeader,
    BlockType,
    HeaderKey,
    Quirks,
)
from hudiformat.errors import CorruptBlockError, DecodeError, EncodeError, TruncatedBlockError, UnsupportedVersionError
from hudiformat.wire import INT32_MAX
from tests.codec.log.vectors import AVRO, DELETE, ROLLBACK, entry, envelope

INSTANT = HeaderKey.INSTANT_TIME


def test_the_constants_are_those_of_the_format() -> None:
    assert (MAGIC, FORMAT_VERSION) == (b"#HUDI#", 1)
    assert [kind.value for kind in BlockType] == list(range(7))
    assert [key.value for key in HeaderKey] == list(range(9))


def test_a_block_in_the_middle_is_read_from_its_start_and_counts_from_the_base() -> None:
    block, end = decode_block(b"before" + ROLLBACK + DELETE, 6, base=1000)
    assert (block.offset, block.size, end) == (1006, len(ROLLBACK), 6 + len(ROLLBACK))


def test_a_block_cut_anywhere_is_truncated() -> None:
    for vector in (ROLLBACK, DELETE, AVRO):
        for cut in range(len(vector)):
            with pytest.raises(TruncatedBlockError) as caught:
                decode_block(vector[:cut], base=500)
            assert caught.value.offset == (500 if cut < 6 else 506 if cut < 14 else 514)


def test_another_magic_is_named() -> None:
    with pytest.raises(CorruptBlockError, match=re.escape("at byte 7: expected the magic b'#HUDI#', found b'#HTDI#'")):
        decode_block(b"#HTDI#" + ROLLBACK[6:], base=7)


@pytest.mark.parametrize("size", [-1, -(2**31), 0, 3, 7, 11, 19, 23, 31])
def test_a_size_too_small_for_a_block(size: int) -> None:
    with pytest.raises(CorruptBlockError, match=f"at byte 6: block size {size}: expected at least 32 bytes"):
        decode_block(envelope(size=size))


def test_a_size_past_the_end() -> None:
    data = envelope(size=100, content_length=68)
    with pytest.raises(TruncatedBlockError, match=r"at byte 14: block: 100 bytes expected, 32 left") as caught:
        decode_block(data)
    assert caught.value.needed == 14 + 100


@pytest.mark.parametrize("size", [33, 2**31 - 1, 2**63 - 1 - 2**31])
def test_a_size_that_the_content_does_not_fill(size: int) -> None:
    with pytest.raises(CorruptBlockError, match="at byte 26: content length 0 in a block with room for"):
        decode_block(envelope(size=size, pointer=0))


def test_a_huge_size_costs_an_error_and_no_memory() -> None:
    huge = 2**31 - 1
    with pytest.raises(TruncatedBlockError, match=f"block: {huge} bytes expected, 35 left"):
        decode_block(envelope(size=huge, content_length=huge - 32, content=b"abc", pointer=0))


def test_what_is_needed_grows_with_what_is_there() -> None:
    needed = []
    for end in range(len(ROLLBACK)):
        with pytest.raises(TruncatedBlockError) as caught:
            decode_block(b".." + ROLLBACK[:end], 2)
        needed.append(caught.value.needed)
    assert sorted(set(needed)) == [6, 14, 18, 22, 26, 30, 34, 37, 41, 45, 48, 52, 56, 57, 65, 77]
    assert all(end < count for end, count in enumerate(needed))


@pytest.mark.parametrize("version", [0, 2, -1, INT32_MAX])
def test_another_log_format_version_is_refused_by_name(version: int) -> None:
    with pytest.raises(UnsupportedVersionError, match=f"at byte 0: log format version {version}; only version 1"):
        decode_block(envelope(version=version))


@pytest.mark.parametrize("kind", [-1, 2, 7, INT32_MAX])
def test_an_unknown_type_is_named(kind: int) -> None:
    with pytest.raises(CorruptBlockError, match=f"at byte 18: unknown block type {kind}; known are 0, 1, 3, 4, 5, 6"):
        decode_block(envelope(kind=kind))


@pytest.mark.parametrize("key", [-1, 9, INT32_MAX])
def test_an_unknown_header_key_is_named(key: int) -> None:
    with pytest.raises(CorruptBlockError, match=f"at byte 26: unknown header key {key}; known are 0, 1, 2"):
        decode_block(envelope(header=b"\0\0\0\1" + entry(key, b"x")))


@pytest.mark.parametrize("count", [MAX_HEADER_ENTRIES + 1, INT32_MAX])
def test_a_header_count_beyond_what_is_read(count: int) -> None:
    with pytest.raises(CorruptBlockError, match=f"at byte 26: header count {count}; at most 64 are read"):
        decode_block(envelope(header=count.to_bytes(4, "big") + entry(0, b"12345")))


def test_the_most_header_entries_that_are_read() -> None:
    entries = b"".join(entry(number % 9, b"%d" % number) for number in range(MAX_HEADER_ENTRIES))
    encoded = envelope(header=MAX_HEADER_ENTRIES.to_bytes(4, "big") + entries)
    block, _ = decode_block(encoded)
    assert block.instant == "63"
    assert encode_block(block) == encoded


def test_a_header_count_that_takes_the_content_for_an_entry() -> None:
    with pytest.raises(CorruptBlockError, match="at byte 85: content length 0 in a block with room for -8"):
        decode_block(envelope(header=b"\0\0\0\2" + entry(0, b"001"), content=b"\xff" * 40))


def test_a_header_count_larger_than_the_block() -> None:
    with pytest.raises(CorruptBlockError, match="header value length: 4 bytes expected, 0 left in the block"):
        decode_block(envelope(header=b"\0\0\0\5" + entry(0, b"12345"), pointer=0))


@pytest.mark.parametrize(
    ("length", "message"),
    [(-1, "header value: negative length -1"), (99, "99 bytes expected"), (2**31 - 1, "bytes exp")],
)
def test_a_header_value_whose_length_lies(length: int, message: str) -> None:
    with pytest.raises(CorruptBlockError, match=message):
        decode_block(envelope(header=b"\0\0\0\1" + entry(0, b"001", length=length)))


@pytest.mark.parametrize("length", [*range(4), 5, 16, 17, 2**31 - 1, -1, -12, -(2**31), 2**40 + 5])
def test_a_content_length_that_does_not_fill_the_block(length: int) -> None:
    shown = re.escape("1099511627781 (5 in 32 bits)") if length > 2**32 else str(length)
    with pytest.raises(CorruptBlockError, match=f"at byte 26: content length {shown} in a block with room for 4"):
        decode_block(envelope(content=b"abcd", content_length=length))


def test_a_negative_content_length_that_fills_a_block_that_is_too_small() -> None:
    with pytest.raises(CorruptBlockError, match="content length -11 in a block with room for -11"):
        decode_block(envelope(header=b"\0\0\0\1" + entry(0, b"001"), size=32, content_length=-11))


@pytest.mark.parametrize("footer", [b"\0\0\0\1" + entry(0, b"x"), b"\0\0\0\1"])
def test_footer_entries_are_corrupt_for_there_is_no_footer_key(footer: bytes) -> None:
    with pytest.raises(CorruptBlockError, match="footer count 1: expected 0, because the format has no") as caught:
        decode_block(envelope(content=b"ab", footer=b"\0\0\0\1"))
    assert caught.value.offset == 36
    with pytest.raises(CorruptBlockError):
        decode_block(envelope(footer=footer))


@pytest.mark.parametrize("pointer", [0, -1, 37, 39, 32, 2**32 + 38])
def test_a_reverse_pointer_that_does_not_fit_the_size(pointer: int) -> None:
    with pytest.raises(CorruptBlockError, match=f"at byte 38: block size 32, but reverse pointer {pointer}"):
        decode_block(envelope(pointer=pointer))


def test_an_error_counts_bytes_from_the_base() -> None:
    with pytest.raises(CorruptBlockError) as caught:
        decode_block(b"......" + envelope(content_length=99), 6, base=1000)
    assert caught.value.offset == 1006 + 26
    assert str(caught.value).count("at byte") == 1


@pytest.mark.parametrize("wraps", [1, -1, 2**31 - 1, -(2**31)])
def test_a_size_off_by_a_multiple_of_4_gib_is_read_as_java_reads_it(wraps: int) -> None:
    encoded = envelope(content=b"abc", size=35 + (wraps << 32), pointer=41)
    block, end = decode_block(encoded)
    assert (block.size, end, bytes(block.content), block.quirks) == (49, 49, b"abc", Quirks(size_wraps=wraps))
    assert encode_block(block) == encoded


@pytest.mark.parametrize("wraps", [1, -1, 2**31 - 1, -(2**31)])
def test_a_content_length_off_by_a_multiple_of_4_gib_is_read_as_java_reads_it(wraps: int) -> None:
    encoded = envelope(content=b"abc", content_length=3 + (wraps << 32))
    block, _ = decode_block(encoded)
    assert (bytes(block.content), block.quirks) == (b"abc", Quirks(content_length_wraps=wraps))
    assert encode_block(block) == encoded


@pytest.mark.parametrize("count", [-1, -(2**31)])
def test_negative_counts_are_read_as_no_entries_as_in_java(count: int) -> None:
    field = count.to_bytes(4, "big", signed=True)
    encoded = envelope(content=b"abc", header=field, footer=field)
    block, _ = decode_block(encoded)
    assert (len(block.header), block.quirks) == (0, Quirks(header_count=count, footer_count=count))
    assert encode_block(block) == encoded


def test_a_block_that_a_writer_made_has_no_quirks() -> None:
    assert [decode_block(vector)[0].quirks for vector in (ROLLBACK, DELETE, AVRO)] == [None] * 3


def test_a_block_of_2_gib_is_corrupt_as_in_java() -> None:
    with pytest.raises(CorruptBlockError, match=re.escape("block size 2147483648 (-2147483648 in 32 bits): expected")):
        decode_block(envelope(size=2**31, content_length=2**31 - 32))


@settings(deadline=None)
@given(junk=st.binary(max_size=200), start=st.integers(0, 20))
def test_junk_raises_only_our_errors(junk: bytes, start: int) -> None:
    for candidate in (junk, MAGIC + junk, envelope(header=junk), envelope(content=b"", footer=junk)):
        with contextlib.suppress(DecodeError):
            _, end = decode_block(candidate, start)
            assert start < end <= len(candidate)


def test_entries_that_are_read_keep_their_order() -> None:
    order = [(3, b"0"), (0, b"002"), (1, b"001")]
    encoded = envelope(header=b"\0\0\0\3" + b"".join(entry(*pair) for pair in order))
    block, _ = decode_block(encoded)
    assert list(block.header.entries) == order
    assert block == decode_block(ROLLBACK)[0]  # equal, and yet other bytes
    assert encode_block(block) == encoded


def test_entries_that_are_made_here_stand_in_ascending_order() -> None:
    header = BlockHeader({HeaderKey.SCHEMA: "s", HeaderKey.IS_PARTIAL: "true", INSTANT: "001"})
    assert [key for key, _ in header.entries] == [0, 2, 7]


def test_a_key_that_comes_twice_is_kept_twice_and_the_later_counts() -> None:
    encoded = envelope(header=b"\0\0\0\2" + entry(0, b"001") + entry(0, b"002"))
    block, _ = decode_block(encoded)
    assert block.instant == "002"
    assert len(block.header) == 1
    assert encode_block(block) == encoded


def test_a_value_that_is_no_utf8_is_kept_byte_for_byte_and_read_with_a_mark() -> None:
    encoded = envelope(header=b"\0\0\0\1" + entry(0, b"\xff1"))
    block, _ = decode_block(encoded)
    assert block.instant == "\ufffd1"
    assert encode_block(block) == encoded


def test_values_beyond_ascii_are_utf8_and_their_length_counts_bytes() -> None:
    header = BlockHeader({INSTANT: "ü€"})
    assert header.entries == ((INSTANT, b"\xc3\xbc\xe2\x82\xac"),)
    assert entry(0, b"\xc3\xbc\xe2\x82\xac") in encode_block(LogBlock(BlockType.COMMAND, header, b""))


def test_a_text_without_utf8_is_refused() -> None:
    with pytest.raises(EncodeError, match="header INSTANT_TIME: .*surrogates"):
        BlockHeader({INSTANT: "\ud800"})


def test_a_header_is_a_mapping() -> None:
    header = BlockHeader({INSTANT: "001", HeaderKey.IS_PARTIAL: "true"})
    assert dict(header) == {INSTANT: "001", HeaderKey.IS_PARTIAL: "true"}
    assert header == dict(header)
    assert header != "header"
    assert BlockHeader(header).entries == header.entries
    assert repr(BlockHeader({INSTANT: "1"})) == "BlockHeader({<HeaderKey.INSTANT_TIME: 0>: '1'})"
    with pytest.raises(KeyError):
        header[HeaderKey.SCHEMA]


def test_equal_headers_have_equal_hashes_whatever_their_order() -> None:
    first = BlockHeader([(INSTANT, b"1"), (HeaderKey.SCHEMA, b"2")])
    second = BlockHeader([(HeaderKey.SCHEMA, b"2"), (INSTANT, b"1")])
    assert first == second
    assert len({first, second, BlockHeader()}) == 2
