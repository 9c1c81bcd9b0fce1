"""Each operator of tuples, with columns of each type and literals that they have, nearly have, and cannot have."""

from __future__ import annotations

import datetime as dt
import operator
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from hudiformat.conditions.filters import as_filter, columns_of
from hudiformat.errors import FilterError

UTC = dt.timezone.utc
DAY, NOON = dt.date(2024, 1, 31), dt.datetime(2024, 1, 31, 12)
SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Column:
    """A type, values of it, and literals as texts and as values of Python, which compare with them exactly."""

    kind: pa.DataType
    values: tuple[Any, ...]
    literals: dict[str, Any]

    @property
    def rows(self) -> pa.Table:
        return pa.table({"c": pa.array([*self.values, None], self.kind)})


def numbers(*texts: str) -> dict[str, Decimal]:
    return {text: Decimal(text) for text in texts}


def times(zone: dt.tzinfo | None) -> dict[str, dt.datetime]:
    texts = ("2024-01-31 12:00:00", "2024-01-31T12:00:00.000500", "2024-01-31 12:00:00.001", "0001-01-01 00:00:00")
    return {
        text: dt.datetime.fromisoformat(text).replace(tzinfo=zone)
        for text in (*texts, "2024-01-31", " 2025-01-01 ".strip())
    }


MOMENTS = (NOON, NOON + dt.timedelta(milliseconds=1), NOON - dt.timedelta(milliseconds=1))
ZONED = tuple(one.replace(tzinfo=UTC) for one in MOMENTS)
WHOLE = numbers(
    "5", "5.0", "5.5", "-6.25", "0", "-0", "1E+2", "300", "9999999999", "9223372036854775808", "-1" + "0" * 30
)
PARTS = numbers("9", "9.00", "9.005", "9.01", "-9.005", "0", "10000", "-10000", "1" + "0" * 20, "0." + "0" * 30 + "1")
TEXTS = {text: text for text in ("", "a", "b", "1", "é")}
COLUMNS = {
    "boolean": Column(pa.bool_(), (True, False), {"true": True, "FALSE": False}),
    **{str(kind): Column(kind, (5, 6, -7, 0, 100), WHOLE) for kind in (pa.int8(), pa.int32(), pa.int64())},
    **{str(kind): Column(kind, (5, 6, 0, 100), WHOLE) for kind in (pa.uint8(), pa.uint64())},
    "float": Column(pa.float32(), (5.0, 5.5, -6.25, 0.0), numbers("5", "5.5", "-6.25", "0", "1e2", "16777217")),
    "double": Column(pa.float64(), (5.0, 5.5, -6.25, -0.0), numbers("5", "5.5", "-6.25", "0", "1e2")),
    **{
        f"decimal({precision}, 2)": Column(
            pa.decimal256(precision, 2) if precision > 38 else pa.decimal128(precision, 2),
            (Decimal("9.00"), Decimal("9.01"), Decimal("-9.01"), Decimal("0.00")),
            PARTS,
        )
        for precision in (3, 38, 40)
    },
    "date": Column(
        pa.date32(),
        (DAY, DAY + dt.timedelta(1), dt.date(1, 1, 1)),
        {text: dt.date.fromisoformat(text) for text in ("2024-01-31", "2024-02-02", "0001-01-01", "9999-12-31")},
    ),
    **{f"timestamp[{unit}]": Column(pa.timestamp(unit, "UTC"), ZONED, times(UTC)) for unit in ("ms", "us")},
    **{f"local timestamp[{unit}]": Column(pa.timestamp(unit), MOMENTS, times(None)) for unit in ("ms", "us")},
    **{
        str(kind): Column(
            kind,
            (dt.time(12), dt.time(12, 0, 0, 1000), dt.time(0)),
            {text: dt.time.fromisoformat(text) for text in ("12:00:00", "12:00:00.000500", "23:59:59.999999", "00:00")},
        )
        for kind in (pa.time32("ms"), pa.time64("us"))
    },
    "string": Column(pa.string(), ("a", "b", "", "é"), TEXTS),
    "binary": Column(pa.binary(), (b"a", b"b", b""), {text: text.encode() for text in TEXTS}),
    "fixed": Column(pa.binary(2), (b"aa", b"ab"), {text: text.encode() for text in ("aa", "ac")}),
}


def found(column: Column, sign: str, value: Any) -> list[Any]:
    return found_by(column, [("c", sign, value)])


def found_by(column: Column, given: Any) -> list[Any]:
    condition = as_filter(given, column.rows.schema)
    assert condition is not None
    columns_of(condition, column.rows.schema)  # as a read does; of what does not fit it says SchemaError
    kept: list[Any] = column.rows.filter(condition)["c"].to_pylist()
    return kept


