"""Rows taken by their numbers are those that Arrow's own take gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat import testing
from hudiformat.merge import RowSource

ROWS = 300
COLUMNS: dict[str, Any] = {
    "keys of one length": [f"key-{number:04}" for number in range(ROWS)],
    "texts": ["ab" * (number % 19) for number in range(ROWS)],
    "texts and nulls": [None if number % 3 else "é" * (number % 9) for number in range(ROWS)],
    "empty texts": [""] * ROWS,
    "nulls": pa.nulls(ROWS, pa.string()),
    "bytes": [bytes([number % 256]) * 20 for number in range(ROWS)],
    "numbers": range(ROWS),
    "numbers and nulls": [None if number % 7 == 0 else number for number in range(ROWS)],
    "flags and nulls": [(True, False, None)[number % 3] for number in range(ROWS)],
    "lists": [[number] * (number % 3) for number in range(ROWS)],
    "words": pa.array([f"word {number % 4}" for number in range(ROWS)]).dictionary_encode(),
}
TABLE = pa.table(COLUMNS)
PLACES = np.random.default_rng(3).integers(0, 100, 250)


@pytest.mark.parametrize(
    "table", [TABLE, TABLE.slice(37, 120), pa.concat_tables([TABLE, TABLE])], ids=["whole", "sliced", "in chunks"]
)
def test_any_column_is_taken(table: pa.Table) -> None:
    found = RowSource(table).at(PLACES)
    found.validate(full=True)
    assert found.equals(table.take(pa.array(PLACES)))


def test_some_columns_are_taken_alone() -> None:
    found = RowSource(TABLE).at(PLACES, ["numbers", "texts"])
    assert found.equals(TABLE.select(["numbers", "texts"]).take(pa.array(PLACES)))


@given(batch=testing.batches(), data=st.data())
def test_rows_of_any_shape_are_taken(batch: pa.RecordBatch, data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, batch.num_rows - 1))) if batch.num_rows else []
    table = pa.Table.from_batches([batch])
    found = RowSource(table).at(np.array(places, np.int64))
    found.validate(full=True)
    assert repr(found.to_pylist()) == repr(table.take(pa.array(places, pa.int64())).to_pylist())


def test_rows_that_follow_each_other_are_not_copied() -> None:
    found = RowSource(TABLE).at(np.arange(5, 9))
    assert found["numbers"].chunk(0).buffers()[1].address == TABLE["numbers"].chunk(0).buffers()[1].address
    assert RowSource(TABLE).at(np.arange(0)).num_rows == 0


@pytest.mark.parametrize("place", [-1, ROWS])
def test_a_place_outside_is_refused(place: int) -> None:
    with pytest.raises(IndexError, match="of 300 rows"):
        RowSource(TABLE).at(np.array([place, 1]))
