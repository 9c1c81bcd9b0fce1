"""Format and read moments by the patterns of Joda-Time, such as ``yyyy/MM/dd``, as Hudi's key generators do.  Pure.

Moments are milliseconds since 1970.  Letters whose text depends on the locale of Java (names of months and days, AM and
PM, names of zones) are refused: another writer could write another text.

Source: org.joda.time.format.DateTimeFormat and DateTimeFormatterBuilder, of Joda-Time 2.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.errors import OptionError

Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
"""Milliseconds."""
_DEFAULT_YEAR = 2000
"""The year of a text that begins with a month or a day."""
_MOST_DIGITS = 9
_OFFSET = r"[Zz]|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d){0,2}"
_TOKENS = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|([^A-Za-z']+)")


class Moment(NamedTuple):
    """A wall-clock time, as a day since 1970 and the milliseconds of the day, and its offset from UTC."""

    day: int
    time: int
    offset: int

    @property
    def date(self) -> tuple[int, int, int]:
        """The year, month and day of month of the proleptic Gregorian calendar."""
        return _date_of(self.day)

    @property
    def week(self) -> tuple[int, int]:
        """The year and the week of ISO 8601."""
        thursday = self.day + 4 - self.weekday
        year = _date_of(thursday)[0]
        return year, (thursday - day_of(year, 1, 1)) // 7 + 1

    @property
    def weekday(self) -> int:
        """The day of the week, from 1 for Monday to 7."""
        return (self.day + 3) % 7 + 1


class _Number(NamedTuple):
    """How a letter is written: its value in a moment, how fine it divides time, and how many digits are read."""

    value: Callable[[Moment], int]
    unit: int
    digits: int


_NUMBERS = {
    "y": _Number(lambda at: at.date[0], DAY, _MOST_DIGITS),
    "Y": _Number(lambda at: abs(at.date[0]), DAY, _MOST_DIGITS),
    "C": _Number(lambda at: abs(at.date[0]) // 100, DAY, 0),
    "x": _Number(lambda at: at.week[0], DAY, 0),
    "w": _Number(lambda at: at.week[1], DAY, 0),
    "e": _Number(lambda at: at.weekday, DAY, 0),
    "D": _Number(lambda at: at.day - day_of(at.date[0], 1, 1) + 1, DAY, 3),
    "M": _Number(lambda at: at.date[1], DAY, 2),
    "d": _Number(lambda at: at.date[2], DAY, 2),
    "H": _Number(lambda at: at.time // HOUR, HOUR, 2),
    "k": _Number(lambda at: at.time // HOUR or 24, HOUR, 2),
    "K": _Number(lambda at: at.time // HOUR % 12, HOUR, 0),
    "h": _Number(lambda at: at.time // HOUR % 12 or 12, HOUR, 0),
    "m": _Number(lambda at: at.time // MINUTE % 60, MINUTE, 2),
    "s": _Number(lambda at: at.time // SECOND % 60, SECOND, 2),
}
"""The letters that are numbers.  Those with 0 digits are only written: what they say of a moment is not all of it."""
_YEARS = "yYx"
_SHORT = 2
"""So many letters stand for the last digits of a year, for an offset with a colon, and for numbers; more, for names."""
_FEBRUARY, _MARCH = 2, 3
_MONTHS_TO_YEAR = 10
"""From March to the end of a year, as calendars count that begin in March."""
_HIGHEST = {"M": 12, "d": 31, "D": 366, "H": 23, "k": 24, "m": 59, "s": 59}


class Token(NamedTuple):
    """A part of a pattern: *width* times the same letter, or a text, without letter."""

    letter: str
    width: int
    text: str

    @property
    def is_number(self) -> bool:
        """Whether digits stand for it."""
        return self.letter in _NUMBERS or self.letter == "S"


@dataclass(frozen=True, slots=True)
class DatePattern:
    """A pattern, ``text``, with its parts."""

    text: str
    tokens: tuple[Token, ...]

    @classmethod
    def parse(cls, text: str, option: str) -> DatePattern:
        """Parse the pattern *text*, which is the value of the option *option*.

        Raises:
            OptionError: it is none, or its texts depend on a locale.
        """
        tokens, end = [], 0
        for match in _TOKENS.finditer(text):
            if match.start() != end:
                break
            end = match.end()
            quoted, letter, plain = match.groups()
            if letter:
                tokens.append(_letters(match[0], text, option))
            else:
                tokens.append(Token("", 0, plain if quoted is None else quoted.replace("''", "'") or "'"))
        if end != len(text) or not tokens:
            raise OptionError(
                f"{option}: expected a pattern of Joda-Time such as yyyy/MM/dd, found {text!r}", option=option
            )
        return cls(text, tuple(tokens))

    @property
    def unit(self) -> int:
        """The milliseconds for which the text stays the same."""
        units = (1 if one.letter == "S" else _NUMBERS[one.letter].unit for one in self.tokens if one.is_number)
        return min(units, default=DAY)

    @property
    def slashes(self) -> int:
        """How many slashes are in each text."""
        return sum(token.text.count("/") for token in self.tokens)

    @property
    def has_offset(self) -> bool:
        """Whether the texts name the offset of their zone from UTC."""
        return any(one.letter == "Z" for one in self.tokens)

    def format(self, at: Moment) -> str:
        """Return the text of a moment."""
        return "".join(_text(token, at) for token in self.tokens)

    def reader(self, option: str) -> PatternReader:
        """Return what reads texts of the pattern.

        Raises:
            OptionError: its texts do not tell the moment without knowing when they are read, or not in all cases.
        """
        for one in self.tokens:
            is_short_year = one.letter in ("y", "Y") and one.width == _SHORT
            if is_short_year or (one.letter in _NUMBERS and not _NUMBERS[one.letter].digits):
                raise OptionError(
                    f"{option}: expected years of four digits and hours from 0 to 24, found {one.letter * one.width} "
                    f"in {self.text!r}, which does not tell a moment; write the values in another form",
                    option=option,
                )
        return PatternReader.of(self)


def _letters(run: str, pattern: str, option: str) -> Token:
    letter, count = run[0], len(run)
    is_known = letter in _NUMBERS or letter in "SZ"
    is_name = (letter == "M" and count > _SHORT) or (letter == "Z" and count > _SHORT)
    if is_known and not is_name:
        return Token(letter, count, "")
    if letter in "GEazM" or is_name:
        raise OptionError(
            f"{option}: expected a pattern of numbers, found {run} in {pattern!r}, whose text depends on the language "
            "of the writer's Java; use numbers, such as MM for the month",
            option=option,
        )
    raise OptionError(f"{option}: expected letters of Joda-Time, found {run} in {pattern!r}", option=option)


def _text(token: Token, at: Moment) -> str:
    letter, count, text = token
    if not letter:
        return text
    if letter == "S":
        milliseconds = f"{at.time % SECOND:03d}"
        return milliseconds[:count].ljust(count, "0")
    if letter == "Z":
        hours, minutes = divmod(abs(at.offset) // MINUTE, 60)
        return f"{'-' if at.offset < 0 else '+'}{hours:02d}{':' if count == _SHORT else ''}{minutes:02d}"
    value = _NUMBERS[letter].value(at)
    if letter in _YEARS and count == _SHORT:
        return f"{abs(value) % 100:02d}"
    return f"{'-' if value < 0 else ''}{abs(value):0{count}d}"


class Reading(NamedTuple):
    """What was read from texts: wall-clock times, the offsets that they name, and which texts were read."""

    local: Integers
    offsets: Integers
    has_offset: Booleans
    is_read: Booleans


@dataclass(frozen=True, slots=True)
class PatternReader:
    """Reads texts by one pattern: ``expression`` has a group for each of ``tokens``, which are those with letters."""

    expression: str
    tokens: tuple[Token, ...]
    most: tuple[int, ...]
    followed: tuple[bool, ...]

    @classmethod
    def of(cls, pattern: DatePattern) -> PatternReader:
        """Return the reader of *pattern*."""
        tokens: list[Token] = []
        parts, most, followed = [], [], []
        for token, after in zip(pattern.tokens, (*pattern.tokens[1:], None), strict=True):
            if not token.letter:
                parts.append(f"(?i:{re.escape(token.text)})")
                continue
            meets_digits = token.is_number and after is not None and after.is_number
            digits = _digits(token, meets_digits=meets_digits)
            parts.append(f"(?P<g{len(tokens)}>{_expression(token, digits)})")
            tokens.append(token)
            most.append(digits)
            followed.append(meets_digits)
        return cls(f"^{''.join(parts)}$", tuple(tokens), tuple(most), tuple(followed))

    def read(self, texts: pa.Array) -> Reading:
        """Read *texts*, which have no nulls.

        Three texts, by ``yyyy-MM-dd``::

            texts     2024-02-30   2024-03-01   1 March
            groups    2024 02 30   2024 03 01   null
            is_read   False        True         False      of the first, February has no such day
        """
        found = pc.extract_regex(texts, self.expression)
        is_read = np.asarray(found.is_valid())
        groups = [_filled(pc.struct_field(found, number)) for number in range(len(self.tokens))]
        values: dict[str, Integers] = {}
        offsets, has_offset = np.zeros(len(texts), np.int64), np.zeros(len(texts), np.bool_)
        for token, group, most, followed in zip(self.tokens, groups, self.most, self.followed, strict=True):
            if token.letter == "Z":
                offsets, has_offset = _offsets(group), is_read
                continue
            if followed:  # Java takes as many digits as it may, and does not try fewer
                is_read = is_read & (np.asarray(pc.binary_length(group)) == most)
            if token.letter == "S":
                values["S"] = _integers(pc.utf8_slice_codeunits(pc.binary_join_element_wise(group, "00", ""), 0, 3))
            else:
                values[token.letter] = _integers(pc.replace_substring_regex(group, r"^\+", ""))
        local, is_valid = _local_times(values, self.tokens, len(texts))
        return Reading(local, offsets, has_offset & is_valid, is_read & is_valid)


def _digits(token: Token, *, meets_digits: bool) -> int:
    """Return the most digits that are read for *token*."""
    if token.letter == "S" or (token.letter in ("y", "Y") and meets_digits):
        return token.width
    return 0 if token.letter == "Z" else _NUMBERS[token.letter].digits


def _expression(token: Token, digits: int) -> str:
    if token.letter == "Z":
        return _OFFSET
    return rf"[+-]?\d{{1,{digits}}}" if token.letter in ("y", "Y") else rf"\d{{1,{digits}}}"


def _filled(group: pa.Array) -> pa.Array:
    """Return the texts of a group, ``1`` for texts that do not match: such a number is valid everywhere."""
    return pc.fill_null(group, "1")


def _integers(texts: pa.Array) -> Integers:
    return np.asarray(texts.cast(pa.int64()))


def _offsets(texts: pa.Array) -> Integers:
    """Return the milliseconds of offsets such as ``+0100``, ``-01:30`` and ``Z``."""
    of_text = {}
    for text in texts.unique().to_pylist():
        digits = re.sub(r"\D", "", text).ljust(6, "0")
        size = int(digits[:2]) * HOUR + int(digits[2:4]) * MINUTE + int(digits[4:6]) * SECOND
        of_text[text] = -size if text.startswith("-") else size
    encoded = texts.dictionary_encode()
    sizes = np.array([of_text[text] for text in encoded.dictionary.to_pylist()], np.int64)
    return sizes[np.asarray(encoded.indices)] if len(sizes) else np.empty(0, np.int64)


def _local_times(values: dict[str, Integers], tokens: Sequence[Token], count: int) -> tuple[Integers, Booleans]:
    """Return the times of fields, and which of them are times."""
    is_valid = np.ones(count, np.bool_)
    for letter, highest in _HIGHEST.items():
        if letter in values:
            least = 1 if letter in "MdDk" else 0
            is_valid &= (values[letter] >= least) & (values[letter] <= highest)
    begins_with_date = any(one.letter in ("M", "d", "D") for one in tokens)
    year = values.get("y", values.get("Y", np.full(count, _DEFAULT_YEAR if begins_with_date else 1970, np.int64)))
    month, day = (values.get(letter, np.ones(count, np.int64)) for letter in ("M", "d"))
    safe_month = np.clip(month, 1, 12)
    days = _days(year, safe_month, np.ones(count, np.int64))
    next_month = _days(year + safe_month // 12, safe_month % 12 + 1, np.ones(count, np.int64))
    is_valid &= day <= next_month - days
    days = days + day - 1
    if "D" in values:
        first = _days(year, np.ones(count, np.int64), np.ones(count, np.int64))
        is_valid &= values["D"] <= _days(year + 1, np.ones(count, np.int64), np.ones(count, np.int64)) - first
        days = first + values["D"] - 1
    hour = values.get("H", values["k"] % 24 if "k" in values else np.zeros(count, np.int64))
    zero = np.zeros(count, np.int64)
    time = hour * HOUR + values.get("m", zero) * MINUTE + values.get("s", zero) * SECOND + values.get("S", zero)
    return days * DAY + time, is_valid


def _days(year: Integers, month: Integers, day: Integers) -> Integers:
    """Return the days since 1970 of dates of the proleptic Gregorian calendar."""
    shifted = year - (month <= _FEBRUARY)
    era = shifted // 400
    of_era = shifted - era * 400
    of_year = (153 * (month + np.where(month > _FEBRUARY, -_MARCH, 12 - _MARCH)) + 2) // 5 + day - 1
    days: Integers = era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468
    return days


def day_of(year: int, month: int, day: int) -> int:
    """Return the days since 1970 of a date of the proleptic Gregorian calendar."""
    [found] = _days(*(np.array([one], np.int64) for one in (year, month, day))).tolist()
    return int(found)


def _date_of(day: int) -> tuple[int, int, int]:
    """Return the year, month and day of month of a number of days since 1970."""
    era, of_era = divmod(day + 719_468, 146_097)
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    of_month = of_year - (153 * month + 2) // 5 + 1
    is_next = month >= _MONTHS_TO_YEAR
    return year + era * 400 + is_next, month + _MARCH - 12 * is_next, of_month
