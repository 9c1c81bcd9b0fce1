"""Rows on their way to a file group: in one piece, grouped, with keys and positions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.file_group.merging.delete_markers import DeleteMarker
from hudiformat.file_group.merging.rule import MergeRule
from hudiformat.schema.table_schema import stored_keys
from hudiformat.timeline.table_config import MergeMode
from hudiformat.write.rows import (
    NOT_IN_BASE_FILE,
    Integers,
    LocatedRows,
    combine_chunks,
    group_by_code,
    group_by_value,
    sort_by_group,
    split_by_group,
    take_rows,
)

WHOLE = pa.table({"n": range(9), "t": [None, *"bcdefghi"], "b": [True, None, False] * 3, "l": [[i] for i in range(9)]})


def address(column: pa.ChunkedArray) -> int:
    """Where the values of a column in one piece are."""
    (piece,) = column.chunks
    return int(piece.buffers()[-1].address)


def pieces(*bounds: tuple[int, int]) -> pa.Table:
    return pa.concat_tables([WHOLE.slice(first, last - first) for first, last in bounds])


def test_neighbours_are_joined_without_a_copy_but_for_nested_columns() -> None:
    found = combine_chunks(pieces((1, 3), (3, 3), (3, 8)))
    assert found.equals(WHOLE.slice(1, 7))
    found.validate(full=True)
    assert [address(found[name]) == address(WHOLE[name]) for name in "ntb"] == [True] * 3
    assert found["l"].num_chunks == 1


@pytest.mark.parametrize("bounds", [[(0, 3), (4, 9)], [(3, 9), (0, 3)], [(0, 3), (0, 3)]])
def test_others_are_copied(bounds: list[tuple[int, int]]) -> None:
    cut = pieces(*bounds)
    found = combine_chunks(cut)
    assert found.equals(cut)
    assert [column.num_chunks for column in found.columns] == [1] * 4


def test_pieces_of_other_arrays_are_copied() -> None:
    found = combine_chunks(pa.concat_tables([WHOLE.slice(0, 3), pa.table(WHOLE.to_pydict(), WHOLE.schema).slice(3)]))
    assert found.equals(WHOLE)


def test_dictionaries_stay_with_their_values() -> None:
    words = pa.table({"w": pa.array(["x", "y", "x"]).dictionary_encode()})
    assert combine_chunks(pa.concat_tables([words.slice(0, 1), words.slice(1)])).equals(words)


def test_no_rows() -> None:
    assert combine_chunks(WHOLE.slice(0, 0)).equals(WHOLE.slice(0, 0))
    assert combine_chunks(WHOLE.schema.empty_table()).num_rows == 0


def grouped(groups: Iterable[tuple[object, Integers]]) -> list[tuple[object, list[int]]]:
    return [(value, indices.tolist()) for value, indices in groups]


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ([], []),
        ([4], [(4, [0])]),
        ([4, 4, 4], [(4, [0, 1, 2])]),
        ([7, 5, 7], [(5, [1]), (7, [0, 2])]),
        ([0, -1, 0, -1, 2], [(-1, [1, 3]), (0, [0, 2]), (2, [4])]),
        ([2**40, 1, 2**40], [(1, [1]), (2**40, [0, 2])]),
    ],
)
def test_rows_are_grouped_by_their_codes(codes: list[int], expected: list[tuple[int, list[int]]]) -> None:
    assert grouped(group_by_code(np.array(codes, np.int64))) == expected


@given(st.lists(st.integers(-3, 3) | st.integers(-(2**50), 2**50), max_size=20))
def test_each_row_is_in_the_group_of_its_code_and_in_order(codes: list[int]) -> None:
    expected: dict[int, list[int]] = {}
    for index, code in enumerate(codes):
        expected.setdefault(code, []).append(index)
    assert grouped(group_by_code(np.array(codes, np.int64))) == sorted(expected.items())


@given(st.lists(st.sampled_from(["", "x", "y", "x/y"]), max_size=12))
def test_each_row_is_in_the_group_of_its_text(texts: list[str]) -> None:
    expected: dict[object, list[int]] = {}
    for index, text in enumerate(texts):
        expected.setdefault(text, []).append(index)
    assert dict(grouped(group_by_value(pa.array(texts, pa.string())))) == expected


FLAGS = pa.record_batch({"k": ["a", "b", "c"], "gone": [True, None, False]})


def test_deletes_are_left_out_with_their_keys() -> None:
    rows = LocatedRows("x", FLAGS, FLAGS["k"], is_new=True)
    rule = MergeRule(MergeMode.COMMIT_TIME_ORDERING, stored_keys)
    assert rows.drop_deletes(replace(rule, delete_column="gone")).keys.to_pylist() == ["b", "c"]
    assert rows.drop_deletes(replace(rule, delete_marker=DeleteMarker("k", "b"))).keys.to_pylist() == ["a", "c"]
    assert rows.drop_deletes(rule) is rows


def located(*keys: str, positions: list[int] | None = None, group: str = "f") -> LocatedRows:
    rows = pa.record_batch({"n": list(range(len(keys)))}, schema=pa.schema([("n", pa.int64())]))
    places = None if positions is None else np.array(positions)
    return LocatedRows("x", rows, pa.array(keys, pa.string()), (group,), positions=places)


def shown(rows: LocatedRows) -> list[tuple[object, ...]]:
    positions = None if rows.positions is None else rows.positions.tolist()
    columns = [rows.rows["n"].to_pylist(), rows.keys.to_pylist(), *([] if positions is None else [positions])]
    return list(zip(*columns, strict=True))


def test_chosen_rows_keep_their_keys_and_positions() -> None:
    rows = located("a", "b", "c", positions=[7, NOT_IN_BASE_FILE, 9])
    assert len(rows) == 3
    assert shown(rows.at(np.array([2, 0]))) == [(2, "c", 9), (0, "a", 7)]
    assert shown(rows.at(np.array([1, 2]))) == [(1, "b", NOT_IN_BASE_FILE), (2, "c", 9)]
    assert shown(rows.where(np.array([True, False, True]))) == [(0, "a", 7), (2, "c", 9)]
    assert shown(rows.where(np.array([False] * 3))) == []
    assert rows.where(np.array([True] * 3)) is rows


def test_chosen_rows_keep_their_groups() -> None:
    batch = pa.record_batch({"n": [0, 1, 2]})
    rows = LocatedRows("x", batch, pa.array(["a", "b", "c"]), ("f", "g"), np.array([1, 0, 1]))
    assert rows.at(np.array([2, 1])).groups_with_rows == ("f", "g")
    assert rows.slice(0, 1).groups_with_rows == ("g",)
    assert rows.where(np.array([False, True, False])).groups_with_rows == ("f",)


def test_rows_that_were_not_looked_up_have_no_positions() -> None:
    rows = located("a", "b")
    assert rows.known_positions.tolist() == [NOT_IN_BASE_FILE] * 2
    assert shown(rows.at(np.array([1]))) == [(1, "b")]
    assert shown(rows.where(np.array([False, True]))) == [(1, "b")]


def test_rows_that_follow_each_other_are_not_copied() -> None:
    values = pa.array(range(5))
    neighbours = take_rows(values, np.array([1, 2, 3]))
    assert neighbours.to_pylist() == [1, 2, 3]
    assert neighbours.buffers()[1].address == values.buffers()[1].address
    assert take_rows(values, np.array([3, 1])).to_pylist() == [3, 1]
    assert take_rows(WHOLE, np.array([0, 4])).equals(WHOLE.take([0, 4]))
    assert len(take_rows(values, np.array([], np.int64))) == 0


def test_rows_of_a_file_group_are_new_or_updates() -> None:
    waiting = LocatedRows("x", FLAGS, FLAGS["k"], is_new=True)
    assert (waiting.groups_with_rows, waiting.is_new) == ((), True)  # sizing assigns it, once all new rows are known
    known = located("a", group="f-0")
    assert (known.groups_with_rows, known.group, known.is_new) == (("f-0",), "f-0", False)


def of_groups(groups: list[str], names: tuple[str, ...], first: int, *, positions: bool) -> LocatedRows:
    """Rows that belong to *groups*, of which *names* has all and others; numbered from *first*."""
    numbers = range(first, first + len(groups))
    rows = pa.record_batch({"n": list(numbers)}, schema=pa.schema([("n", pa.int64())]))
    keys = pa.array([f"k{number}" for number in numbers], pa.string())
    codes = np.array([names.index(group) for group in groups], np.int64)
    return LocatedRows("x", rows, keys, names, codes, np.arange(len(groups)) if positions else None)


@given(
    st.lists(st.lists(st.sampled_from("abcde"), min_size=1, max_size=9), min_size=1, max_size=4),
    st.sampled_from([0, 8, 17, 1000]),
    st.booleans(),
)
def test_each_file_group_has_its_rows_in_their_order(parts: list[list[str]], small: int, positions: bool) -> None:
    waiting, start = [], 0
    for part in parts:
        waiting.append(of_groups(part, tuple("edcba"), start, positions=positions))
        start += len(part)
    expected: dict[str, list[list[tuple[object, ...]]]] = {}
    for many in waiting:
        assert many.groups_with_rows == tuple(one.groups[0] for one in many.by_group())
        for one in many.by_group():
            expected.setdefault(one.groups_with_rows[0], []).append(shown(one))
    found: dict[str, list[list[tuple[object, ...]]]] = {}
    for rows in split_by_group(waiting):
        found.setdefault(rows.group, []).append(shown(rows))
    assert (found, list(found)) == (expected, list(expected))
    whole = {group: [row for piece in of_group for row in piece] for group, of_group in expected.items()}
    ordered = sort_by_group(waiting, small=small)
    assert (ordered is None) == (max(map(len, whole.values())) * 8 > small)
    if ordered is not None:
        slices = [(group, shown(ordered.slice(start, count))) for group, start, count in ordered.runs()]
        assert slices == list(whole.items())


def test_rows_of_one_group_need_no_codes() -> None:
    one, other = (located(key, group=group) for key, group in (("a", "f"), ("b", "g")))
    assert list(one.by_group()) == [one]
    parts = [one, other, one]
    assert [(rows.group, shown(rows)) for rows in split_by_group(parts)] == [
        ("f", [(0, "a")]),
        ("f", [(0, "a")]),
        ("g", [(0, "b")]),
    ]
    ordered = sort_by_group(parts, small=1000)
    assert ordered is not None
    assert list(ordered.runs()) == [("f", 0, 2), ("g", 2, 1)]
    assert shown(ordered) == [(0, "a"), (0, "a"), (0, "b")]


def test_sorted_rows_have_positions_where_all_of_them_have() -> None:
    known, unknown = located("a", positions=[5]), located("b")
    for parts, expected in (([known, known], [(0, "a", 5), (0, "a", 5)]), ([known, unknown], [(0, "a"), (0, "b")])):
        ordered = sort_by_group(parts, small=1000)
        assert ordered is not None
        assert shown(ordered) == expected
