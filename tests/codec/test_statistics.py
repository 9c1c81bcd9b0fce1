"""Statistics of columns: whatever the values, they lie between the bounds."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.codec.statistics import NO_ROWS, StatisticsCollector, column_statistics, kind_of, unknown_statistics

VALUES: dict[str, tuple[pa.DataType, list[Any], Any, Any]] = {
    "booleans": (pa.bool_(), [True, None, False], False, True),
    "numbers": (pa.int32(), [3, -1, None], -1, 3),
    "texts": (pa.string(), ["b", "a", None], "a", "b"),
    "bytes": (pa.binary(), [b"\xff", b"\x00"], b"\x00", b"\xff"),
    "decimals": (pa.decimal128(5, 2), [Decimal("1.50"), Decimal("-2.00")], Decimal("-2.00"), Decimal("1.50")),
    "dates": (pa.date32(), [dt.date(1970, 1, 3)], 2, 2),
    "moments": (pa.timestamp("us", "UTC"), [dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.timezone.utc)], 10**6, 10**6),
    "times": (pa.time64("us"), [dt.time(0, 0, 2)], 2 * 10**6, 2 * 10**6),
}


@pytest.mark.parametrize("name", VALUES)
def test_bounds_and_counts(name: str) -> None:
    kind, values, lower, upper = VALUES[name]
    found = column_statistics(pa.array(values, kind))
    assert (found.lower, found.upper) == (lower, upper)
    assert (found.kind, found.values, found.nulls) == (kind, len(values), values.count(None))


@pytest.mark.parametrize("name", VALUES)
def test_unknown_bounds_leave_no_value_out_and_there_may_be_nulls(name: str) -> None:
    kind, _, lower, upper = VALUES[name]
    found = unknown_statistics(kind)
    assert found.lower <= lower
    assert upper <= found.upper
    assert 0 < found.nulls < found.values


def test_unknown_bounds_are_those_of_the_type() -> None:
    found = unknown_statistics(pa.float64())
    assert (found.lower, found.upper) == (-math.inf, math.inf)
    assert unknown_statistics(pa.int64()).upper == 2**63 - 1
    widest = unknown_statistics(pa.decimal128(38, 10))
    assert (str(widest.lower), str(widest.upper)) == (f"-{'9' * 28}.{'9' * 10}", f"{'9' * 28}.{'9' * 10}")
    assert unknown_statistics(pa.binary(2)).upper == b"\xff\xff"
    assert unknown_statistics(pa.time32("ms")).upper == 86_399_999
    with pytest.raises(AssertionError, match="has no statistics"):
        unknown_statistics(pa.list_(pa.int8()))


@pytest.mark.parametrize(
    ("values", "lower", "upper"),
    [
        ([1.0, math.nan, None], 1.0, math.inf),
        ([math.nan], -math.inf, math.inf),
        ([math.inf, math.nan], -math.inf, math.inf),  # not [inf, inf]: x != inf is true for NaN
        ([-math.inf, math.nan], -math.inf, math.inf),
        ([-0.0, math.nan], 0.0, math.inf),
        ([math.inf], math.inf, math.inf),
        ([None], None, None),
    ],
)
@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_infinity_is_the_upper_bound_of_nan(
    values: list[float | None], lower: float | None, upper: float | None, kind: pa.DataType
) -> None:
    found = column_statistics(pa.array(values, kind))
    assert (found.lower, found.upper) == (lower, upper)
    two = column_statistics(pa.array([2.0], kind))
    assert (found + two) == (two + found)
    assert (found + two).upper == max(2.0, upper or 0.0)


def test_nothing_is_known_of_nulls_and_of_no_rows() -> None:
    nulls = column_statistics(pa.nulls(3, pa.string()))
    assert (nulls.lower, nulls.upper, nulls.values, nulls.nulls) == (None, None, 3, 3)
    some = column_statistics(pa.array(["a"]))
    assert (NO_ROWS + some) == some
    assert (some + nulls).lower == (nulls + some).lower == "a"


def test_values_of_a_dictionary_count_as_often_as_they_are_used() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([1, 1, None]), pa.array(["unused", "used"]))
    found = column_statistics(pa.chunked_array([column]))
    assert (found.kind, found.lower, found.upper, found.values, found.nulls) == (pa.string(), "used", "used", 3, 1)


@given(st.lists(st.text(alphabet="a\ud7ff\ue000\U0010ffff", min_size=1, max_size=3), min_size=1, max_size=3))
def test_bounds_of_long_texts_are_short_and_cover_them(texts: list[str]) -> None:
    values = [text * 1500 for text in texts]
    found = column_statistics(pa.array(values))
    assert all(found.lower <= value <= found.upper for value in values)


def test_bounds_of_long_values_are_shortened() -> None:
    found = column_statistics(pa.array(["b" * 5000]))
    assert (found.lower, found.upper) == ("b" * 400, "b" * 399 + "c")
    assert column_statistics(pa.array(["\ud7ff" * 5000])).upper[-1] == "\ue000"
    highest = "\U0010ffff" * 5000
    assert column_statistics(pa.array([highest])).upper == highest
    short = column_statistics(pa.array([b"\x01\xff" * 5000], pa.binary()))
    assert (len(short.lower), short.upper) == (400, b"\x01\xff" * 199 + b"\x02")
    assert column_statistics(pa.array([b"\xff" * 5000], pa.binary())).upper == b"\xff" * 5000


SCHEMA = pa.schema([("a", pa.int32()), ("n", pa.struct([("x", pa.string())])), ("dot.ted", pa.int64())])


def test_nested_fields_have_statistics_by_their_path() -> None:
    assert kind_of(SCHEMA, "n.x") == pa.string()
    assert kind_of(SCHEMA, "dot.ted") == pa.int64()
    assert [kind_of(SCHEMA, name) for name in ("b", "n.y", "a.x")] == [None, None, None]
    collector = StatisticsCollector(["a", "n.x", "gone"], SCHEMA)
    collector.add(pa.table([[1, 2], [{"x": "q"}, None], [1, 2]], schema=SCHEMA))
    found = collector.finish({"a": (7, 9)})
    assert found.keys() == {"a", "n.x"}
    assert (found["a"].size, found["a"].uncompressed) == (7, 9)
    assert (found["n.x"].lower, found["n.x"].nulls) == ("q", 1)


def test_columns_that_rows_lack_may_have_any_value() -> None:
    collector = StatisticsCollector(["a", "n.x"], SCHEMA)
    collector.add(pa.table({"a": pa.array([1], pa.int32())}))
    other = StatisticsCollector(["a", "n.x"], SCHEMA)
    other.add(pa.table({"a": pa.array([5], pa.int32()), "n": pa.array([{"x": "q"}])}))
    found = (collector + other).finish()
    assert (found["a"].lower, found["a"].upper) == (1, 5)
    assert found["n.x"].lower == ""
    assert StatisticsCollector(["a"], SCHEMA).finish() == {"a": NO_ROWS}
