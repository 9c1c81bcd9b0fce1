"""Instants: the times that name commits, and their text.

An instant is wall-clock time of the table's timeline time zone, written ``yyyyMMddHHmmssSSS``; it carries no zone.
Instants are compared as text, never as numbers or dates: that is how Hudi orders them, and the forms of different
lengths only sort rightly that way.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from hudiformat.errors import NameFormatError

_SECONDS_LENGTH = 14
_MILLIS_LENGTH = 17
_MILLISECOND = timedelta(milliseconds=1)

_DIGITS = re.compile("[0-9]+")


def is_instant(text: str) -> bool:
    """Whether *text* can stand as an instant in a file name: decimal digits, of any number.

    The metadata table has instants that are no times, such as ``00000000000000001``, and up to Hudi 0.15 also some of
    twenty digits: those of a commit with three more for what was done to the metadata table after it.

    Source: InstantGeneratorV1 and V2.NAME_FORMAT, Hudi 1.2.0.
    """
    return _DIGITS.fullmatch(text) is not None


def format_instant(time: datetime) -> str:
    """The instant of a time to the millisecond, in the wall clock that *time* shows; its zone is not converted.

    Source: HoodieInstantTimeGenerator.MILLIS_INSTANT_TIME_FORMATTER, Hudi 1.2.0.
    """
    return (
        f"{time.year:04d}{time.month:02d}{time.day:02d}"
        f"{time.hour:02d}{time.minute:02d}{time.second:02d}{time.microsecond // 1000:03d}"
    )


def parse_instant(text: str) -> datetime:
    """The time of an instant, without a zone.

    Seventeen digits count milliseconds.  Fourteen digits, the form of Hudi before 0.10, stand for the *last*
    millisecond of their second, so that "up to this instant" takes in what was written within it.  Of more digits the
    first seventeen count: the metadata table appends a suffix.

    Raises:
        NameFormatError: not an instant, or one that is no time, such as ``00000000000000``.

    Source: HoodieInstantTimeGenerator.fixInstantTimeCompatibility, Hudi 1.2.0.
    """
    if not is_instant(text) or (len(text) < _MILLIS_LENGTH and len(text) != _SECONDS_LENGTH):
        raise NameFormatError(f"expected an instant of 17 (or 14) digits, found {text!r}", name=text)
    digits = f"{text}999" if len(text) == _SECONDS_LENGTH else text[:_MILLIS_LENGTH]
    try:
        # %f takes three digits as milliseconds.
        return datetime.strptime(digits, "%Y%m%d%H%M%S%f")  # noqa: DTZ007 - instants have no zone
    except ValueError as error:
        raise NameFormatError(f"{text!r} has the form of an instant but is no time: {error}", name=text) from None


def next_instant(now: datetime, after: str | None) -> str:
    """An instant not before *now* that is greater than *after*, the timeline's greatest.

    A clock that stands still or runs behind another writer's costs steps of one millisecond, never an instant that
    was there before.

    Raises:
        NameFormatError: *after* is greater than *now* and no time that a millisecond could be added to.

    Source: HoodieInstantTimeGenerator.createNewInstantTime and instantTimePlusMillis, Hudi 1.2.0.
    """
    instant = format_instant(now)
    if after is None or instant > after:
        return instant
    try:
        return format_instant(parse_instant(after) + _MILLISECOND)
    except OverflowError:
        raise NameFormatError(f"there is no instant after {after!r}", name=after) from None
