"""Compute the time of a partition from its values.  Pure.  Rules: spec/sink.md."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from hudiformat.errors import DataError, UnsupportedFeatureError

_LENIENT = re.compile(
    r"(?P<year>-?[0-9]{1,10})-(?P<month>-?[0-9]{1,2})-(?P<day>-?[0-9]{1,2})"
    r"(?: (?P<hour>-?[0-9]{1,2}):(?P<minute>-?[0-9]{1,2}):(?P<second>-?[0-9]{1,2})(?P<fraction>\.[0-9]{1,9})?)?"
)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])([0-9]{1,2})(?::([0-9]{2}))?")
_MAX_OFFSET = 18 * 60  # minutes


def parse_time_zone(text: str) -> tzinfo:
    """Parse a time zone: a name (``Europe/Berlin``) or an offset from UTC (``GMT+08:00``, ``+8``).

    Raises:
        ValueError: there is no such zone.
    """
    if text in ("UTC", "GMT", "UT", "Z"):
        return timezone.utc
    if match := _OFFSET.fullmatch(text):
        minutes = int(match[2]) * 60 + int(match[3] or 0)
        if minutes > _MAX_OFFSET:
            raise ValueError(f"{text!r} is not a time zone")
        return timezone(timedelta(minutes=-minutes if match[1] == "-" else minutes))
    try:
        return ZoneInfo(text)
    except (ValueError, KeyError, OSError) as error:  # an invalid name, an unknown zone, a folder of zones
        raise ValueError(f"{text!r} is not a time zone") from error


@dataclass(frozen=True, slots=True)
class DateTimeFormat:
    """A pattern of Java's DateTimeFormatter, with the letters of dates and times."""

    regex: re.Pattern[str]

    @classmethod
    def parse(cls, pattern: str, option: str) -> DateTimeFormat:
        """Parse *pattern* into a format; *option* is the key for errors.

        Raises:
            UnsupportedFeatureError: hudiformat does not support a letter, or its number of repetitions.
        """
        parts, seen = [], set[str]()
        for match in _PIECE.finditer(pattern):
            piece = match[0]
            name, digits = _FIELDS.get(piece, ("", ""))
            if name and name not in seen:
                seen.add(name)
                parts.append(f"(?P<{name}>{digits})")
            elif piece[0].isalpha() or piece in _RESERVED:
                raise UnsupportedFeatureError(
                    f"option {option}: expected the fields {', '.join(_FIELDS)}, each once, and texts "
                    f"in quotes, found {piece!r} in {pattern!r}; put it in quotes, or leave it out",
                    feature="timestamp formatter",
                )
            else:
                quoted = len(piece) > 1  # two quotes without a text stand for one quote
                parts.append(re.escape((piece[1:-1].replace("''", "'") or "'") if quoted else piece))
        return cls(re.compile("".join(parts), re.ASCII))

    def read(self, text: str) -> datetime:
        """Parse *text*; a date without a time is midnight.

        Raises:
            ValueError: the text does not have this format, or there is no such time.
        """
        match = self.regex.fullmatch(text)
        if match is None:
            raise ValueError(text)
        digits = match.groupdict()
        numbers = {name: int(value) for name, value in digits.items() if name != "fraction"}
        if {"year", "month", "day"} - numbers.keys():
            raise ValueError(text)
        if "hour" not in numbers:  # then Java uses only the date
            return datetime(numbers["year"], numbers["month"], _day(numbers))  # noqa: DTZ001 - the zone comes later
        fraction = int(digits.get("fraction", "0").ljust(6, "0")[:6])
        rest = (numbers.get("minute", 0), numbers.get("second", 0), fraction)
        return datetime(numbers["year"], numbers["month"], _day(numbers), numbers["hour"], *rest)  # noqa: DTZ001 - the zone comes later


