"""Statistics of functions of a column's values."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

from hudiformat.codec.statistics import ColumnStatistics, unknown_statistics
from hudiformat.file_group.base_file.expressions import ExpressionCollector, IndexedExpression

DAYS = [dt.date(1969, 12, 31), dt.date(2024, 2, 29), None]
SCHEMA = pa.schema(
    [
        pa.field("s", pa.string()),
        pa.field("day", pa.date32()),
        pa.field("at", pa.timestamp("us", "UTC")),
        pa.field("f", pa.float64()),
        pa.field("n", pa.struct([("x", pa.int32())])),
    ]
)


def collected(function: str, column: str, values: list[Any]) -> ColumnStatistics | None:
    """The statistics of a function of a column of SCHEMA, of rows in two parts; None where it has none."""
    name, _, inner = column.partition(".")
    rows = [{name: {inner: value} if inner else value} for value in values]
    collector, other = (ExpressionCollector([IndexedExpression("i", column, function)], SCHEMA) for _ in range(2))
    collector.add(pa.Table.from_pylist(rows[:1], SCHEMA))
    other.add(pa.Table.from_pylist(rows[1:], SCHEMA))
    return (collector + other).finish().get("i")


@pytest.mark.parametrize(
    ("function", "column", "values", "lower", "upper"),
    [
        ("identity", "s", ["b", "a", None], "a", "b"),
        ("identity", "n.x", [3, 1, None], 1, 3),
        ("identity", "day", DAYS, -1, 19782),
        ("upper", "s", ["b", "A", None], "A", "B"),
        ("lower", "s", ["b", "A", None], "a", "b"),
        ("year", "day", DAYS, 1969, 2024),
        ("month", "day", DAYS, 2, 12),
        ("day", "day", DAYS, 29, 31),
    ],
)
def test_bounds_are_those_of_the_results(function: str, column: str, values: list[Any], lower: Any, upper: Any) -> None:
    found = collected(function, column, values)
    assert found is not None
    assert (found.lower, found.upper, found.values, found.nulls) == (lower, upper, 3, 1)


@pytest.mark.parametrize(
    ("function", "column", "values", "kind"),
    [
        ("upper", "s", ["a", "straße"], pa.string()),
        ("hour", "at", [dt.datetime(2024, 2, 29, tzinfo=dt.timezone.utc)] * 2, pa.int32()),
        ("year", "at", [dt.datetime(2024, 2, 29, tzinfo=dt.timezone.utc)] * 2, pa.int32()),
        ("from_unixtime", "n.x", [1, 2], pa.string()),
        ("date_format", "day", DAYS, pa.string()),
        ("to_date", "s", ["2024-02-29", "x"], pa.date32()),
    ],
)
def test_what_depends_on_the_session_or_on_java_has_the_widest_bounds(
    function: str, column: str, values: list[Any], kind: pa.DataType
) -> None:
    found, widest = collected(function, column, values), unknown_statistics(kind)
    assert found is not None
    assert (found.kind, found.lower, found.upper) == (kind, widest.lower, widest.upper)


def test_of_rows_without_the_column_nothing_is_known() -> None:
    collector = ExpressionCollector([IndexedExpression("i", "s", "upper")], SCHEMA)
    collector.add(pa.table({"day": pa.array(DAYS, pa.date32())}))
    assert collector.finish()["i"].lower == unknown_statistics(pa.string()).lower


@pytest.mark.parametrize(("function", "column"), [("split", "s"), ("identity", "f"), ("upper", "missing")])
def test_functions_and_types_without_statistics(function: str, column: str) -> None:
    assert IndexedExpression("i", column, function).kind(SCHEMA) is None
    assert collected(function, column, []) is None
