"""A text in a path tells the times that it can have been made of."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.naming.time_zones import UTC, Zone
from hudiformat.naming.timed_intervals import conditions, intervals
from hudiformat.naming.timed_partitions import INPUT, OUTPUT, TYPE, UNIT, UNITS, ZONE, TimedPartitions
from tests.naming.test_timed_partitions import ANSWERS

FORMATS = [
    "yyyy",
    "yyyy/MM/dd",
    "yyyyMMddHH",
    "yyyy-MM-dd HH:mm:ss.SSS",
    "yyyy-D kk",
    "YYYY-M-d",
    "'day' yyyyDDD",
    "MM-dd yyyy",
    "yyyy-MM-dd'T'HHZ",
    "yyyy/dd",
    "xxxx-ww yyyy",
    "yyyy-MM-dd hh",
    "HH:mm",
    "yyMMdd",
    "yyyyMd",
]
TOLD = FORMATS[:9]
ZONES = ["UTC", "GMT+8:00", "Europe/Berlin", "America/New_York", "Pacific/Apia", "Asia/Kolkata", "Africa/Casablanca"]
DAY = 86_400_000
YEAR = 365 * DAY


def times(output: str, unit: str = "MILLISECONDS", zone: str | None = "UTC", here: Zone | None = None) -> Any:
    zoned = {} if zone is None else {ZONE: zone}
    return TimedPartitions.of({TYPE: "SCALAR", UNIT: unit, OUTPUT: output, **zoned}, here)


def text(made: TimedPartitions, number: int) -> str:
    [found] = made.texts(pa.array([number]), "p").to_pylist()
    return str(found)


def covers(made: TimedPartitions, path: str, number: int) -> bool:
    return any(first <= number <= last for first, last in intervals(made, path))


def test_hudis_paths_tell_the_numbers_that_they_were_made_of() -> None:
    asked = told = 0
    for case in ANSWERS:
        made = TimedPartitions.of(case["options"], None)
        for value, path in case["paths"]:
            if path is not None and made.unit is not None:
                asked += 1
                found = intervals(made, path)
                told += bool(found)
                assert not found or covers(made, path, 1 if value is None else value), (case["options"], value, path)
    assert told > asked / 2


@given(
    moment=st.integers(-2000 * YEAR, 6000 * YEAR) | st.integers(-YEAR, 80 * YEAR),
    finer=st.integers(0, 10**6 - 1),
    output=st.sampled_from(FORMATS),
    unit=st.sampled_from(sorted(UNITS)),
    zone=st.sampled_from(ZONES),
    writer=st.sampled_from(ZONES),
)
def test_a_number_is_in_the_interval_of_its_text(
    *, moment: int, finer: int, output: str, unit: str, zone: str, writer: str
) -> None:
    factor = UNITS[unit]
    number = moment // factor if factor > 0 else moment * -factor + finer % -factor
    number = min(max(number, -(2**63)), 2**63 - 1)
    known = times(output, unit, zone)
    path = text(known, number)
    found = intervals(known, path)
    assert covers(known, path, number) == bool(found)
    assert bool(found) or output not in TOLD
    path = text(times(output, unit, None, Zone.parse(writer, ZONE)), number)
    unknown = times(output, unit, None)
    assert covers(unknown, path, number) == bool(intervals(unknown, path))


@given(
    number=st.integers(-(10**15), 10**15),
    output=st.sampled_from(["yyyy", "yyyy/MM", "yyyyMMdd", "yyyy-MM-dd HH", "yyyy D kk mm", "yyyy-MM-dd HH:mm:ss.S"]),
    unit=st.sampled_from(["MICROSECONDS", "MILLISECONDS"]),
)
def test_an_interval_has_no_number_of_another_text(number: int, output: str, unit: str) -> None:
    made = times(output, unit)
    number %= 2 * 10**14
    path = text(made, number)
    [(first, last)] = intervals(made, path)
    assert text(made, first) == text(made, last) == path
    assert path not in {text(made, first - 1), text(made, last + 1)}


@pytest.mark.parametrize(
    ("output", "path", "found"),
    [
        ("yyyy-MM-dd", "1970-01-02", [(DAY, 2 * DAY - 1)]),
        ("yyyy-MM-dd", "1970-02-30", []),
        ("yyyy-MM-dd", "1970-13-01", []),
        ("yyyy-D", "1970-366", []),
        ("yyyy-D", "1972-366", [(1095 * DAY, 1096 * DAY - 1)]),
        ("yyyy-MM-dd HH", "1970-01-01 24", []),
        ("yyyy-MM-dd HH", "1970-01-01", []),
        ("yyyy", "12000", []),
        ("YYYY", "0001", [(-62198755200000, -62167219200001), (-62135596800000, -62104060800001)]),
        ("yyyy/dd", "1970/02", [(0, 365 * DAY - 1)]),
        ("yy", "70", []),
        ("yyyyMd", "1970111", []),
        ("yyyy'1'MM", "1970101", [(0, 31 * DAY - 1)]),
    ],
)
def test_what_a_path_tells(output: str, path: str, found: list[tuple[int, int]]) -> None:
    assert intervals(times(output), path) == found


def test_texts_of_texts_tell_nothing() -> None:
    made = TimedPartitions.of({TYPE: "DATE_STRING", INPUT: "yyyy-MM-dd", OUTPUT: "yyyy"}, UTC)
    assert intervals(made, "1970") == []


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        (pa.int64(), 1),
        (pa.int32(), 1),
        (pa.date32(), 1),
        (pa.timestamp("us", "UTC"), 3),
        (pa.float64(), 0),
        (pa.decimal128(10, 2), 0),
    ],
    ids=str,
)
def test_columns_of_which_conditions_are_known(kind: pa.DataType, count: int) -> None:
    found = conditions(pa.field("p", kind), (5, 2**40))
    assert len(found) == count
    if found:
        column = pa.array([4, 5, 100], pa.int32() if pa.types.is_date32(kind) else pa.int64()).cast(kind)
        assert pa.table({"p": column}).filter(found[0]).num_rows == 2


def test_timestamps_of_the_other_unit_are_within_the_conditions_too() -> None:
    """The key generator took 1704067200000 for milliseconds; a query may show them as microseconds, or as they are."""
    kind = pa.timestamp("us", "UTC")
    found = conditions(pa.field("p", kind), (1_704_067_200_001, 1_704_067_299_999))
    numbers = [1_704_067_200_001, 1_704_067_200_001_000, 1_704_067_200, 1_704_067_300_000, 1_704_067_301]
    shown = pa.table({"p": pa.array(numbers, pa.int64()).cast(kind)})
    flags = [bool(shown.slice(row, 1).filter(found[0] | found[1] | found[2]).num_rows) for row in range(len(numbers))]
    assert flags == [True, True, True, False, False]
