"""Finding entries by their lengths, at many places at once and one by one."""

from __future__ import annotations

import struct
from itertools import accumulate

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat.codec.hfile import chain
from hudiformat.codec.hfile.block import Block
from hudiformat.codec.hfile.chain import KEY_TAIL
from hudiformat.codec.hfile.entries import decode_entries
from hudiformat.errors import CorruptBlockError
from tests.effort import examples


def entries(lengths: list[tuple[int, int]], *, tail: bytes = KEY_TAIL, filler: bytes = b"a") -> bytes:
    return b"".join(
        struct.pack(">iih", 2 + row + len(tail), value, row)
        + (filler * row)[:row]
        + tail
        + (filler * value)[:value]
        + b"\0"
        for row, value in lengths
    )


def places(lengths: list[tuple[int, int]]) -> list[int]:
    return list(accumulate((row + value + 21 for row, value in lengths), initial=0))


def decode(content: bytes) -> pa.RecordBatch:
    return decode_entries(Block(memoryview(content), 0, 0), suffix=1)


def several(count: int, seed: int = 7) -> list[tuple[int, int]]:
    rng = np.random.default_rng(seed)
    return list(zip(rng.integers(1, 40, count).tolist(), rng.integers(0, 90, count).tolist(), strict=True))


def guess(content: bytes) -> list[int] | None:
    found = chain._guess_offsets(memoryview(content), 1, 0)
    return None if found is None else found.tolist()


@settings(deadline=None, max_examples=examples(40))
@given(
    lengths=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), min_size=1, max_size=40),
    filler=st.sampled_from([b"\0", KEY_TAIL, b"a", b"\xff", b"\0\0\0\x0e\0\0\0\1\0\2"]),
    times=st.sampled_from([1, 100, 1000]),
)
def test_entries_of_all_lengths_are_found(lengths: list[tuple[int, int]], filler: bytes, times: int) -> None:
    content = entries(lengths, filler=filler) * times
    assert chain.locate_entries(memoryview(content), suffix=1, base=0).tolist() == places(lengths * times)


def test_guessing_finds_what_the_loop_finds() -> None:
    lengths = several(9000)
    assert guess(entries(lengths)) == places(lengths)


def test_few_entries_are_not_guessed() -> None:
    assert guess(entries([(1, 1)] * 10)) is None
    assert guess(entries([(1, 1)] * 1000)) is None


def test_entries_that_are_not_hudis_are_found_without_guesses() -> None:
    lengths = several(5000)
    content = entries(lengths, tail=b"\0" * 10)
    assert guess(content) is None
    assert chain.locate_entries(memoryview(content), suffix=1, base=0).tolist() == places(lengths)


def test_guesses_that_mislead_are_found_out() -> None:
    lengths = [(1, 1)] * 3000
    content = entries(lengths) + entries([(5, 300)], filler=entries([(4, 1)]))
    assert chain.locate_entries(memoryview(content), suffix=1, base=0).tolist() == places([*lengths, (5, 300)])


def test_one_entry_among_many_may_be_long() -> None:
    lengths = [*several(3000), (30, 500_000), *several(3000)]
    content = entries(lengths)
    assert chain.locate_entries(memoryview(content), suffix=1, base=0).tolist() == places(lengths)
    lengths = [(30_000, 0), *several(9000)]
    assert chain.locate_entries(memoryview(entries(lengths)), suffix=1, base=0).tolist() == places(lengths)


def test_a_beginning_unlike_the_rest_misleads_nobody() -> None:
    lengths = [(10, 1000)] * 64 + [(10, 0)] * 80_000
    content = entries(lengths[:64]) + entries([(10, 0)]) * 80_000
    assert guess(content) is None
    assert chain.locate_entries(memoryview(content), suffix=1, base=0).tolist() == places(lengths)


@pytest.mark.parametrize("at", [0, 1, 2500, 4998, 4999])
@pytest.mark.parametrize(("field", "change"), [(0, -1), (0, 1), (4, -1), (4, 1), (4, -(2**31)), (0, 2**31 - 1000)])
def test_one_wrong_length_among_many_is_found(at: int, field: int, change: int) -> None:
    data = bytearray(entries([(10, 10)] * 5000))
    place = 41 * at + field
    number = int.from_bytes(data[place : place + 4], "big") + change
    data[place : place + 4] = (number % 2**32).to_bytes(4, "big")
    with pytest.raises(CorruptBlockError, match="at byte .*entry"):
        decode(bytes(data))


@pytest.mark.parametrize("at", [0, 1, 2500, 4999])
@pytest.mark.parametrize("row", [-1, 21, 32767])
def test_a_row_that_does_not_fit_its_key_is_found(at: int, row: int) -> None:
    data = bytearray(entries([(10, 10)] * 5000))
    data[41 * at + 8 : 41 * at + 10] = row.to_bytes(2, "big", signed=True)
    with pytest.raises(CorruptBlockError, match="at byte .*entry"):
        decode(bytes(data))


@pytest.mark.parametrize("size", [1, 7, 8, 9, 20])
@pytest.mark.parametrize("count", [0, 5000])
def test_an_entry_that_breaks_off_is_found(count: int, size: int) -> None:
    whole = entries([(1, 1)] * count)
    with pytest.raises(CorruptBlockError, match=f"an entry at {len(whole)} of {len(whole) + size} bytes"):
        decode(whole + entries([(1, 1)])[:size])


def test_an_entry_at_the_end_that_has_no_row_length() -> None:
    with pytest.raises(CorruptBlockError, match="an entry"):
        decode(entries([(1, 1)] * 5000) + bytes(9))


def test_the_entries_of_a_block_are_arrays() -> None:
    batch = decode(entries([(2, 3), (0, 1)]))
    assert batch.to_pydict() == {"key": [b"aa", b""], "value": [b"aaa", b"a"]}


class Sized:
    """Stands for a content of 2 GiB."""

    def __len__(self) -> int:
        return 2**31


def test_a_block_of_2_gib_is_refused() -> None:
    with pytest.raises(CorruptBlockError, match="a data block of 2147483648 bytes"):
        chain.locate_entries(Sized(), suffix=1, base=0)  # type: ignore[arg-type]  # it has a length alone
