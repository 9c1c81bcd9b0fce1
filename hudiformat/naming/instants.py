"""Parse and format instants, the times that name commits.

An instant is a wall-clock time in the table's timeline time zone, written ``yyyyMMddHHmmssSSS``, without the zone.
Instants are compared as text, never as numbers or dates: Hudi orders them so, and instants of different lengths sort
correctly only as text.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from hudiformat.errors import NameFormatError

_SECONDS_LENGTH = 14
_MILLIS_LENGTH = 17
_MILLISECOND = timedelta(milliseconds=1)

_DIGITS = re.compile("[0-9]+")

METADATA_BOOTSTRAP = "00000000000001"
"""The instant of a bootstrap's base files that have only meta fields; it is no time."""
FULL_BOOTSTRAP = "00000000000002"
"""The instant of a bootstrap's base files that have whole rows; it is no time.  Source: HoodieTimeline, Hudi 1.2.0."""


def is_instant(text: str) -> bool:
    """Return whether *text* can be an instant in a file name: any number of decimal digits.

    The metadata table has instants that are no times, such as ``00000000000000001``.  Up to Hudi 0.15 it also has
    instants of twenty digits: the digits of a commit, and three more for an action on the metadata table after it.

    Source: InstantGeneratorV1 and V2.NAME_FORMAT, Hudi 1.2.0.
    """
    return _DIGITS.fullmatch(text) is not None


def format_instant(time: datetime) -> str:
    """Return the instant of *time*, to the millisecond; its wall-clock time is used as it is, whatever its zone.

    Source: HoodieInstantTimeGenerator.MILLIS_INSTANT_TIME_FORMATTER, Hudi 1.2.0.
    """
    return (
        f"{time.year:04d}{time.month:02d}{time.day:02d}"
        f"{time.hour:02d}{time.minute:02d}{time.second:02d}{time.microsecond // 1000:03d}"
    )


def parse_instant(text: str) -> datetime:
    """Return the time of an instant, without a zone.

    Seventeen digits give milliseconds.  Fourteen digits, the form of Hudi before 0.10, mean the *last* millisecond of
    their second, so that "up to this instant" includes all writes within it.  Of more digits the first seventeen count,
    because the metadata table appends a suffix.

    Raises:
        NameFormatError: *text* is no instant, or no time, such as ``00000000000000``.

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
    """Return an instant not before *now* that is greater than *after*, the greatest instant of the timeline.

    If the clock stands still, or is behind another writer's clock, the result is one millisecond after *after*, so no
    instant is used twice.

    Raises:
        NameFormatError: *after* is greater than *now*, but is no time to which a millisecond can be added.

    Source: HoodieInstantTimeGenerator.createNewInstantTime and instantTimePlusMillis, Hudi 1.2.0.
    """
    instant = format_instant(now)
    if after is None or instant > after:
        return instant
    try:
        return format_instant(parse_instant(after) + _MILLISECOND)
    except OverflowError:
        raise NameFormatError(f"there is no instant after {after!r}", name=after) from None
