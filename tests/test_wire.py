from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.errors import CorruptBlockError, EncodeError, TruncatedBlockError
from hudiformat.wire import INT32_MAX, Cursor, int32, int64, shift_error_offsets

VECTORS_32 = [
    (0, "00 00 00 00"),
    (1, "00 00 00 01"),
    (-1, "ff ff ff ff"),
    (INT32_MAX, "7f ff ff ff"),
    (-(2**31), "80 00 00 00"),
]
VECTORS_64 = [
    (0, "00 00 00 00 00 00 00 00"),
    (2**32 + 2, "00 00 00 01 00 00 00 02"),
    (-2, "ff ff ff ff ff ff ff fe"),
    (2**63 - 1, "7f ff ff ff ff ff ff ff"),
    (-(2**63), "80 00 00 00 00 00 00 00"),
]


def cursor(text: str, *, base: int = 0) -> Cursor:
    return Cursor(memoryview(bytes.fromhex(text)), base=base)


@pytest.mark.parametrize(("value", "text"), VECTORS_32)
def test_int32_is_big_endian_and_signed(value: int, text: str) -> None:
    assert int32(value) == bytes.fromhex(text)
    assert cursor(text).int32() == value


@pytest.mark.parametrize(("value", "text"), VECTORS_64)
def test_int64_is_big_endian_and_signed(value: int, text: str) -> None:
    assert int64(value) == bytes.fromhex(text)
    assert cursor(text).int64() == value


@pytest.mark.parametrize(
    ("encode", "value"), [(int32, 2**31), (int32, -(2**31) - 1), (int64, 2**63), (int64, -(2**63) - 1)]
)
def test_a_value_that_does_not_fit_is_refused_by_name(encode: Callable[[int], bytes], value: int) -> None:
    with pytest.raises(EncodeError, match=str(value)):
        encode(value)


def test_a_cursor_reads_front_to_back_and_counts() -> None:
    at = cursor("01 02 03 04 05 06 07", base=100)
    assert (at.offset, at.remaining) == (100, 7)
    assert bytes(at.take(2)) == b"\x01\x02"
    assert at.int32() == 0x03040506
    assert (at.pos, at.offset, at.remaining) == (6, 106, 1)
    assert bytes(at.take(0)) == b""


def test_taking_copies_nothing() -> None:
    data = bytearray(b"abc")
    view = Cursor(memoryview(data)).take(3)
    data[0] = ord("x")
    assert bytes(view) == b"xbc"


def test_a_negative_length_is_corrupt_and_moves_nothing() -> None:
    at = cursor("00 00", base=40)
    with pytest.raises(CorruptBlockError, match=re.escape("at byte 40: header: negative length -1")) as caught:
        at.take(-1, "header")
    assert caught.value.offset == 40
    assert at.pos == 0


def test_a_length_past_the_end_is_a_truncation_and_moves_nothing() -> None:
    at = cursor("00 00 00", base=40)
    at.take(1)
    with pytest.raises(TruncatedBlockError, match="at byte 41: content: 3 bytes expected, 2 left"):
        at.take(3, "content")
    assert at.pos == 1


@pytest.mark.parametrize("read", [Cursor.int32, Cursor.int64])
def test_an_integer_cut_short_is_a_truncation(read: Callable[[Cursor], int]) -> None:
    with pytest.raises(TruncatedBlockError):
        read(cursor("00 00 00"))


def test_errors_of_a_part_count_from_the_file() -> None:
    with pytest.raises(CorruptBlockError, match="at byte 107: header: negative length -1"), shift_error_offsets(100):
        cursor("00", base=7).take(-1, "header")


def test_errors_at_the_front_or_without_an_offset_stay_as_they_are() -> None:
    for base, offset in ((0, 7), (100, None)):
        error = CorruptBlockError("length 5", offset=offset)
        with pytest.raises(CorruptBlockError) as caught, shift_error_offsets(base):
            raise error
        assert caught.value is error


@given(st.lists(st.integers(-(2**31), INT32_MAX)), st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_what_is_written_is_read_again(small: list[int], large: list[int]) -> None:
    at = Cursor(memoryview(b"".join([*map(int32, small), *map(int64, large)])))
    assert [at.int32() for _ in small] == small
    assert [at.int64() for _ in large] == large
    assert at.remaining == 0
