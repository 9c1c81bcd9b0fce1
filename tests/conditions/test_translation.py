"""Conditions as text find the rows that Spark SQL finds by them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from hudiformat.conditions.translation import as_expression, columns_named, implied_condition
from hudiformat.errors import FilterError, SchemaError
from tests.effort import only_long

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.unmeasured

NOON = datetime(2024, 1, 1, 12, tzinfo=timezone.utc)
MONEY, WIDE = pa.decimal128(18, 2), pa.decimal128(38, 20)
ROWS = pa.table(
    {
        "row": pa.array(range(5), pa.int32()),
        "i": pa.array([1, 2, -3, None, 2**31 - 1], pa.int32()),
        "f": pa.array([1.0, float("nan"), -0.0, None, float("inf")], pa.float64()),
        "s": pa.array(["ab", "b", "a%\n", None, "\U0010ffffz"], pa.string()),
        "d": pa.array([date(2024, 1, 1), date(2024, 2, 1), date(1969, 12, 31), None, date(2024, 1, 1)], pa.date32()),
        "t": pa.array([NOON, NOON + timedelta(hours=1), NOON, None, NOON], pa.timestamp("us", "UTC")),
        "x": pa.array([Decimal("1.50"), Decimal(2), Decimal("-0.01"), None, Decimal(99)], pa.decimal128(10, 2)),
        "flag": pa.array([True, False, True, None, False], pa.bool_()),
        "st": pa.array([{"a": 1}, {"a": None}, {"a": 3}, None, {"a": 5}], pa.struct([("a", pa.int64())])),
        "by": pa.array([b"a", b"b", b"", None, b"\xff"], pa.binary()),
        "q": pa.array(["it's", "its", "'", None, ""], pa.string()),
        "Odd name": pa.array(["x", "y", "z", None, "x"], pa.string()),
        "short": pa.array([0.1, float("nan"), 1.5, None, 16777216.0], pa.float32()),
        "long": pa.array([2**53 + 1, 2**53, -3, None, 1], pa.int64()),
        "money": pa.array([Decimal("100.01"), Decimal(100), Decimal("9" * 16), None, Decimal("-0.01")], MONEY),
        "wide": pa.array([Decimal("0.1"), Decimal("0.10000000000000000001"), Decimal(1), None, Decimal(2)], WIDE),
    }
)
CONDITIONS = [
    *(
        "i = 1",
        "i != 1",
        "i <> 1",
        "1 < i",
        "2 >= i",
        "i > 1.5",
        "i <= 1.5",
        "i = 1.5",
        "i != 1.5",
        "i >= -3",
        "i = -3",
    ),
    *("i in (1, 3, 99999999999)", "i not in (1)", "i not in (1, null)", "i in (1, null)", "i in (2, -3)", "i = null"),
    *("i between 1 and 2", "i not between 1 and 2", "not (i = 1 or f > 0)", "not (i = 1 and f > 0)", "i = 3000000000"),
    *("f > 0", "f >= 1", "f < 1", "f != 1", "f in (1.0)", "f not in (1.0)", "f = 0", "not f > 0", "f between 0 and 2"),
    *("s = 'ab'", "s like 'a%'", "s not like 'a%'", "s like '_b'", "s like '%'", "s is null", "s is not null"),
    *(
        "s between 'a' and 'az'",
        "s >= 'b'",
        "s in ('ab', 'b')",
        "s > ''",
        "s like 'a%n'",
        "s = 'it''s'",
        "s like '%\\n'",
    ),
    *(
        "d >= '2024-01-15'",
        "d = date '2024-01-01'",
        "d < date'2024-01-01'",
        "d in (date'2024-01-01')",
        "d > '1969-12-31'",
    ),
    *("q = 'it''s'", "q = 'it' 's'", "q = ''''", "q = ''", r"q != 'it\'s'"),
    *("t > '2024-01-01 12:30:00'", "t = timestamp'2024-01-01T12:00:00Z'", "t <= timestamp '2024-01-01 12:00:00'"),
    *("x = 1.5", "x > 1.995", "x in (2)", "x != 1.5", "x between 0 and 1e2", "x < 0", "x = 1.501"),
    *("flag", "not flag", "flag = false", "flag is true", "flag is not true", "flag is not null", "flag != true"),
    *(
        "st.a = 3",
        "st.a is null",
        "st is null",
        "by = X'61'",
        "by > X'61'",
        "`Odd name` = 'x'",
        "true",
        "false",
        "not true",
    ),
    *("(i = 1) and not (s = 'b')", "i = 1 or i is null", "(i > 0 and f > 0) or flag", "not (not (i = 1))", "i = 2L"),
    *("i = i", "row < i", "row >= i"),
    *("short = 0.1F", "short = cast(0.1 as float)", "short > float(0.1)", "short = 0.1", "short in (0.1F, 1.5D)"),
    *("f = -0.0D", "f > 1e-3", "f < 0.1F", "i = 2D", "i > 1.5F", "i < 1e0", "x = 1.5D", "x > 15e-1", "x < 0.1F"),
    *("long = cast(1 as int)", "long = cast(1e0 as bigint)", "long >= 9007199254740992", "long < 9007199254740991D"),
    *(
        "x = cast(1.5 as decimal(3, 1))",
        "x = cast(2 as decimal)",
        "wide = 0.1",
        "money > 1e2",
        "t > cast('2024-01-01' as date)",
    ),
]
NOT_UNDERSTOOD = [
    *("s = 1", "i = 'a'", "abs(i) = 1", "i <=> 1", "i = f", "s like", "i = 1; i = 2", "", "s like 'a/%' escape '/'"),
    *(
        "i between symmetric 2 and 1",
        "i in (select 1)",
        "s like 'a\\\\_'",
        "i",
        "s rlike 'a'",
        "d = '2024-01-01 10:00:00'",
    ),
    *(
        "i = cast(1.7 as int)",
        "i = cast(300 as tinyint)",
        "x = cast(1.55 as decimal(3, 1))",
        "x = cast(99 as decimal(1))",
    ),
    *(
        "long = 9007199254740992D",
        "long = 9007199254740992e0",
        "long = 16777216F",
        "wide = 0.1D",
        "money < 1e15",
        "short = 1e39F",
    ),
    *("t > cast('2024-01-01 12:30:00' as date)", "i = cast(1 as string)", "i = cast(1 as array<int>)", "f = 1e400"),
    *("t = 'yesterday'", "st = 1", "i is 1 + 1", "s like any ('a', 'b')", "x = 'a'", "by = 'a'", "flag = 1", "d = 1"),
]


def found(condition: str) -> list[int]:
    rows: list[int] = ROWS.filter(as_expression(condition, ROWS.schema))["row"].to_pylist()
    return rows


@only_long
@pytest.mark.spark
def test_spark_finds_the_same_rows_and_none_that_the_implied_condition_rules_out(spark: SparkSession) -> None:
    for condition, wanted in found_by(spark, CONDITIONS).items():
        assert found(condition) == wanted, condition
        assert kept(condition, wanted), condition


@pytest.mark.spark
def test_what_is_not_understood_rules_out_nothing_that_spark_finds(spark: SparkSession) -> None:
    conditions = (
        "abs(i) = 3 and s like 'a%'",
        "not (abs(i) = 3 or f > 1)",
        "I = 1",
        "S = 'b' or ST.A = 3",
        "i = '1'",
        "i = cast(1.7 as int)",
        "x = cast(1.50 as decimal(3, 0))",
        "long = 9007199254740992D",
        "long in (9007199254740992e0)",
        "wide = 0.1D",
        "t >= cast('2024-01-01 12:30:00' as date)",
    )
    for condition, wanted in found_by(spark, conditions).items():
        assert wanted, condition
        assert kept(condition, wanted), condition


def found_by(spark: SparkSession, conditions: Sequence[str]) -> dict[str, list[int]]:
    """The rows that each of *conditions* is true of, by one query of Spark for all of them."""
    from pyspark.sql import functions

    columns = [functions.expr(condition).alias(f"c{number}") for number, condition in enumerate(conditions)]
    answers = spark.createDataFrame(ROWS).select("row", *columns).collect()
    return {
        condition: [row["row"] for row in answers if row[f"c{number}"]] for number, condition in enumerate(conditions)
    }


def kept(condition: str, wanted: list[int]) -> bool:
    expression = implied_condition(condition, ROWS.schema)
    return expression is None or set(wanted) <= set(ROWS.filter(expression)["row"].to_pylist())


def test_a_part_that_is_not_understood_is_passed_over_and_the_others_count() -> None:
    expression = implied_condition("abs(i) = 3 and s = 'ab'", ROWS.schema)
    assert expression is not None
    assert ROWS.filter(expression)["row"].to_pylist() == [0]
    assert implied_condition("abs(i) = 3 or s = 'ab'", ROWS.schema) is None
    assert implied_condition("not (abs(i) = 3 and s = 'ab')", ROWS.schema) is None
    assert implied_condition("s like", ROWS.schema) is None


def test_two_quotes_in_a_text_are_one_and_rule_out_nothing_that_an_older_spark_finds() -> None:
    rows = pa.table({"s": ["it's", "its", 'a"b', "ab", "'", ""]})
    found = {
        "s = 'it''s'": ["it's"],
        "s in ('it' 's')": ["its"],
        's = "a""b"': ['a"b'],
        r"s = 'it\'s'": ["it's"],
        "s = ''''": ["'"],
        "s = ''": [""],
        "s like '%''%'": ["it's", "'"],
    }
    for condition, wanted in found.items():
        assert rows.filter(as_expression(condition, rows.schema))["s"].to_pylist() == wanted, condition
    assert implied_condition("s = 'it''s'", rows.schema) is None
    assert implied_condition("s = ''", rows.schema) is not None


def test_all_digits_of_a_negative_number_count() -> None:
    long = "-1234567890123456789012345678.9012345678"
    rows = pa.table({"c": pa.array([Decimal(long)], pa.decimal128(38, 10))})
    assert rows.filter(as_expression(f"c = {long}", rows.schema)) == rows
    assert rows.filter(as_expression(f"c < {long}", rows.schema)).num_rows == 0


def test_times_are_in_the_zone_that_is_given() -> None:
    expression = implied_condition("t = '2024-01-01 13:00:00'", ROWS.schema, timezone(timedelta(hours=1)))
    assert expression is not None
    assert ROWS.filter(expression)["row"].to_pylist() == [0, 2, 4]
    naive = pa.table({"t": pa.array([datetime(2024, 1, 1)], pa.timestamp("ms"))})
    assert naive.filter(as_expression("t = '2024-01-01'", naive.schema)).num_rows == 1
    with pytest.raises(FilterError, match="has a time zone, and the column has none"):
        as_expression("t = '2024-01-01T00:00:00Z'", naive.schema)


@pytest.mark.parametrize("condition", NOT_UNDERSTOOD)
def test_a_text_that_is_no_condition_on_these_columns_is_an_error(condition: str) -> None:
    with pytest.raises(FilterError):
        as_expression(condition, ROWS.schema)


def test_a_column_that_is_not_there_is_an_error_that_names_those_that_are() -> None:
    with pytest.raises(SchemaError, match=r"no column 'I'; did you mean 'i'\?; the columns are row, i, f") as caught:
        as_expression("I = 1", ROWS.schema)
    assert caught.value.column == "I"
    with pytest.raises(SchemaError, match=r"no column 'st.b'; did you mean 'st.a'.; the columns are st.a$"):
        as_expression("st.b = 1", ROWS.schema)
    with pytest.raises(SchemaError, match=r"no column 'i.b'; the columns are none$"):
        as_expression("i.b = 1", ROWS.schema)


def test_a_star_names_columns_that_are_not_known_by_name() -> None:
    assert columns_named("hash(I) = 1 and s = 'a'", ROWS.schema) == ["i", "s"]
    assert columns_named("hash(*) = 1", ROWS.schema) is None
    assert columns_named("hash(st.*) = 1", ROWS.schema) is None
