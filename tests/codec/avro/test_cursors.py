"""Cursors: one position per record, moved together and apart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.codec.avro.arrays import Mask
from hudiformat.codec.avro.cursors import PADDING, Cursors, SpeculativeCursors
from hudiformat.errors import CorruptBlockError


def cursors(*records: str, base: int = 0) -> Cursors:
    """A cursor for each record, which is hexadecimal."""
    datums = [bytes.fromhex(record) for record in records]
    ends = np.cumsum([len(datum) for datum in datums])
    data = np.frombuffer(b"".join(datums) + bytes(PADDING), np.uint8)
    return Cursors(data, np.append(0, ends[:-1]), ends, base)


def mask(*values: int) -> Mask:
    return np.array(values, np.bool_)


def test_records_that_begin_alike_move_together() -> None:
    three = cursors("02 02 61 08", "02 02 62 0a", "02 04 63 64 0c")
    assert three.next_byte().tolist() == [2, 2, 2]
    three.advance(1, None)
    lengths = three.length(None)
    assert isinstance(lengths, np.ndarray)
    assert (lengths.tolist(), three.pos.tolist()) == ([1, 1, 2], [2, 6, 10])
    three.advance(lengths, None)
    assert three.pos.tolist() == [3, 7, 12]
    assert three.varint(None).tolist() == [4, 5, 6]
    assert three.pos.tolist() == three.end.tolist()


def test_equal_lengths_are_one_number() -> None:
    assert cursors("04 61 62", "04 63 64").length(None) == 2


def test_only_present_values_are_read() -> None:
    three = cursors("02", "", "04")
    assert three.varint(mask(1, 0, 1)).tolist() == [1, 0, 2]
    assert three.pos.tolist() == [1, 1, 2]


def test_values_of_a_fixed_width_are_gathered() -> None:
    two = cursors("01 00 02", "03 00 04")
    assert two.gather("<u2", None).tolist() == [1, 3]
    assert two.gather("u1", mask(0, 1)).tolist() == [0, 4]


def test_a_uniform_integer_is_read_and_any_other_is_not() -> None:
    two = cursors("03 02", "03 04")
    assert two.read_if_equal() == -2
    assert two.read_if_equal() is None
    assert two.pos.tolist() == [1, 3]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20))
def test_integers_of_any_length_are_read_and_skipped(values: list[int]) -> None:
    records = []
    for value in values:
        rest, record = (value << 1) ^ (value >> 63), bytearray()
        while rest > 0x7F:
            record.append(rest & 0x7F | 0x80)
            rest >>= 7
        records.append(bytes([*record, rest]).hex())
    read, skipped = cursors(*records), cursors(*records)
    assert read.varint(None).tolist() == values
    skipped.skip_varint(None)
    assert read.pos.tolist() == skipped.pos.tolist() == read.end.tolist()


def test_a_cursor_does_not_leave_its_record() -> None:
    with pytest.raises(CorruptBlockError, match="at byte 101: a value runs past the end of its record"):
        cursors("02", "02", base=100).advance(np.array([1, 2]), None)


@pytest.mark.parametrize("length", ["05", "04 61"])
def test_a_length_is_compared_with_the_rest_of_the_record(length: str) -> None:
    with pytest.raises(CorruptBlockError, match="longer than the rest of its record, or of negative length"):
        cursors("02 61", length).length(None)


def test_a_refused_value_is_named_by_its_offset_unless_it_is_absent() -> None:
    two = cursors("00", "07", base=10)
    two.raise_if(mask(0, 1), mask(1, 0), "odd")
    with pytest.raises(CorruptBlockError, match="at byte 11: odd"):
        two.raise_if(mask(0, 1), None, "odd")


def test_guesses_without_a_value_go_to_the_end() -> None:
    exact = cursors("04 61 62", "08 61", "03 61")
    guesses = SpeculativeCursors(exact.data, exact.pos, exact.end)
    assert guesses.length(None).tolist() == [2, 0, 0]
    assert guesses.pos.tolist() == [1, 5, 7]
