from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.codec.hfile.vlong import decode_vlong, encode_vlong
from hudiformat.codec.protobuf import decode_fields, decode_varint, encode_field, encode_varint
from hudiformat.errors import CorruptBlockError, TruncatedBlockError
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


def message(fields: bytes) -> memoryview:
    head = b'TRABLK"$' + encode_varint(len(fields)) + fields
    return memoryview(head.ljust(4092, b"\0") + b"\0\0\0\3")