def _day(numbers: Mapping[str, int]) -> int:
    """Return the day; for 29 to 31 in a shorter month its last day, as Java's smart resolving does."""
    year, month, day = numbers["year"], numbers["month"], numbers["day"]
    if 28 < day <= 31 and 1 <= month <= 12:  # noqa: PLR2004 - the shortest month, the longest, the year
        last = (datetime(year + month // 12, month % 12 + 1, 1) - timedelta(days=1)).day  # noqa: DTZ001 - only the day counts
        return min(day, last)
    return day


_PIECE = re.compile(r"'(?:[^']|'')*'|([A-Za-z])\1*|.", re.DOTALL)
_RESERVED = "[]{}#'"
_FIELDS = {
    "yyyy": ("year", "[0-9]{4}"),
    "uuuu": ("year", "[0-9]{4}"),
    "MM": ("month", "[0-9]{2}"),
    "M": ("month", "[0-9]{1,2}"),
    "dd": ("day", "[0-9]{2}"),
    "d": ("day", "[0-9]{1,2}"),
    "HH": ("hour", "[0-9]{2}"),
    "H": ("hour", "[0-9]{1,2}"),
    "mm": ("minute", "[0-9]{2}"),
    "m": ("minute", "[0-9]{1,2}"),
    "ss": ("second", "[0-9]{2}"),
    "s": ("second", "[0-9]{1,2}"),
    "SSS": ("fraction", "[0-9]{3}"),
}


@dataclass(frozen=True, slots=True)
class PartitionTime:
    """Computes the time of a partition from its values.

    Without *pattern* the first value is the time.  In a pattern (``$year-$month-$day $hour:00:00``) each ``$`` with the
    name of a column is replaced by its value.  Without *formatter* the time is a date, or a date and a time, with any
    number of digits, and numbers beyond the calendar are carried over: month 13 is the next January.

    Source: DefaultPartTimeExtractor, Flink 1.20.0.
    """

    pattern: str | None = None
    formatter: str | None = None

    def __call__(self, values: Mapping[str, str]) -> datetime:
        """Return the time of the partition, without a time zone.

        Raises:
            DataError: the values give no time.
        """
        text = self._text(values)
        try:
            return (
                _parse_lenient(text) if self.formatter is None else DateTimeFormat.parse(self.formatter, "").read(text)
            )
        except (ValueError, OverflowError) as error:
            form = self.formatter or "yyyy-MM-dd [HH:mm:ss]"
            shown_values = ", ".join(f"{name}={value}" for name, value in values.items())
            raise DataError(
                f"partition {shown_values}: expected a time of the form {form!r}, found {text!r}; set"
                " partition.time-extractor.timestamp-pattern and timestamp-formatter to the form"
                " of the partitions",
                column=", ".join(values),
            ) from error

    def _text(self, values: Mapping[str, str]) -> str:
        if self.pattern is None:
            return next(iter(values.values()))
        text = self.pattern
        for name, value in values.items():  # one after the other, as in Flink: $d also replaces the beginning of $day
            text = text.replace(f"${name}", value)
        return text


def _parse_lenient(text: str) -> datetime:
    """Parse a date, or a date and a time, whose numbers may lie beyond the calendar."""
    match = _LENIENT.fullmatch(text)
    if match is None:
        raise ValueError(text)
    digits = match.groupdict(default="0")
    months = int(digits["year"]) * 12 + int(digits["month"]) - 1
    start = datetime(months // 12, months % 12 + 1, 1)  # noqa: DTZ001 - the zone comes later
    return start + timedelta(
        days=int(digits["day"]) - 1,
        hours=int(digits["hour"]),
        minutes=int(digits["minute"]),
        seconds=int(digits["second"]),
        microseconds=int(digits["fraction"].removeprefix(".").ljust(6, "0")[:6]),
    )


def epoch_milliseconds(time: datetime, zone: tzinfo) -> int:
    """Return *time*, a local time in *zone*, in milliseconds since 1970.

    As in Java, a time that occurs twice is the first one, and a time that is skipped is computed with the offset before
    the change of clocks.
    """
    return (time.replace(tzinfo=zone) - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(milliseconds=1)
