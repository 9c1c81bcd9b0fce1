"""Rows on their way to a file group: in one piece, grouped, with keys and positions."""

from __future__ import annotations

import pyarrow as pa
import pytest

from hudiformat.index.rows import in_one_piece

WHOLE = pa.table({"n": range(9), "t": [None, *"bcdefghi"], "b": [True, None, False] * 3, "l": [[i] for i in range(9)]})


def address(column: pa.ChunkedArray) -> int:
    """Where the values of a column in one piece are."""
    (piece,) = column.chunks
    return int(piece.buffers()[-1].address)


def pieces(*bounds: tuple[int, int]) -> pa.Table:
    return pa.concat_tables([WHOLE.slice(first, last - first) for first, last in bounds])


def test_neighbours_are_joined_without_a_copy_but_for_nested_columns() -> None:
    found = in_one_piece(pieces((1, 3), (3, 3), (3, 8)))
    assert found.equals(WHOLE.slice(1, 7))
    found.validate(full=True)
    assert [address(found[name]) == address(WHOLE[name]) for name in "ntb"] == [True] * 3
    assert found["l"].num_chunks == 1


@pytest.mark.parametrize("bounds", [[(0, 3), (4, 9)], [(3, 9), (0, 3)], [(0, 3), (0, 3)]])
def test_others_are_copied(bounds: list[tuple[int, int]]) -> None:
    cut = pieces(*bounds)
    found = in_one_piece(cut)
    assert found.equals(cut)
    assert [column.num_chunks for column in found.columns] == [1] * 4


def test_pieces_of_other_arrays_are_copied() -> None:
    found = in_one_piece(pa.concat_tables([WHOLE.slice(0, 3), pa.table(WHOLE.to_pydict(), WHOLE.schema).slice(3)]))
    assert found.equals(WHOLE)


def test_dictionaries_stay_with_their_values() -> None:
    words = pa.table({"w": pa.array(["x", "y", "x"]).dictionary_encode()})
    assert in_one_piece(pa.concat_tables([words.slice(0, 1), words.slice(1)])).equals(words)


def test_no_rows() -> None:
    assert in_one_piece(WHOLE.slice(0, 0)).equals(WHOLE.slice(0, 0))
    assert in_one_piece(WHOLE.schema.empty_table()).num_rows == 0
