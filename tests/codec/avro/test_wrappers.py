"""Ordering values as a union of wrappers, and back."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from hudiformat.codec.avro.nodes import parse_schema
from hudiformat.codec.avro.wrappers import RECORD, WRAPPED_VALUES, ordering_columns, ordering_values
from hudiformat.errors import DataError, SchemaError


def wrapped(ordering: pa.Array) -> pa.StructArray:
    """The union that ordering values of mixed types become."""
    _, [union] = ordering_columns(ordering)
    assert isinstance(union, pa.StructArray)
    return union


def test_values_of_one_type_are_columns_of_branch_and_value() -> None:
    schema, columns = ordering_columns(pa.array([1, 2], pa.int64()))
    assert [name for name, _ in parse_schema(schema).fields] == ["recordKey", "partitionPath", "branch", "value"]
    assert [column.to_pylist() for column in columns] == [[3, 3], [1, 2]]


def test_only_nulls_are_int_zero() -> None:
    _, columns = ordering_columns(pa.nulls(2, pa.string()))
    assert [column.to_pylist() for column in columns] == [[2, 2], [0, 0]]


def test_nulls_among_values_are_int_zero_in_a_union() -> None:
    union = wrapped(pa.array(["a", None]))
    assert union.field(1).to_pylist() == [None, {"value": 0}]
    assert ordering_values(union).to_pylist() == ["a", None]


@pytest.mark.parametrize(
    "rows",
    [
        [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}],
        [{"a": 1, "b": "x"}, None],
    ],
)
def test_several_ordering_fields_are_a_list_for_each_row(rows: list[dict[str, Any] | None]) -> None:
    ordering = pa.array(rows, pa.struct([("a", pa.int64()), ("b", pa.string())]))
    expected = [None if row is None else {"field0": row["a"], "field1": row["b"]} for row in rows]
    assert ordering_values(wrapped(ordering)).to_pylist() == expected


def test_other_mixtures_are_a_dense_union() -> None:
    types, offsets = pa.array([0, 1, 0], pa.int8()), pa.array([0, 0, 1], pa.int32())
    mixed = pa.UnionArray.from_dense(types, offsets, [pa.array([1.5, 2.5]), pa.array(["x"])])
    values = ordering_values(wrapped(mixed))
    assert isinstance(values, pa.UnionArray)
    assert values.to_pylist() == [1.5, "x", 2.5]


def test_the_union_has_null_and_the_wrappers_of_hudi() -> None:
    assert len(RECORD.fields) == 3
    assert sorted(branch for branch in WRAPPED_VALUES if branch is not None) == list(range(1, 12))


def test_what_no_wrapper_holds_is_refused() -> None:
    with pytest.raises(SchemaError, match="an ordering value of type"):
        ordering_columns(pa.array([[1]]))
    with pytest.raises(DataError, match="do not fit decimal"):
        ordering_columns(pa.array([None], pa.decimal128(38, 0)).fill_null(10**37))
