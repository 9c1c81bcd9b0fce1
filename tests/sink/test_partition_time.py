"""The time of a partition, computed from its values."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from hudiformat.errors import DataError, UnsupportedFeatureError
from hudiformat.sink import PartitionTime
from hudiformat.sink.partition_time import DateTimeFormat, epoch_milliseconds, parse_time_zone


def at(*parts: int) -> datetime:
    return datetime(*parts)  # type: ignore[arg-type]  # as many as there are


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-05-06", at(2024, 5, 6)),
        ("2024-5-6", at(2024, 5, 6)),
        ("2024-05-06 07:08:09", at(2024, 5, 6, 7, 8, 9)),
        ("2024-05-06 7:8:9.25", at(2024, 5, 6, 7, 8, 9, 250_000)),
        ("2024-13-01", at(2025, 1, 1)),
        ("2024-02-31", at(2024, 3, 2)),
        ("2024-00-00", at(2023, 11, 30)),
        ("2024-05-06 24:00:60", at(2024, 5, 7, 0, 1)),
    ],
)
def test_without_a_formatter_times_are_read_leniently(text: str, expected: datetime) -> None:
    assert PartitionTime()({"dt": text, "other": "x"}) == expected


def test_a_pattern_puts_the_values_together() -> None:
    extract = PartitionTime("$year-$month-$day $hour:00:00")
    assert extract({"year": "2024", "month": "5", "day": "06", "hour": "7"}) == at(2024, 5, 6, 7)


@pytest.mark.parametrize(
    ("formatter", "text", "expected"),
    [
        ("yyyyMMdd", "20240506", at(2024, 5, 6)),
        ("yyyy-MM-dd HH:mm:ss", "2024-05-06 07:08:09", at(2024, 5, 6, 7, 8, 9)),
        ("d.M.yyyy 'at' H 'o''clock'", "6.5.2024 at 7 o'clock", at(2024, 5, 6, 7)),
        ("uuuu''MMddHHmmssSSS", "2024'0506070809250", at(2024, 5, 6, 7, 8, 9, 250_000)),
        ("yyyy-MM-dd", "2023-02-31", at(2023, 2, 28)),
        ("yyyy-MM-dd", "2023-12-31", at(2023, 12, 31)),
    ],
)
def test_a_formatter_is_java_s(formatter: str, text: str, expected: datetime) -> None:
    assert PartitionTime(formatter=formatter)({"dt": text}) == expected


@pytest.mark.parametrize("formatter", ["yyyy-MM-dd E", "yy", "yyyy yyyy", "yyyy[MM]", "yyyy'"])
def test_a_formatter_that_is_not_supported_is_refused_by_name(formatter: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match="expected the fields yyyy") as caught:
        DateTimeFormat.parse(formatter, "key")
    assert caught.value.feature == "timestamp formatter"


@pytest.mark.parametrize(
    ("formatter", "text"),
    [
        (None, "today"),
        (None, "99999-01-01"),
        (None, "9999-12-99"),
        ("yyyyMMdd", "2024-05-06"),
        ("yyyyMMdd", "20241306"),
        ("yyyyMMdd HH", "20240506 24"),
        ("yyyyMM", "202405"),
    ],
)
def test_a_partition_without_a_time_is_an_error_that_says_what_was_found(formatter: str | None, text: str) -> None:
    with pytest.raises(
        DataError, match=f"partition dt={text}: expected a time of the form .*, found '{text}'"
    ) as caught:
        PartitionTime(formatter=formatter)({"dt": text})
    assert caught.value.column == "dt"


def test_zones_are_names_or_offsets() -> None:
    distances = [parse_time_zone(text).utcoffset(None) for text in ("UTC", "GMT+08:00", "-5", "UTC+5:45")]
    assert distances == [timedelta(), timedelta(hours=8), timedelta(hours=-5), timedelta(hours=5, minutes=45)]
    assert parse_time_zone("Europe/Berlin") == ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize("text", ["GMT+19:00", "Nowhere/Else", "", "../etc"])
def test_an_unknown_zone_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time zone"):
        parse_time_zone(text)


def test_repeated_and_skipped_hours_are_read_as_in_java() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    assert epoch_milliseconds(at(1970, 1, 1, 0, 0, 1), timezone.utc) == 1000
    assert epoch_milliseconds(at(2024, 10, 27, 2, 30), berlin) == 1729989000000  # 00:30 UTC: the first of the two
    assert epoch_milliseconds(at(2024, 3, 31, 2, 30), berlin) == 1711848600000  # 01:30 UTC, which is 03:30 in Berlin
