"""Rows are sorted in bounded memory, by columns or along a curve, however many there are and however they come."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat import SchemaError, StorageError
from hudiformat.services import ordering
from hudiformat.services.ordering import RowOrder, row_order
from hudiformat.table.options.clustering import Layout

INNER = pa.struct([pa.field("x", pa.int16())])
SCHEMA = pa.schema([("a", pa.int64()), ("b", pa.string()), ("c", INNER), ("at", pa.timestamp("us")), ("n", pa.int64())])


def batches_of(rows: list[tuple[Any, ...]], size: int) -> list[pa.RecordBatch]:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(SCHEMA)
    arrays = [pa.array(list(column), field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    batches: list[pa.RecordBatch] = pa.Table.from_arrays(arrays, schema=SCHEMA).to_batches(max_chunksize=size)
    return batches


def sorted_by(order: RowOrder, rows: list[tuple[Any, ...]], size: int = 7) -> list[tuple[Any, ...]]:
    tables = list(order.sort(batches_of(rows, size)))
    return [tuple(row.values()) for table in tables for row in table.to_pylist()]


def key(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The place of a row by a, b and c.x: nulls first."""
    inner = None if row[2] is None else row[2]["x"]
    return tuple((value is not None, value if value is not None else 0) for value in (row[0], row[1], inner))


VALUES = st.tuples(
    st.none() | st.integers(-3, 3),
    st.none() | st.sampled_from(["", "a", "ab", "é"]),
    st.none() | st.builds(lambda x: {"x": x}, st.none() | st.integers(-2, 2)),
    st.none() | st.builds(datetime, st.just(2024), st.integers(1, 12), st.just(1)),
)


@given(st.lists(VALUES, max_size=60), st.sampled_from([1, 400, 10**9]), st.integers(1, 20))
def test_rows_are_sorted_and_equal_ones_stay_in_their_order(
    values: list[tuple[Any, ...]], memory: int, size: int
) -> None:
    rows = [(*row, number) for number, row in enumerate(values)]
    order = RowOrder(("a", "b", "c.x"), memory=memory)
    assert sorted_by(order, rows, size) == sorted(rows, key=key)


@pytest.mark.parametrize("layout", [Layout.Z_ORDER, Layout.HILBERT])
@pytest.mark.parametrize("memory", [20_000, 10**9])
def test_along_a_curve_neighbours_are_near_in_every_column(layout: Layout, memory: int) -> None:
    random = np.random.default_rng(7)
    count = 6_000
    table = pa.table(
        {"x": random.integers(0, 1000, count), "y": random.random(count) ** 9, "n": np.arange(count)},
    )
    found = pa.concat_tables(RowOrder(("x", "y"), layout, memory=memory).sort(table.to_batches(max_chunksize=500)))
    assert sorted(found["n"].to_pylist()) == list(range(count))
    columns = [np.asarray(table[name]) for name in ("x", "y")]
    ranks = [np.argsort(np.argsort(column)) for column in columns]
    order = np.asarray(found["n"])
    parts = np.array_split(order, 16)
    # Each of 16 files covers less than half of each column.
    for rank in ranks:
        assert np.mean([np.ptp(rank[part]) / count for part in parts]) < 0.42


def test_one_column_is_sorted_whatever_the_curve() -> None:
    rows = [(number * 7 % 50, None, None, None, number) for number in range(50)]
    found = sorted_by(RowOrder(("a",), Layout.HILBERT), rows)
    assert [row[0] for row in found] == list(range(50))


def test_rows_that_are_sorted_already_are_put_aside_twice_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    written = []
    add = ordering._Files.add

    def noted(self: ordering._Files, name: str, batch: pa.RecordBatch) -> None:
        written.append(batch.num_rows)
        add(self, name, batch)

    monkeypatch.setattr(ordering._Files, "add", noted)
    rows = [(number, None, None, None, number) for number in range(20_000)]
    order = RowOrder(("a",), memory=100_000)
    tables = list(order.sort(batches_of(rows, 500)))
    assert len(tables) > 10
    assert max(table.nbytes for table in tables) <= order.memory
    assert pa.concat_tables(tables)["n"].to_pylist() == list(range(20_000))
    assert sum(written) == 2 * 20_000


def test_many_rows_with_one_value_are_not_gathered() -> None:
    rows = [(0 if number % 100 else number, None, None, None, number) for number in range(20_000)]
    found = sorted_by(RowOrder(("a",), memory=50_000), rows, 500)
    assert found == sorted(rows, key=lambda row: row[0])


def test_no_rows_and_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sorted_by(RowOrder(("a",)), []) == []

    def full(*_arguments: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("pyarrow.ipc.new_stream", full)
    rows = [(number, None, None, None, number) for number in range(100)]
    with pytest.raises(StorageError, match="no space left"):
        sorted_by(RowOrder(("a",), memory=10), rows)


def test_columns_that_have_no_order_are_refused() -> None:
    assert row_order(SCHEMA, (), Layout.LINEAR) is None
    order = row_order(SCHEMA, ("b", "c.x"), Layout.Z_ORDER)
    assert order == RowOrder(("b", "c.x"), Layout.Z_ORDER)
    with pytest.raises(SchemaError, match="cannot sort by the column c: values of type struct<x: int16> have no order"):
        row_order(SCHEMA, ("c",), Layout.LINEAR)
    for path in ("z", "a.x", "c.y"):
        with pytest.raises(SchemaError, match=f"the column {path}: there is none; the columns are a, b, c, at, n"):
            row_order(SCHEMA, (path,), Layout.LINEAR)
