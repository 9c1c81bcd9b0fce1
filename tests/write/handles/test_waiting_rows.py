"""The rows that wait for a block of a log file, and the deletes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from hudiformat.write.handles.append import BlockRows, BlockSizes, WaitingRows, delete_ordering


@pytest.mark.parametrize(
    ("values", "held"),
    [
        (pa.array([5], pa.timestamp("us")), pa.array([5], pa.int64())),
        (pa.array([5], pa.timestamp("ms", "UTC")), pa.array([5], pa.int64())),
        (pa.array([11_016], pa.int32()).cast(pa.date32()), pa.array([11_016], pa.int32())),
        (pa.array(["a"]), pa.array(["a"])),
    ],
)
def test_moments_and_dates_of_deletes_are_numbers_as_in_sparks_rows(values: pa.Array, held: pa.Array) -> None:
    found = delete_ordering([values], ["ts"])
    assert (found.type, found.to_pylist()) == (held.type, held.to_pylist())


def test_several_ordering_values_are_a_struct() -> None:
    found = delete_ordering([pa.array([1]), pa.array([7])], ["v", "ts"])
    assert found.to_pylist() == [{"v": 1, "ts": 7}]


def texts(*lengths: int, first: int = 0) -> BlockRows:
    """BlockRows of texts, which have four bytes more each in memory; their positions count up from *first*."""
    table = pa.table({"t": ["x" * length for length in lengths]})
    numbers = np.arange(first, first + len(lengths))
    return BlockRows.of(table, numbers % 2 == 0, numbers)


def waiting_for(*parts: BlockRows) -> WaitingRows:
    waiting = WaitingRows()
    for part in parts:
        waiting.add(part)
    return waiting


def test_rows_are_taken_from_the_front_in_their_order() -> None:
    waiting = waiting_for(texts(1, 2), texts(3, 4, 5, first=2), texts(6, first=5))
    assert (len(waiting), waiting.size) == (6, 6 * 4 + 21)
    taken = waiting.take(4)
    assert [len(text) for text in taken.rows["t"].to_pylist()] == [1, 2, 3, 4]
    assert taken.positions.tolist() == [0, 1, 2, 3]
    assert taken.updates.tolist() == [True, False, True, False]
    assert (taken.size, len(waiting), waiting.size) == (4 * 4 + 10, 2, 2 * 4 + 11)
    waiting.put_back(taken.slice(3, 4))
    assert (len(waiting), waiting.size) == (3, 3 * 4 + 15)
    assert waiting.take(3).positions.tolist() == [3, 4, 5]
    assert (len(waiting), waiting.size) == (0, 0)


def test_what_rows_share_counts_for_each_of_them() -> None:
    shared = pa.DictionaryArray.from_arrays(pa.array([0, 0, 0], pa.int32()), ["y" * 100])
    rows = BlockRows.of(pa.table({"s": shared}), np.zeros(3, np.bool_), np.zeros(3, np.int64))
    assert rows.size == pytest.approx(3 * (100 + 4 + 4), abs=110)
    assert waiting_for(rows).first(250.0, 0.0) == 1


@pytest.mark.parametrize(
    ("size", "extra", "count"),
    [
        (0, 0, 0),
        (13, 0, 0),
        (14, 0, 1),
        (28, 0, 2),
        (41, 0, 2),
        (42, 0, 3),
        (999, 0, 3),
        (28, 1, 1),
        (28, -4, 2),
        (30, -4, 3),
    ],
)
def test_the_rows_of_a_size_are_counted_over_parts(size: int, extra: int, count: int) -> None:
    assert waiting_for(texts(10), texts(10, 10, first=1)).first(size, extra) == count


def test_a_block_takes_at_least_one_row() -> None:
    assert BlockSizes(1).rows_of(waiting_for(texts(10, 10))) == 1
    assert BlockSizes(1).fewer(texts(10), 9) is None


def test_the_newest_block_is_a_fifth_of_what_rows_have_beyond_their_bytes() -> None:
    sizes, rows = BlockSizes(100), texts(16, 16)
    assert sizes.rows_of(waiting_for(texts(*[16] * 9))) == 5
    sizes.measure(rows, 40 + 2 * 10)
    assert sizes.extra == 10
    assert sizes.rows_of(waiting_for(texts(*[16] * 9))) == 3
    sizes.measure(rows, 40 + 2 * 20)
    assert sizes.extra == 12


def test_a_block_that_is_more_than_a_tenth_too_large_is_cut_again() -> None:
    sizes, rows = BlockSizes(100), texts(*[16] * 5)
    assert sizes.fewer(rows, 110) is None
    assert sizes.fewer(rows, 200) == 2  # each row has 20 bytes beyond its 20 in memory
    assert sizes.fewer(rows, 10**9) == 1
    assert sizes.fewer(texts(0, 0, 0, 0, 80), 111) == 4  # fewer in any case
