"""Finding records by their lengths, at many places at once and one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat.avro import framing
from hudiformat.errors import DecodeError
from tests.effort import examples


def _blocks(lengths: list[int], filler: bytes) -> bytes:
    return b"".join(length.to_bytes(4, "big") + (filler * length)[:length] for length in lengths)


def _expected(lengths: list[int]) -> tuple[list[int], list[int]]:
    ends = np.cumsum(np.array(lengths) + 4)
    return (ends - lengths).tolist(), ends.tolist()


@settings(deadline=None, max_examples=examples(40))
@given(
    lengths=st.lists(st.integers(0, 60), min_size=1, max_size=60),
    filler=st.sampled_from([b"\0", b"\0\0\0\1", b"a", b"\xff", b"\0\0\0\0\1\2"]),
    times=st.sampled_from([1, 100, 1000]),
)
def test_records_of_all_lengths_are_found(lengths: list[int], filler: bytes, times: int) -> None:
    data = _blocks(lengths * times, filler)
    starts, ends = framing.walk(memoryview(data), len(lengths) * times)
    assert (starts.tolist(), ends.tolist()) == _expected(lengths * times)


def test_guessing_finds_what_the_loop_finds() -> None:
    lengths = np.random.default_rng(7).integers(20, 90, 5000).tolist()
    data = _blocks(lengths, b"\0\0\0\5ab")
    guessed = framing._by_guessing(np.frombuffer(data, np.uint8), len(lengths))
    assert guessed is not None
    assert guessed.tolist() == framing._one_by_one(memoryview(data), len(lengths)).tolist()


@pytest.mark.parametrize("at", [0, 1, 2500, 4998, 4999])
@pytest.mark.parametrize("change", [-1, 1, -(2**31)])
def test_one_wrong_length_among_many_is_found(at: int, change: int) -> None:
    data = bytearray(_blocks([40] * 5000, b"\xff"))
    data[44 * at : 44 * at + 4] = ((40 + change) % 2**32).to_bytes(4, "big")
    with pytest.raises(DecodeError):
        framing.walk(memoryview(data), 5000)


@pytest.mark.parametrize("count", [4999, 5001])
def test_a_wrong_count_of_many_is_found(count: int) -> None:
    with pytest.raises(DecodeError):
        framing.walk(memoryview(_blocks([40] * 5000, b"\xff")), count)


def test_one_record_among_many_may_be_long() -> None:
    lengths = [10] * 3000 + [100_000] + [10] * 3000
    starts, ends = framing.walk(memoryview(_blocks(lengths, b"a")), len(lengths))
    assert (starts.tolist(), ends.tolist()) == _expected(lengths)
