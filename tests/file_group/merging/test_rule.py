"""Which rows are deletes, which values are set, and ordering values as integers that compare as in Java."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat.file_group.merging.delete_markers import DeleteMarker
from hudiformat.file_group.merging.rule import (
    MergeRule,
    PartialUpdate,
    comparable_integers,
    lacks_ordering_value,
)
from hudiformat.timeline.table_config import MergeMode
from tests.file_group.merging.blocks import keys_of


def ranks(kind: pa.DataType, values: list[Any]) -> list[int]:
    found: list[int] = comparable_integers((pa.chunked_array([pa.array(values, kind)]),), len(values)).tolist()
    return found


RISING: list[tuple[pa.DataType, list[Any]]] = [
    (pa.int32(), [-(2**31), -1, 0, 1, 2**31 - 1]),
    (pa.int64(), [-(2**63), -1, 0, 1, 2**63 - 1]),
    (pa.float32(), [-math.inf, -1.5, -0.0, 0.0, 1e-40, 1.5, math.inf, math.nan]),
    (pa.float64(), [-math.inf, -1.5, -0.0, 0.0, 5e-324, 1.5, math.inf, math.nan]),
    (pa.string(), ["", "1", "10", "9", "a", "\uffff", "\U0001f600"]),
    (pa.binary(), [b"", b"\0", b"\x7f", b"\x80", b"\xff\xff"]),
    (pa.bool_(), [False, True]),
    (pa.date32(), [dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(9999, 12, 31)]),
    (pa.timestamp("us"), [dt.datetime(1900, 1, 1), dt.datetime(1970, 1, 1), dt.datetime(2024, 1, 1, 0, 0, 0, 1)]),
    (pa.timestamp("ms", "UTC"), [dt.datetime(1900, 1, 1, tzinfo=dt.timezone.utc), dt.datetime.now(dt.timezone.utc)]),
    (pa.time32("ms"), [dt.time(0), dt.time(23, 59, 59)]),
    (pa.time64("us"), [dt.time(0), dt.time(0, 0, 0, 1)]),
    (pa.decimal128(5, 2), [Decimal("-999.99"), Decimal(-1), Decimal(0), Decimal("0.01"), Decimal("999.99")]),
    (pa.decimal128(38, 0), [Decimal(-(10**38) + 1), Decimal(0), Decimal(10**38 - 1)]),
]


@pytest.mark.parametrize(("kind", "values"), RISING, ids=[str(kind) for kind, _ in RISING])
def test_greater_values_are_greater_numbers(kind: pa.DataType, values: list[Any]) -> None:
    found = ranks(kind, values)
    assert found == sorted(set(found))
    assert ranks(kind, values[::-1]) == found[::-1]
    doubled = ranks(kind, values * 2)
    assert doubled[: len(values)] == doubled[len(values) :]


@pytest.mark.parametrize(
    "kind", [pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.decimal128(5, 2), pa.decimal128(38, 10)]
)
def test_null_is_zero_among_numbers(kind: pa.DataType) -> None:
    low, null, zero, high = ranks(kind, [-1, None, 0, 1])
    assert low < null == zero < high


def test_null_is_the_first_day_of_1970_and_the_begin_of_a_day() -> None:
    before, null, first, after = ranks(pa.date32(), [dt.date(1969, 12, 31), None, dt.date(1970, 1, 1), dt.date.max])
    assert before < null == first < after
    null, first, second = ranks(pa.time32("ms"), [None, dt.time(0), dt.time(1)])
    assert null == first < second


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [
        (pa.string(), "", "a"),
        (pa.binary(), b"", b"a"),
        (pa.bool_(), False, True),
        (pa.timestamp("us"), dt.datetime(1, 1, 1), dt.datetime(2024, 1, 1)),
        (pa.time64("us"), dt.time(0), dt.time(1)),
    ],
)
def test_null_is_below_every_other_type(kind: pa.DataType, low: object, high: object) -> None:
    null, first, second = ranks(kind, [None, low, high])
    assert null < first < second
    assert len(set(ranks(kind, [None, None]))) == 1


def test_every_nan_is_the_same() -> None:
    other_nan = np.array([0x7FF8000000000001, 0xFFF8000000000000], np.uint64).view(np.float64)
    first, second, infinity = ranks(pa.float64(), [*other_nan, math.inf])
    assert first == second > infinity


def test_without_columns_all_are_alike() -> None:
    assert comparable_integers((), 3).tolist() == [0, 0, 0]
    assert comparable_integers((), 0).tolist() == []


def test_several_columns_compare_in_order() -> None:
    columns = (
        pa.chunked_array([[1, 1], [0, 2, 1]]),
        pa.chunked_array([pa.array(["b", "a", "z", "", None])]),
    )
    found = comparable_integers(columns, 5)
    assert np.argsort(found).tolist() == [2, 4, 1, 0, 3]


@pytest.mark.parametrize("kind", [kind for kind, _ in RISING], ids=str)
def test_no_rows_of_any_type(kind: pa.DataType) -> None:
    assert ranks(kind, []) == []


ORDERS = st.tuples(st.integers(-(2**63), 2**63 - 1), st.text(max_size=2), st.floats(allow_nan=False))


@settings(deadline=None)
@given(st.lists(ORDERS, max_size=20))
def test_rows_compare_as_their_values(rows: list[tuple[int, str, float]]) -> None:
    first, second, third = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
    columns = (pa.array(first, pa.int64()), pa.array(second, pa.string()), pa.array(third, pa.float64()))
    found = comparable_integers(tuple(pa.chunked_array([column]) for column in columns), len(rows))
    key = [(one, two.encode(), three, math.copysign(1, three)) for one, two, three in rows]
    for i in range(len(rows)):
        for j in range(len(rows)):
            assert (found[i] < found[j]) == (key[i] < key[j])


def test_a_delete_is_without_ordering_value_if_it_is_null_or_the_int_0() -> None:
    assert lacks_ordering_value([pa.chunked_array([pa.array([0, 1, None], pa.int32())])], 3).tolist() == [
        True,
        False,
        True,
    ]
    assert lacks_ordering_value([pa.chunked_array([pa.array([0, 1, None], pa.int64())])], 3).tolist() == [
        False,
        False,
        True,
    ]
    assert lacks_ordering_value([], 2).tolist() == [True, True]
    several = [pa.chunked_array([pa.array([None], pa.int32())])] * 2
    assert lacks_ordering_value(several, 1).tolist() == [False]


def test_each_way_of_marking_a_row_as_deleted() -> None:
    rows = pa.table({"gone": [True, None, False, None], "op": ["I", "D", "-U", None], "kind": [1, 2, 3, None]})
    rule = MergeRule(MergeMode.COMMIT_TIME_ORDERING, keys_of)
    assert rule.deletes(rows).tolist() == [False] * 4
    for changes, deleted in (
        ({"delete_column": "gone"}, [True, False, False, False]),
        ({"operation_column": "op"}, [False, True, True, False]),
        ({"delete_marker": DeleteMarker("kind", "3")}, [False, False, True, False]),
    ):
        changed: Any = replace(rule, **changes)
        assert changed.deletes(rows).tolist() == deleted
    every = replace(rule, delete_column="gone", operation_column="op", delete_marker=DeleteMarker("kind", "3"))
    assert every.columns == ("gone", "kind", "op")
    assert every.deletes(rows.select(["op"])).tolist() == [
        False,
        True,
        True,
        False,
    ]  # of columns that are not there, none
    assert replace(rule, operation_column="op").delete_columns == ()


def test_a_null_or_the_marker_leaves_a_column_as_it_was() -> None:
    values = pa.chunked_array([["x", None, "__unset"]])
    assert PartialUpdate(frozenset("a")).is_set("a", values).tolist() == [True, False, True]
    assert PartialUpdate(frozenset("a"), "__unset").is_set("a", values).tolist() == [True, True, False]
    assert PartialUpdate(frozenset("a"), "__unset").is_set("b", values).tolist() == [True, True, True]
