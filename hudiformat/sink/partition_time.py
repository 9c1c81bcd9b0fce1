"""The time that a partition stands for, out of its values.  Pure.  Rules: spec/sink.md."""

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
    """A zone by its name (``Europe/Berlin``), or by its distance from UTC (``GMT+08:00``, ``+8``).

    Raises:
        ValueError: there is no such zone.
    """
    if text in ("UTC", "GMT", "UT", "Z"):
        return timezone.utc
    if match := _OFFSET.fullmatch(text):
        minutes = int(match[2]) * 60 + int(match[3] or 0)
        if minutes > _MAX_OFFSET:
            raise ValueError(f"no time zone {text!r}")
        return timezone(timedelta(minutes=-minutes if match[1] == "-" else minutes))
    try:
        return ZoneInfo(text)
    except (ValueError, KeyError, OSError) as error:  # no name, no such zone, a folder of zones
        raise ValueError(f"no time zone {text!r}") from error


@dataclass(frozen=True, slots=True)
class DateTimeFormat:
    """A pattern of Java's DateTimeFormatter, of the letters that dates and times are made of."""

    regex: re.Pattern[str]

    @classmethod
    def parse(cls, pattern: str, option: str) -> DateTimeFormat:
        """The format of *pattern*.

        Raises:
            UnsupportedFeatureError: a letter, or so many of one, that hudiformat does not know.
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
                    f"option {option}: {piece!r} in {pattern!r} is not supported; known are"
                    f" {', '.join(_FIELDS)}, each field once, and texts in quotes",
                    feature="timestamp formatter",
                )
            else:
                quoted = len(piece) > 1  # two quotes alone are one that is meant
                parts.append(re.escape((piece[1:-1].replace("''", "'") or "'") if quoted else piece))
        return cls(re.compile("".join(parts), re.ASCII))

    def read(self, text: str) -> datetime:
        """The time that *text* says; midnight when it is a date alone.  Raises ValueError."""
        match = self.regex.fullmatch(text)
        if match is None:
            raise ValueError(text)
        found = match.groupdict()
        numbers = {name: int(value) for name, value in found.items() if name != "fraction"}
        if {"year", "month", "day"} - numbers.keys():
            raise ValueError(text)
        if "hour" not in numbers:  # Java takes the date alone then
            return datetime(numbers["year"], numbers["month"], _day(numbers))  # noqa: DTZ001 - the zone comes later
        fraction = int(found.get("fraction", "0").ljust(6, "0")[:6])
        rest = (numbers.get("minute", 0), numbers.get("second", 0), fraction)
        return datetime(numbers["year"], numbers["month"], _day(numbers), numbers["hour"], *rest)  # noqa: DTZ001


def _day(numbers: Mapping[str, int]) -> int:
    """The day; of 29 to 31 the month's last one where it has fewer, as Java's smart resolving has it."""
    year, month, day = numbers["year"], numbers["month"], numbers["day"]
    if 28 < day <= 31 and 1 <= month <= 12:  # noqa: PLR2004 - the shortest month, the longest, the year
        last = (datetime(year + month // 12, month % 12 + 1, 1) - timedelta(days=1)).day  # noqa: DTZ001
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
    """How the values of a partition become its time.

    Without *pattern* the first value is the time.  In a pattern (``$year-$month-$day $hour:00:00``) each ``$`` and name
    of a column stands for its value.  Without *formatter* a date, or a date and a time, of any number of digits is
    read, and what is beyond the calendar counts on: month 13 is the next January.

    Source: DefaultPartTimeExtractor, Flink 1.20.0.
    """

    pattern: str | None = None
    formatter: str | None = None

    def __call__(self, values: Mapping[str, str]) -> datetime:
        """The time of the partition, of no zone.

        Raises:
            DataError: the values give no time.
        """
        text = self._text(values)
        try:
            return _lenient(text) if self.formatter is None else DateTimeFormat.parse(self.formatter, "").read(text)
        except (ValueError, OverflowError) as error:
            form = self.formatter or "yyyy-MM-dd [HH:mm:ss]"
            shown = ", ".join(f"{name}={value}" for name, value in values.items())
            raise DataError(
                f"partition {shown}: expected a time of the form {form!r}, found {text!r}; set"
                " partition.time-extractor.timestamp-pattern and timestamp-formatter to what the partitions have",
                column=", ".join(values),
            ) from error

    def _text(self, values: Mapping[str, str]) -> str:
        if self.pattern is None:
            return next(iter(values.values()))
        text = self.pattern
        for name, value in values.items():  # one after the other, as Flink: $d also replaces the beginning of $day
            text = text.replace(f"${name}", value)
        return text


def _lenient(text: str) -> datetime:
    match = _LENIENT.fullmatch(text)
    if match is None:
        raise ValueError(text)
    found = match.groupdict(default="0")
    months = int(found["year"]) * 12 + int(found["month"]) - 1
    start = datetime(months // 12, months % 12 + 1, 1)  # noqa: DTZ001 - the zone comes later
    return start + timedelta(
        days=int(found["day"]) - 1,
        hours=int(found["hour"]),
        minutes=int(found["minute"]),
        seconds=int(found["second"]),
        microseconds=int(found["fraction"].removeprefix(".").ljust(6, "0")[:6]),
    )


def epoch_milliseconds(time: datetime, zone: tzinfo) -> int:
    """*time*, told by the clocks of *zone*, in milliseconds since 1970.

    As in Java, the first one counts of an hour that comes twice, and one that is left out counts as if clocks had not
    changed yet.
    """
    return (time.replace(tzinfo=zone) - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(milliseconds=1)
