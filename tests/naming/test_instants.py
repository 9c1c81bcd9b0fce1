from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.errors import NameFormatError
from hudiformat.naming.instants import format_instant, is_instant, next_instant, parse_instant

NOON = datetime.fromisoformat("2024-02-29T12:00:00.007999")


def test_an_instant_counts_whole_milliseconds() -> None:
    assert format_instant(NOON) == "20240229120000007"
    assert parse_instant("20240229120000007") == datetime.fromisoformat("2024-02-29T12:00:00.007000")


def test_an_instant_of_seconds_is_the_last_millisecond_of_its_second() -> None:
    assert parse_instant("20240229120000") == datetime.fromisoformat("2024-02-29T12:00:00.999000")


def test_what_follows_the_milliseconds_is_a_suffix_of_the_metadata_table() -> None:
    assert parse_instant("20240229120000007001") == datetime.fromisoformat("2024-02-29T12:00:00.007000")


@pytest.mark.parametrize(
    "text",
    ["", "2024022912", "202402291200", "20240229120000x", "20240230120000007", "00000000000000", "9" * 20, "٢" * 17],
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(NameFormatError):
        parse_instant(text)


@pytest.mark.parametrize("text", ["0", "00000000000000010", "20240229120000007001"])
def test_digits_can_stand_in_names(text: str) -> None:
    assert is_instant(text)


@pytest.mark.parametrize("text", ["", "-1", "1x", "1\n", "٢"])
def test_other_text_cannot(text: str) -> None:
    assert not is_instant(text)


def test_the_next_instant_is_now_when_the_clock_is_ahead() -> None:
    assert next_instant(NOON, None) == "20240229120000007"
    assert next_instant(NOON, "20240229120000006") == "20240229120000007"
    assert next_instant(NOON, "00000000000000001") == "20240229120000007"


def test_the_next_instant_is_a_millisecond_later_when_the_clock_is_not() -> None:
    assert next_instant(NOON, "20240229120000007") == "20240229120000008"
    assert next_instant(NOON, "20241231235959999") == "20250101000000000"
    assert next_instant(NOON, "20240229120000007001") == "20240229120000008"


@pytest.mark.parametrize("after", ["99991231235959999", "99999999999999999", "x"])
def test_there_is_no_instant_after_the_last(after: str) -> None:
    with pytest.raises(NameFormatError):
        next_instant(NOON, after)


@given(st.datetimes(), st.datetimes(max_value=NOON.replace(year=9996)))
def test_the_next_instant_is_greater_and_not_before_now(now: datetime, after: datetime) -> None:
    instant = next_instant(now, format_instant(after))
    assert instant > format_instant(after)
    assert instant >= format_instant(now)
    assert format_instant(parse_instant(instant)) == instant
