"""Filters as expressions, text and tuples find the same rows."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudiformat.conditions import filters
from hudiformat.conditions.filters import as_filter, columns_of, match_rows
from hudiformat.errors import FilterError, SchemaError

ROWS = pa.table(
    {
        "id": ["a", "b", "c", None],
        "v": [1, 2, None, 4],
        "s": pa.array([{"x": 1}, {"x": 2}, {"x": 3}, None], pa.struct([("x", pa.int64())])),
    }
)


def found(given: Any) -> list[str | None]:
    expression = as_filter(given, ROWS.schema)
    assert expression is not None
    kept: list[str | None] = ROWS.filter(expression)["id"].to_pylist()
    return kept


@pytest.mark.parametrize(
    ("given", "ids"),
    [
        (pc.field("v") > 1, ["b", None]),
        ("v > 1", ["b", None]),
        ([("v", ">", 1)], ["b", None]),
        ([("v", ">", 1), ("id", "=", "b")], ["b"]),
        ([[("v", ">", 1), ("id", "==", "b")], [("id", "!=", "b")]], ["a", "b", "c"]),
        ((("v", "<=", 1),), ["a"]),
        ([("v", "<", 2)], ["a"]),
        ([("v", ">=", 2)], ["b", None]),
        ([("id", "in", {"a", "c"})], ["a", "c"]),
        ([("id", "NOT IN", ["a", "c"])], ["b", None]),
        ([("s.x", ">", 1)], ["b", "c"]),
    ],
)
def test_each_form_finds_its_rows(given: Any, ids: list[str | None]) -> None:
    assert found(given) == ids


@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize("unit", ["s", "ms"])
@pytest.mark.parametrize(
    ("op", "after"), [("=", []), ("!=", [0, 1]), ("<", [0]), ("<=", [0]), (">", [1]), (">=", [1])], ids=str
)
def test_a_moment_between_two_of_the_columns_unit_is_none_of_them(
    unit: str, zone: str | None, op: str, after: list[int]
) -> None:
    """A column of milliseconds has nothing at half a millisecond: the literal is not cut off to the one before."""
    kind = pa.timestamp(unit, zone)
    rows = pa.table({"at": pa.array([-1, 0], kind), "n": [0, 1]})
    between = {"s": "23:59:59.5", "ms": "23:59:59.9995"}[unit]
    text = f"1969-12-31 {between}"
    for given in ([("at", op, text)], f"at {op} timestamp '{text}'"):
        expression = as_filter(given, rows.schema)
        assert expression is not None
        assert rows.filter(expression)["n"].to_pylist() == after


def test_none_asks_for_nothing() -> None:
    assert as_filter(None, ROWS.schema) is None


@pytest.mark.parametrize("given", [5, [], [[]], ["v > 1"], [("v", ">")], [("v", ">", 1), "x"], [(1, ">", 1)], [[5]]])
def test_what_is_no_filter_is_refused(given: Any) -> None:
    with pytest.raises(FilterError, match="expected an expression of pyarrow, text such as"):
        as_filter(given, ROWS.schema)


@pytest.mark.parametrize(
    "given", [pc.field(1) > 1, pc.field(2, 0) > 1, pc.field((2, "x")) > 1, ~pc.field(0).isin(["a"])]
)
def test_a_column_has_to_be_named(given: Any) -> None:
    with pytest.raises(FilterError, match="expected columns by their names, found a number in"):
        as_filter(given, ROWS.schema)


@pytest.mark.parametrize(
    "given", [pc.field(("s", 0)) > 1, pc.field("id") == 'a" FieldPath(', pc.field("id").isin(["FieldPath(0)", "b"])]
)
def test_what_only_looks_like_a_number_is_taken(given: Any) -> None:
    assert found(given) == ROWS.filter(given)["id"].to_pylist()


@pytest.mark.parametrize("sign", ["~", "like", 1])
def test_other_operators_are_refused(sign: Any) -> None:
    with pytest.raises(FilterError, match="expected one of =, ==, !="):
        as_filter([("v", sign, 1)], ROWS.schema)


def test_a_value_that_arrow_does_not_take_is_refused() -> None:
    with pytest.raises(FilterError, match=r"filter \('v', '=', <object"):
        as_filter([("v", "=", object())], ROWS.schema)


@pytest.mark.parametrize("values", ["xy", b"xy", 5])
@pytest.mark.parametrize("sign", ["in", "not in"])
def test_in_takes_a_list_and_never_the_letters_of_a_text(sign: str, values: Any) -> None:
    with pytest.raises(FilterError, match="expected a list of values after 'in', found (str|bytes|int)"):
        as_filter([("id", sign, values)], ROWS.schema)


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_both_zeros_are_one_value(zero: float) -> None:
    rows = pa.table({"f": [0.0, -0.0, 1.0]})
    for sign, count in (("in", 2), ("not in", 1)):
        condition = as_filter([("f", sign, [zero])], rows.schema)
        assert condition is not None
        assert rows.filter(condition).num_rows == count


def test_the_closest_column_is_named() -> None:
    with pytest.raises(SchemaError, match=r"no column 'ID'; did you mean 'id'\?; the columns are id, v, s"):
        as_filter([("ID", "=", "a")], ROWS.schema)


def test_the_columns_of_a_condition_are_known() -> None:
    assert columns_of((pc.field("id") == "a") | (pc.field("v") > 1), ROWS.schema) == ["id", "v"]
    assert columns_of(pc.field("s", "x") > 1, ROWS.schema) == ["s"]
    assert columns_of(pc.scalar(True), ROWS.schema) == []


def test_of_many_columns_few_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def counted(table: pa.Table, condition: pc.Expression) -> pa.Array:
        tried.append(table.num_columns)
        return match_rows(table, condition)

    monkeypatch.setattr(filters, "match_rows", counted)
    schema = pa.schema([(f"column {number}", pa.int64()) for number in range(1000)])
    condition = (pc.field("column 17") > 1) & (pc.field("column 999") < 9)
    assert columns_of(condition, schema) == ["column 17", "column 999"]
    assert max(tried) == 5  # the other three are in the text of the condition, too


def test_rows_that_match_are_found_over_all_chunks() -> None:
    rows = pa.concat_tables([ROWS, ROWS.slice(1)])
    assert match_rows(rows, pc.field("v") > 1).to_pylist() == [False, True, None, True, True, None, True]
    assert match_rows(rows.slice(0, 0), pc.field("v") > 1).to_pylist() == []


def test_an_expression_that_is_no_condition_matches_no_rows() -> None:
    with pytest.raises(pa.ArrowTypeError, match="expected a condition, found v, whose values are int64"):
        match_rows(ROWS, pc.field("v"))


TYPED = pa.table(
    {
        "id": ["a", "b", "c"],
        "n": pa.array([9, 10, 100], pa.int32()),
        "big": pa.array([9, 10, 100], pa.int64()),
        "f": pa.array([0.5, 10, math.nan], pa.float32()),
        "d": pa.array([0.5, 10, math.nan], pa.float64()),
        "cents": pa.array([Decimal("9.99"), Decimal("10.00"), Decimal("100.00")], pa.decimal128(9, 2)),
        "flag": [True, False, None],
        "day": pa.array([1, 19_000, 20_000], pa.int32()).cast(pa.date32()),
        "at": pa.array([1, 19_000 * 86_400, 20_000 * 86_400], pa.int64()).cast(pa.timestamp("s")).cast(
            pa.timestamp("us", "UTC")
        ),
        "wall": pa.array([1, 19_000 * 86_400, 20_000 * 86_400], pa.int64()).cast(pa.timestamp("s")),
        "s": pa.array([{"x": 9}, {"x": 10}, {"x": 100}], pa.struct([("x", pa.int64())])),
    }
)  # fmt: skip


@pytest.mark.parametrize(
    ("given", "ids"),
    [
        (("n", ">=", "10"), "bc"),  # not by their texts, in which "9" is greater
        (("n", "=", " 10 "), "b"),
        (("n", "in", ["9", 100, "7"]), "ac"),
        (("n", "not in", ["9"]), "bc"),
        (("big", ">", "9"), "bc"),
        (("f", "<", "1"), "a"),
        (("d", ">=", "1e1"), "b"),
        (("d", "<", "Infinity"), "ab"),
        (("cents", "=", "10"), "b"),
        (("cents", ">", "9.99"), "bc"),
        (("flag", "=", "TRUE"), "a"),
        (("day", ">", "2022-01-08"), "c"),
        (("day", "in", ["2022-01-08"]), "b"),
        (("at", ">=", "2022-01-08 00:00:00"), "bc"),
        (("at", "=", "2022-01-08T01:00:00+01:00"), "b"),
        (("wall", "<=", "2022-01-08"), "ab"),
        (("s.x", ">=", "10"), "bc"),
        (("id", ">=", "b"), "bc"),
        (("n", ">=", 10), "bc"),
        (("n", ">", "9.5"), "bc"),
    ],
)
def test_texts_in_tuples_are_values_of_the_column(given: tuple[str, str, Any], ids: str) -> None:
    expression = as_filter([given], TYPED.schema)
    assert expression is not None
    assert "".join(TYPED.filter(expression)["id"].to_pylist()) == ids


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("n", "=", "ten"), r"filter \('n', '=', 'ten'\): ten is no number"),
        (("n", "=", "NaN"), "'NaN' is not compared with a column of type int32"),
        (("n", "in", ["1", "x"]), "x is no number"),
        (("flag", "=", "1"), "'1' is not compared with a column of type bool"),
        (("day", "=", "someday"), "'someday' is not a date such as"),
        (("day", "=", "2022-01-08 12:00"), "has a time of day"),
        (("wall", "=", "2022-01-08T00:00:00Z"), "has a time zone, and the column has none"),
    ],
)
def test_texts_in_tuples_that_are_no_values_of_the_column(given: tuple[str, str, Any], message: str) -> None:
    with pytest.raises(FilterError, match=message):
        as_filter([given], TYPED.schema)
