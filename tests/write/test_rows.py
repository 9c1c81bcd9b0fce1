"""Rows of a write: deletes, one row of several with one key, and the rows that a block takes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.write.index.rows import KeyedRows
from hudiformat.write.rows import (
    BlockSizes,
    Rows,
    WaitingRows,
    combine_parts,
    delete_ordering,
    deleted_rows,
    ordering_of_deletes,
    without_deletes,
)

ROWS = st.lists(st.tuples(st.sampled_from("abcdef"), st.one_of(st.none(), st.integers(0, 3))), max_size=12)
SCHEMA = pa.schema([pa.field("key", pa.string()), pa.field("ts", pa.int64()), pa.field("n", pa.int64())])


@pytest.mark.parametrize("ordering", [("ts",), ()])
@given(st.lists(ROWS, max_size=4), st.sampled_from([0, 50, 10**6]))
def test_the_row_with_the_highest_ordering_value_is_kept_of_equals_the_last(
    ordering: tuple[str, ...], parts: list[list[tuple[str, int | None]]], memory: int
) -> None:
    batches, number = [], 0
    expected: dict[str, tuple[int, int]] = {}
    for part in parts:
        rows = []
        for key, ts in part:
            rank = (ts or 0) if ordering else 0  # null counts as Hudi's default, 0
            if key not in expected or rank >= expected[key][0]:
                expected[key] = (rank, number)
            rows.append({"key": key, "ts": ts, "n": number})
            number += 1
        batches.append(pa.RecordBatch.from_pylist(rows, SCHEMA))
    found = [row for batch in combine_parts(batches, "key", ordering, memory=memory) for row in batch.to_pylist()]
    assert {row["key"]: row["n"] for row in found} == {key: last for key, (_, last) in expected.items()}
    assert len(found) == len(expected)


FLAGS = pa.record_batch({"k": ["a", "b", "c"], "gone": [True, None, False]})


def test_rows_are_deletes_where_their_flag_is_true() -> None:
    assert deleted_rows(FLAGS, "gone").tolist() == [True, False, False]
    assert deleted_rows(pa.Table.from_batches([FLAGS]), "gone").tolist() == [True, False, False]


@pytest.mark.parametrize("column", [None, "other"])
def test_rows_without_a_flag_are_no_deletes(column: str | None) -> None:
    assert deleted_rows(FLAGS, column).tolist() == [False] * 3


def test_deletes_are_left_out_with_their_keys() -> None:
    rows = KeyedRows(FLAGS, FLAGS["k"])
    assert without_deletes(rows, "gone").keys.to_pylist() == ["b", "c"]
    assert without_deletes(rows, None) is rows


def test_deletes_have_ordering_values_where_the_rows_have_all_columns() -> None:
    rows = pa.record_batch({"k": ["a"], "ts": pa.array([7], pa.int64()), "v": pa.array([1], pa.int32())})
    one = ordering_of_deletes(rows, ["ts"])
    assert one is not None
    assert one.to_pylist() == [7]
    several = ordering_of_deletes(rows, ["v", "ts"])
    assert several is not None
    assert several.to_pylist() == [{"v": 1, "ts": 7}]
    assert ordering_of_deletes(rows, []) is None
    assert ordering_of_deletes(rows, ["ts", "other"]) is None


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


def test_nothing_is_combined_where_there_are_no_rows() -> None:
    assert list(combine_parts([], "k", ("ts",), memory=0)) == []


# -- rows that wait for a block


def texts(*lengths: int, first: int = 0) -> Rows:
    """Rows of texts, which have four bytes more each in memory; their positions count up from *first*."""
    table = pa.table({"t": ["x" * length for length in lengths]})
    numbers = np.arange(first, first + len(lengths))
    return Rows.of(table, numbers % 2 == 0, numbers)


def waiting_for(*parts: Rows) -> WaitingRows:
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
    waiting.give_back(taken.slice(3, 4))
    assert (len(waiting), waiting.size) == (3, 3 * 4 + 15)
    assert waiting.take(3).positions.tolist() == [3, 4, 5]
    assert (len(waiting), waiting.size) == (0, 0)


def test_what_rows_share_counts_for_each_of_them() -> None:
    shared = pa.DictionaryArray.from_arrays(pa.array([0, 0, 0], pa.int32()), ["y" * 100])
    rows = Rows.of(pa.table({"s": shared}), np.zeros(3, np.bool_), np.zeros(3, np.int64))
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
