"""Following chains at many positions at once: of a large block, and of many short runs."""

from __future__ import annotations

import numpy as np
import pytest

from hudiformat.codec.avro.arrays import Bytes, Longs, Mask
from hudiformat.codec.avro.decode import record_offsets
from hudiformat.codec.avro.framing import follow_chains, guess_offsets, walk_runs
from hudiformat.errors import CorruptBlockError, DecodeError, TruncatedBlockError
from tests.codec.avro.builders import framed_records

COUNT = 2048
LINKS = np.tile(np.array([9, 1, 1, 1], np.uint8), COUNT)  # a link is a 9 and three bytes


def begins(first: Bytes, _second: Bytes) -> Mask:
    mask: Mask = first == 9
    return mask


def step(positions: Longs) -> Longs:
    return positions + 4


def test_all_links_are_found() -> None:
    positions = follow_chains(LINKS, COUNT, step, begins, max_chains=16)
    assert positions is not None
    assert positions.tolist() == list(range(0, len(LINKS) + 1, 4))


@pytest.mark.parametrize("count", [COUNT - 1, COUNT + 1])
def test_a_wrong_count_is_not_believed(count: int) -> None:
    assert follow_chains(LINKS, count, step, begins, max_chains=16) is None


def test_chains_that_pass_each_other_are_given_up() -> None:
    assert follow_chains(LINKS, COUNT, lambda positions: positions + 6, begins, max_chains=16) is None


def test_chains_that_stand_still_are_given_up() -> None:
    assert follow_chains(LINKS, COUNT, lambda positions: positions + (positions == 0), begins, max_chains=16) is None


def test_positions_from_which_nothing_follows_are_given_up() -> None:
    assert follow_chains(LINKS, COUNT, lambda positions: positions + 10_000, begins, max_chains=16) is None
    assert follow_chains(LINKS, COUNT, step, lambda first, _: first == 7, max_chains=16) is None


def test_positions_that_are_too_few_are_given_up() -> None:
    data = LINKS.copy()
    data[len(data) // 2 :] = 1
    assert follow_chains(data, COUNT, step, begins, max_chains=16) is None


def test_links_too_long_for_a_window_are_given_up() -> None:
    assert follow_chains(np.zeros(COUNT << 14, np.uint8), COUNT, step, begins, max_chains=16) is None


def test_guessing_finds_what_the_loop_finds() -> None:
    lengths = np.random.default_rng(7).integers(20, 90, 5000).tolist()
    data = framed_records(lengths, b"\0\0\0\5ab")
    guessed = guess_offsets(np.frombuffer(data, np.uint8), len(lengths))
    assert guessed is not None
    assert guessed.tolist() == np.cumsum([0, *(length + 4 for length in lengths)]).tolist()
    assert guessed.tolist() == record_offsets(memoryview(data), len(lengths)).tolist()


def runs(*lengths: list[int]) -> tuple[Bytes, Longs, Longs, Longs]:
    """The bytes of runs of records of these lengths, where each run begins and ends, and its count."""
    parts = [framed_records(run, b"a") for run in lengths]
    ends = np.cumsum([len(part) for part in parts])
    counts = np.array([len(run) for run in lengths])
    return np.frombuffer(b"".join(parts), np.uint8), np.append(0, ends[:-1]), ends, counts


def test_the_records_of_runs_come_in_order() -> None:
    starts, ends = walk_runs(*runs([2], [1, 0]))
    assert (starts.tolist(), ends.tolist()) == ([4, 10, 15], [6, 11, 15])


def test_runs_may_be_empty() -> None:
    starts, ends = walk_runs(*runs([], [3], []))
    assert (starts.tolist(), ends.tolist()) == ([4], [7])
    assert [len(array) for array in walk_runs(*runs([], []))] == [0, 0]


@pytest.mark.parametrize(
    ("counts", "error", "message"),
    [
        ([2, 2], TruncatedBlockError, "past the end of its block"),
        ([1, 1], CorruptBlockError, "bytes follow the last record"),
    ],
)
def test_a_wrong_count_of_a_run_is_found(counts: list[int], error: type[DecodeError], message: str) -> None:
    data, firsts, lasts, _ = runs([2], [1, 0])
    with pytest.raises(error, match=message):
        walk_runs(data, firsts, lasts, np.array(counts))


@pytest.mark.parametrize("length", [-1, 3, 2**31 - 1])
def test_a_wrong_length_in_a_run_is_found(length: int) -> None:
    data, firsts, lasts, counts = runs([2], [1, 0])
    damaged = np.concatenate([np.array([length], ">i4").view(np.uint8), data[4:]])
    with pytest.raises(CorruptBlockError, match="impossible length"):
        walk_runs(damaged, firsts, lasts, counts)
