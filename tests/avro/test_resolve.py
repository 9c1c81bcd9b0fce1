"""Fitting columns to a schema."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hudiformat.avro import resolve
from hudiformat.errors import DataError, SchemaError


def _one(array: pa.Array, kind: pa.DataType, *, nullable: bool = True) -> pa.Array:
    batch = pa.RecordBatch.from_arrays([array], names=["c"])
    result = resolve(batch, pa.schema([pa.field("c", kind, nullable=nullable)])).column(0)
    result.validate(full=True)
    assert result.type == kind
    return result


def test_columns_are_put_in_order_dropped_and_added() -> None:
    batch = pa.RecordBatch.from_pydict({"a": [1, 2], "b": ["x", "y"], "c": [True, False]})
    target = pa.schema([("c", pa.bool_()), ("new", pa.list_(pa.int32())), ("a", pa.int64())], {"k": "v"})
    result = resolve(batch, target)
    assert result.to_pydict() == {"c": [True, False], "new": [None, None], "a": [1, 2]}
    assert result.schema.equals(target, check_metadata=True)


def test_rows_stay_without_a_column() -> None:
    assert resolve(pa.RecordBatch.from_pydict({"a": [1, 2]}), pa.schema([])).num_rows == 2


@pytest.mark.parametrize(
    ("array", "kind"),
    [
        (pa.array([1, None], pa.int8()), pa.int32()),
        (pa.array([1, None], pa.uint8()), pa.int32()),
        (pa.array([1, None], pa.uint32()), pa.int64()),
        (pa.array([1, None], pa.int32()), pa.int64()),
        (pa.array([1, None], pa.int32()), pa.float64()),
        (pa.array([1, None], pa.int64()), pa.float64()),
        (pa.array([1.5, None], pa.float32()), pa.float64()),
        (pa.array([np.float16(1.5), None], pa.float16()), pa.float32()),
        (pa.array(["x", None]), pa.binary()),
        (pa.array([b"x", None]), pa.string()),
        (pa.array(["x", None], pa.large_string()), pa.string()),
        (pa.array([b"x", None], pa.binary(1)), pa.binary()),
        (pa.array(["x", None]).dictionary_encode(), pa.string()),
        (pa.array([decimal.Decimal("1.5"), None]), pa.decimal128(20, 4)),
        (pa.array([dt.date(2024, 5, 6), None], pa.date64()), pa.date32()),
        (pa.array([dt.time(1), None], pa.time32("s")), pa.time64("us")),
        (
            pa.array([dt.datetime(2024, 5, 6, tzinfo=dt.timezone.utc), None], pa.timestamp("s", "Asia/Tokyo")),
            pa.timestamp("us", "UTC"),
        ),
        (pa.array([None, None]), pa.string()),
        (pa.array([None, None]), pa.struct([("x", pa.int32())])),
        (pa.array([[1, 2], None], pa.list_(pa.int32())), pa.list_(pa.int64())),
        (pa.array([[1, 2], None], pa.large_list(pa.int32())), pa.list_(pa.int64())),
        (pa.array([[1, 2], None], pa.list_(pa.int64(), 2)), pa.list_(pa.int64())),
        (pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int32())), pa.map_(pa.string(), pa.int64())),
    ],
    ids=lambda item: str(getattr(item, "type", item)),
)
def test_promotions_keep_the_values(array: pa.Array, kind: pa.DataType) -> None:
    def plain(value: Any) -> Any:
        return value.encode() if isinstance(value, str) else value

    for rows in (array, array.slice(1), array.slice(0, 1), array.slice(0, 0)):
        result = _one(rows, kind)
        assert [plain(value) for value in result.to_pylist()] == [plain(value) for value in rows.to_pylist()] or (
            pa.types.is_fixed_size_list(array.type) and result.cast(array.type) == rows
        )


def test_extension_types_are_taken_by_their_storage() -> None:
    array = pa.array([b"0123456789abcdef"], pa.uuid())
    assert _one(array, pa.binary(16)).to_pylist() == [b"0123456789abcdef"]


def test_structs_are_fitted_by_name() -> None:
    array = pa.array(
        [{"x": 1, "gone": True, "y": "a"}, None],
        pa.struct([("x", pa.int32()), ("gone", pa.bool_()), ("y", pa.string())]),
    )
    kind = pa.struct(
        [pa.field("y", pa.string(), nullable=False), pa.field("new", pa.int32()), pa.field("x", pa.int64())]
    )
    assert _one(array, kind).to_pylist() == [{"y": "a", "new": None, "x": 1}, None]


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        (pa.int64(), pa.int32()),
        (pa.uint64(), pa.int64()),
        (pa.uint64(), pa.float64()),
        (pa.float64(), pa.float32()),
        (pa.string(), pa.int32()),
        (pa.int32(), pa.string()),
        (pa.binary(4), pa.string()),
        (pa.decimal128(10, 2), pa.decimal128(10, 3)),
        (pa.decimal128(10, 2), pa.decimal128(9, 2)),
        (pa.timestamp("us"), pa.timestamp("us", "UTC")),
        (pa.timestamp("us", "UTC"), pa.timestamp("ms", "UTC")),
        (pa.timestamp("us"), pa.date32()),
        (pa.time64("us"), pa.time32("ms")),
        (pa.int32(), pa.list_(pa.int32())),
        (pa.struct([("x", pa.string())]), pa.struct([("x", pa.int32())])),
        (pa.bool_(), pa.int32()),
    ],
    ids=str,
)
def test_a_type_that_does_not_fit_is_refused(found: pa.DataType, kind: pa.DataType) -> None:
    with pytest.raises(SchemaError, match="does not fit"):
        _one(pa.nulls(1, found), kind)


def test_a_required_column_that_is_missing_is_refused() -> None:
    target = pa.schema([pa.field("a", pa.int64(), nullable=False)])
    with pytest.raises(SchemaError, match="required and missing") as caught:
        resolve(pa.RecordBatch.from_pydict({"b": [1]}), target)
    assert caught.value.column == "a"


def test_a_column_that_comes_twice_is_refused() -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(SchemaError, match="2 times"):
        resolve(batch, pa.schema([("a", pa.int64())]))


def test_a_null_in_a_required_column_is_refused() -> None:
    with pytest.raises(DataError, match="not nullable"):
        _one(pa.array([1, None]), pa.int64(), nullable=False)
    kind = pa.struct([pa.field("x", pa.int64(), nullable=False)])
    with pytest.raises(DataError, match=r"column c\.x"):
        _one(pa.array([{"x": None}], pa.struct([("x", pa.int64())])), kind)


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(DataError, match="cannot be cast"):
        _one(pa.array([b"\xff"]), pa.string())


def test_a_null_below_a_null_does_not_count() -> None:
    child = pa.array([None, 1], pa.int32())
    found = pa.StructArray.from_arrays([child], names=["x"], mask=pa.array([True, False]))
    kind = pa.struct([pa.field("x", pa.int64(), nullable=False)])
    batch = pa.RecordBatch.from_arrays([found], names=["c"])
    assert resolve(batch, pa.schema([("c", kind)])).column(0).to_pylist() == [None, {"x": 1}]
