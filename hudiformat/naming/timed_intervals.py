"""Tell from a text in a partition path which times it can have been made of: the way back from timed_partitions.  Pure.

The text ``2024/02`` of the pattern ``yyyy/MM`` was made of a wall-clock time in February 2024.  A pattern tells as much
as the fields do that follow each other from the year on: ``yyyy/dd`` tells the year.  Whoever writes a table without a
time zone in its properties has its own: then a time may be a day earlier or later.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from hudiformat.naming.date_patterns import DAY, HOUR, MINUTE, SECOND, DatePattern, Token, day_of
from hudiformat.naming.time_zones import Zone
from hudiformat.naming.timed_partitions import UNITS, TimedPartitions

Interval = tuple[int, int]
"""From the first number to the last, both included."""

_SHORT_YEAR = 2
_FINER = 1000
"""Timestamps count milliseconds or microseconds."""
_MOST_DIGITS = {"D": 3, "e": 1, **dict.fromkeys("MdHkKhmsw", 2)}
_LAST_YEAR, _MONTHS, _HOURS, _SECONDS = 9999, 12, 24, 60
_NEAR = (-DAY, -DAY // 2, 0, DAY // 2, DAY)
"""No clock is further from UTC than a day, and none changes twice between two of these."""


def intervals(times: TimedPartitions, text: str) -> list[Interval]:
    """Return the numbers that the key generator can have made *text* of; none if it does not tell them.

    With milliseconds and ``yyyy-MM-dd`` in UTC, ``1970-01-02`` is made of 86400000 to 172799999.
    """
    if times.unit is None:
        return []
    found = [_moments(one, times.output_zone) for one in _local_intervals(times.output, text)]
    return [_numbers(one, UNITS[times.unit]) for one in found]


def conditions(field: pa.Field, interval: Interval) -> list[pc.Expression]:
    """Return conditions of which one is true for the column *field* if its number is one of *interval*.

    There are none for types whose values are cut, such as those of floats.  Of timestamps it is the number that was
    written; a query shows another one if the label of a file contradicts its numbers, or the column's unit has changed.
    """
    kind, (first, last) = field.type, interval
    if pat.is_timestamp(kind):
        finer, coarser = (first * _FINER, last * _FINER), (first // _FINER, last // _FINER + 1)
        return [_between(field, one, pa.int64()) for one in (interval, finer, coarser)]
    if pat.is_date32(kind):
        return [_between(field, interval, pa.int32())]
    return [_between(field, interval, kind)] if pat.is_signed_integer(kind) else []


def _between(field: pa.Field, interval: Interval, number: pa.DataType) -> pc.Expression:
    most = 2 ** (number.bit_width - 1)
    first, last = (pa.scalar(min(max(one, -most), most - 1), number).cast(field.type) for one in interval)
    column = pc.field(field.name)
    return (column >= first) & (column <= last)


def _local_intervals(pattern: DatePattern, text: str) -> list[Interval]:
    """Return the wall-clock times of *text*, before 1 and after it where the year is one of an era."""
    expression = _expression(pattern.tokens)
    match = None if expression is None else re.fullmatch(expression, text)
    if match is None:
        return []
    fields: dict[str, str] = {}
    for number, token in enumerate(pattern.tokens):
        if token.letter and not (token.letter in "yY" and token.width == _SHORT_YEAR):
            fields.setdefault(token.letter, match[f"g{number}"])
    if "k" in fields:
        fields.setdefault("H", str(int(fields["k"]) % _HOURS))
    years = {int(fields["y"])} if "y" in fields else set()
    if not years and "Y" in fields:
        years = {int(fields["Y"]), -int(fields["Y"])}  # it has no sign
    found = [_of_year(year, fields) for year in sorted(years) if abs(year) <= _LAST_YEAR]
    return [one for one in found if one is not None]


def _expression(tokens: Sequence[Token]) -> str | None:
    """Return the expression of the texts of a pattern; None if digits could belong to either of two fields."""
    for is_number, run in groupby(tokens, key=lambda one: one.is_number or any(map(str.isdigit, one.text))):
        widths = [_digits(token) for token in run if token.letter]
        if is_number and sum(least != most for least, most in widths) > 1:
            return None
    return "".join(_part(token, number) for number, token in enumerate(tokens))


def _part(token: Token, number: int) -> str:
    if not token.letter:
        return re.escape(token.text)
    if token.letter == "Z":
        return f"(?P<g{number}>[+-][0-9]{{2}}:?[0-9]{{2}})"
    least, most = _digits(token)
    sign = "-?" if token.letter in "yYx" and token.width != _SHORT_YEAR else ""
    return f"(?P<g{number}>{sign}[0-9]{{{least},{most or ''}}})"


def _digits(token: Token) -> tuple[int, int | None]:
    """Return the fewest and the most digits of a field."""
    letter, width, _ = token
    if letter in ("S", "Z") or (letter in "yYx" and width == _SHORT_YEAR):
        return width, width
    most = _MOST_DIGITS.get(letter)
    return width, None if most is None else max(width, most)


def _of_year(year: int, fields: dict[str, str]) -> Interval | None:
    """Return the times within *year* that *fields* tell; None if there is no such day or hour."""
    first, last = day_of(year, 1, 1), day_of(year + 1, 1, 1) - 1
    if "M" in fields:
        month = int(fields["M"])
        if not 0 < month <= _MONTHS:
            return None
        first, last = day_of(year, month, 1), day_of(year + month // _MONTHS, month % _MONTHS + 1, 1) - 1
    day = fields.get("d" if "M" in fields else "D")
    if day is None:
        return first * DAY, (last + 1) * DAY - 1
    if not 0 < int(day) <= last - first + 1:
        return None
    return _of_day((first + int(day) - 1) * DAY, fields)


def _of_day(begin: int, fields: dict[str, str]) -> Interval | None:
    size = DAY
    for letter, unit, most in (("H", HOUR, _HOURS), ("m", MINUTE, _SECONDS), ("s", SECOND, _SECONDS)):
        if letter not in fields:
            return begin, begin + size - 1
        if int(fields[letter]) >= most:
            return None
        begin, size = begin + int(fields[letter]) * unit, unit
    if "S" in fields:
        digits = fields["S"][:3]
        size = 10 ** (3 - len(digits))
        begin += int(digits) * size
    return begin, begin + size - 1


def _moments(local: Interval, zone: Zone | None) -> Interval:
    """Return the first and the last moment at which clocks can have shown a time of *local*."""
    first, last = local
    if zone is None:
        return first - DAY, last + DAY
    return first - max(_offsets(first, zone)), last - min(_offsets(last, zone))


def _offsets(moment: int, zone: Zone) -> list[int]:
    near = np.array([moment + one for one in _NEAR], np.int64)
    found: list[int] = (zone.local(near) - near).tolist()
    return found


def _numbers(moments: Interval, factor: int) -> Interval:
    """Return the numbers of a unit that are *moments*, the milliseconds of which are cut towards zero."""
    first, last = moments
    if factor > 0:
        return -(-first // factor), last // factor
    finer = -factor
    return (
        first * finer if first > 0 else (first - 1) * finer + 1,
        (last + 1) * finer - 1 if last >= 0 else last * finer,
    )
