"""Varints, vlongs, the trailer's fields, and the order of a hash map."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.errors import CorruptBlockError, TruncatedBlockError
from hudiformat.hfile import Compression, HFileTrailer
from hudiformat.hfile.names import hash_order
from hudiformat.hfile.protobuf import decode_fields, decode_varint, encode_field, encode_varint
from hudiformat.hfile.trailer import decode_trailer, encode_trailer
from hudiformat.hfile.vlong import decode_vlong, encode_vlong
from hudiformat.wire import Cursor

LONGS = st.integers(-(2**63), 2**63 - 1)


def cursor(data: bytes) -> Cursor:
    return Cursor(memoryview(data), base=50)


@pytest.mark.parametrize(
    ("value", "encoded"),
    [(0, "00"), (1, "01"), (127, "7f"), (128, "8001"), (300, "ac02"), (-1, "ff" * 9 + "01")],
)
def test_a_varint_is_read_and_written(value: int, encoded: str) -> None:
    assert encode_varint(value).hex() == encoded
    assert decode_varint(cursor(bytes.fromhex(encoded))) == value % 2**64


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, "00"),
        (127, "7f"),
        (-112, "90"),
        (128, "8f80"),
        (255, "8fff"),
        (256, "8e0100"),
        (-113, "8770"),
        (-256, "87ff"),
        (2**63 - 1, "887fffffffffffffff"),
        (-(2**63), "807fffffffffffffff"),
    ],
)
def test_a_vlong_is_read_and_written(value: int, encoded: str) -> None:
    assert encode_vlong(value).hex() == encoded
    assert decode_vlong(cursor(bytes.fromhex(encoded))) == value


@given(value=LONGS)
def test_numbers_come_back(value: int) -> None:
    assert decode_varint(cursor(encode_varint(value))) == value % 2**64
    assert decode_vlong(cursor(encode_vlong(value))) == value


@pytest.mark.parametrize("size", range(8))
def test_a_number_that_breaks_off_is_truncated(size: int) -> None:
    with pytest.raises(TruncatedBlockError, match=f"at byte {50 + size}: varint: 1 bytes expected, 0 left"):
        decode_varint(cursor(b"\xff" * size))
    with pytest.raises(TruncatedBlockError, match=f"at byte 51: vlong: 8 bytes expected, {size} left"):
        decode_vlong(cursor(b"\x80" + b"\1" * size))


def test_a_varint_without_end() -> None:
    with pytest.raises(CorruptBlockError, match="at byte 50: a varint of more than ten bytes"):
        decode_varint(cursor(b"\xff" * 11))


def test_fields_of_fixed_width_are_read_over() -> None:
    message = encode_field(1, 5) + b"\x11" + bytes(8) + b"\x1d" + bytes(4) + encode_field(4, b"text")
    assert list(decode_fields(cursor(message))) == [(1, 5), (4, b"text")]


@pytest.mark.parametrize("kind", [3, 4, 6, 7])
def test_an_unknown_wire_type(kind: int) -> None:
    with pytest.raises(CorruptBlockError, match=f"at byte 50: field 2 of the wire type {kind}"):
        list(decode_fields(cursor(bytes([2 << 3 | kind]))))


# The trailer


@given(
    trailer=st.builds(
        HFileTrailer,
        **dict.fromkeys(
            ("data_index_count", "meta_index_count", "data_index_levels"), st.integers(-(2**31), 2**31 - 1)
        ),
        **dict.fromkeys(("file_info_offset", "load_on_open_offset", "entry_count", "total_uncompressed_bytes"), LONGS),
        comparator=st.text(st.characters(exclude_categories=["Cs"]), max_size=50),
        compression=st.sampled_from([Compression.NONE, Compression.GZIP]),
        minor_version=st.integers(0, 255),
    )
)
def test_a_trailer_comes_back(trailer: HFileTrailer) -> None:
    encoded = encode_trailer(trailer)
    assert len(encoded) == 4096
    assert decode_trailer(memoryview(encoded), base=0) == trailer


def message(fields: bytes) -> memoryview:
    head = b'TRABLK"$' + encode_varint(len(fields)) + fields
    return memoryview(head.ljust(4092, b"\0") + b"\0\0\0\3")


def test_fields_that_are_missing_or_unknown_or_of_another_type_are_read_over() -> None:
    assert decode_trailer(message(b""), base=0) == HFileTrailer()
    strange = encode_field(1, b"text") + encode_field(11, 5) + encode_field(12, b"text") + encode_field(99, 1)
    assert decode_trailer(message(strange), base=0) == HFileTrailer()


def test_an_unknown_compression() -> None:
    with pytest.raises(CorruptBlockError, match="unknown compression 7; known are 0 to 6"):
        decode_trailer(message(encode_field(12, 7)), base=0)


def test_a_message_longer_than_the_trailer() -> None:
    data = b'TRABLK"$' + encode_varint(5000)
    with pytest.raises(TruncatedBlockError, match="trailer: 5000 bytes expected"):
        decode_trailer(memoryview(data.ljust(4092, b"\0") + b"\0\0\0\3"), base=0)


# The order of a hash map


def test_names_are_in_the_order_of_javas_hash_map() -> None:  # as Java 17 gave it
    names = ["a", "b", "Aa", "BB", "schéma", "\U0001f600", "", "minRecordKey"]
    assert hash_order(names) == ["Aa", "BB", "", "a", "b", "minRecordKey", "schéma", "\U0001f600"]