@pytest.mark.parametrize("name", COLUMNS)
def test_each_operator_compares_exactly_with_each_literal(name: str) -> None:
    column = COLUMNS[name]
    for text, value in column.literals.items():
        for sign, compare in SIGNS.items():
            right = [one for one in column.values if compare(one, value)]
            assert found(column, sign, text) == right, (sign, text)
            assert found(column, sign, value) == right, (sign, value)
        same = [one for one in column.values if one == value]
        others = [*(one for one in column.values if one != value), None]
        assert found(column, "in", [text]) == found(column, "in", (value,)) == same, text
        assert found(column, "not in", [text]) == found(column, "not in", {value}) == others, text


@pytest.mark.parametrize("name", COLUMNS)
def test_in_finds_what_is_equal_to_one_of_the_literals(name: str) -> None:
    column = COLUMNS[name]
    values = set(column.literals.values())
    for given in (list(column.literals), list(column.literals.values()), [*column.literals, *values]):
        assert found(column, "in", given) == [one for one in column.values if one in values]
        assert found(column, "in", [None, *given]) == [
            one for one in [*column.values, None] if one is None or one in values
        ]
        assert found(column, "not in", [None, *given]) == [one for one in column.values if one not in values]


@pytest.mark.parametrize("name", COLUMNS)
def test_literals_of_other_types_are_compared_by_all_operators_or_refused_by_all(name: str) -> None:
    column = COLUMNS[name]
    for value in OTHERS:
        ended = {_ending(column, sign, value) for sign in SIGNS} | {_ending(column, "in", [value])}
        assert len(ended) == 1, (value, ended)


@pytest.mark.parametrize(
    "name", [one for one in COLUMNS if not one.startswith(("boolean", "string", "binary", "fixed"))]
)
def test_conditions_as_text_compare_as_tuples_do(name: str) -> None:
    column = COLUMNS[name]
    is_number = all(isinstance(value, Decimal) for value in column.literals.values())
    for text, value in column.literals.items():
        if "e" in text.lower():
            continue  # a double in Spark
        literal = text if is_number else f"'{text}'"
        for sign, compare in SIGNS.items():
            right = [one for one in column.values if compare(one, value)]
            assert found_by(column, f"c {sign} {literal}") == right, (sign, text)
        others = [one for one in column.values if one != value]
        assert found_by(column, f"c not in ({literal})") == others, text


OTHERS = (True, 1, 1.5, Decimal("1.5"), "1.5", "x", b"x", DAY, NOON, ZONED[0], dt.time(12), {"a": 1}, [1])


def _ending(column: Column, sign: str, value: Any) -> str:
    """Whether rows are compared with *value*; an error of Arrow, also of one while rows are filtered, is no answer."""
    try:
        condition = as_filter([("c", sign, value)], column.rows.schema)
    except FilterError:
        return "refused"
    assert condition is not None
    column.rows.filter(condition)
    return "compared"


def test_a_float_is_compared_by_its_exact_value_as_a_double_would_be() -> None:
    """A third of a float is not the third of a double, by ``=`` and by ``in`` alike."""
    column = Column(pa.float32(), (0.1, float("nan"), float("inf")), {})
    [stored, _, infinite] = column.rows["c"].to_pylist()[:3]
    for given in ("0.1", 0.1):
        assert found(column, "=", given) == found(column, "in", [given]) == []
        assert found(column, ">", given) == [stored, infinite]
    assert found(column, "in", [stored, "inf", "nan"]) == [stored, infinite]
    assert found(column, "=", "nan") == []


@pytest.mark.parametrize("kind", [pa.int32(), pa.decimal128(6, 2)])
def test_what_is_not_finite_is_below_or_above_all_numbers(kind: pa.DataType) -> None:
    column = Column(kind, (1, 2), {})
    values = column.rows["c"].to_pylist()[:2]
    for value in (float("inf"), float("nan")):
        assert found(column, "<", value) == found(column, "<=", value) == found(column, "!=", value) == values
        assert found(column, ">", value) == found(column, "=", value) == found(column, "in", [value]) == []
    assert found(column, ">", float("-inf")) == found(column, ">=", float("-inf")) == values
    assert found(column, "<", float("-inf")) == []


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_moment_is_not_compared_with_what_is_not_finite(value: float) -> None:
    with pytest.raises(FilterError, match="is not compared with a column of type timestamp"):
        found(COLUMNS["timestamp[us]"], "<", value)


@pytest.mark.parametrize(
    ("name", "value", "advice"),
    [("timestamp[us]", NOON, "give it a time zone"), ("local timestamp[ms]", ZONED[0], "leave its time zone out")],
)
def test_moments_with_a_zone_and_without_are_not_compared(name: str, value: Any, advice: str) -> None:
    for sign, given in (("=", value), ("in", [value])):
        with pytest.raises(FilterError, match=advice):
            found(COLUMNS[name], sign, given)


def test_a_date_is_its_midnight_and_a_moment_lies_within_its_day() -> None:
    days, moments = COLUMNS["date"], COLUMNS["local timestamp[us]"]
    assert found(days, "<=", NOON) == [DAY, dt.date(1, 1, 1)]
    assert found(days, "=", NOON) == found(days, "in", [NOON]) == []
    assert found(moments, ">", DAY) == list(MOMENTS)
    assert found(moments, "<", DAY + dt.timedelta(1)) == list(MOMENTS)
