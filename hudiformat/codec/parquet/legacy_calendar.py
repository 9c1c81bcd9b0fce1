"""Dates and times of Spark's legacy calendar as the same ones of the calendar of ISO 8601, which Parquet means.

The legacy calendar is that of ``java.util.GregorianCalendar``: Julian before October 15, 1582.  And in times before
1900 it counts the offset that a time zone has today, while ``java.time`` counts the one of then.  So a time of Berlin
moves by 392 seconds until 1893, when the city took its hour of today: it was 53 minutes and 28 seconds from UTC before.

Which offsets these are depends on the release of the time zone database; those that are installed here differ from
Spark's in a quarter of the zones.  So Spark's own are part of the package, as ``legacy_zones.json``, which
``tools/legacy_zones.py`` writes: by time zone, the offset of the legacy calendar in seconds, the seconds that are added
to its times, and pairs of a moment (in seconds since 1970) and the seconds that are added from then on.

Source: RebaseDateTime, julian-gregorian-rebase-micros.json of Spark 3.5 and 4.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
import numpy.typing as npt

FIRST_GREGORIAN_DAY = -141_427
"""October 15, 1582: from this day on both calendars give a date the same number."""
FIRST_MODERN_SECOND = -2_208_988_800
"""January 1, 1900: from then on Java's two libraries of times know the same offsets of all zones."""

_DAY = 86_400
_HOUR = 3600
_FIXED = {"Z": 0, "UT": 0, "EST": -5 * _HOUR, "MST": -7 * _HOUR, "HST": -10 * _HOUR}
"""Names of offsets that Spark takes and its table lacks.  Source: java.time.ZoneId.SHORT_IDS."""
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d\d))?(?::?(\d\d))?")

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LegacyZone:
    """A time zone of the legacy calendar: its ``offset`` from UTC in seconds, and what is added to its times.

    ``added`` has pairs of a moment and a number of seconds, both in ascending order of the moment; the first has no
    moment, None.
    """

    offset: int
    added: tuple[tuple[int | None, int], ...] = ((None, 0),)

    def to_gregorian(self, times: Numbers, *, per_second: int) -> Numbers:
        """Return *times* of the legacy calendar, in units since 1970, as the same ones of the Gregorian calendar."""
        days, of_day = np.divmod(times + self.offset * per_second, _DAY * per_second)
        moments = np.array([moment * per_second for moment, _ in self.added if moment is not None], np.int64)
        seconds = np.array([seconds for _, seconds in self.added], np.int64)[np.searchsorted(moments, times, "right")]
        changed = (to_gregorian_days(days) * _DAY - self.offset + seconds) * per_second + of_day
        result: Numbers = np.where(times < FIRST_MODERN_SECOND * per_second, changed, times)
        return result


def to_gregorian_days(days: Numbers) -> Numbers:
    """Return for days since 1970 of the legacy calendar the days of the same dates in the Gregorian one.

    Both calendars differ by some days up to 1582; the difference is a day less for each century whose year is a leap
    year only in the Julian calendar.
    """
    julian = days + 719_468 + 2  # days since March 1 of the year 0 in the Julian calendar
    years, of_year = np.divmod(julian * 4 + 3, 1461)
    day_of_year = of_year // 4
    gregorian = 365 * years + years // 4 - years // 100 + years // 400 + day_of_year - 719_468
    changed: Numbers = np.where(days < FIRST_GREGORIAN_DAY, gregorian, days)
    return changed


def legacy_zone(name: str) -> LegacyZone | None:
    """Return the time zone that Spark knows as *name*, such as Europe/Berlin or +05:30; None if it is not known."""
    found = _zones().get(name)
    if found is not None:
        offset, first, *more = found
        return LegacyZone(offset, ((None, first), *zip(more[::2], more[1::2], strict=True)))
    if name in _FIXED:
        return LegacyZone(_FIXED[name])
    match = _OFFSET.fullmatch(name)
    if match is None:
        return None
    sign, hours, minutes, seconds = match.groups(default="0")
    total = int(hours) * _HOUR + int(minutes) * 60 + int(seconds)
    return LegacyZone(-total if sign == "-" else total)


@cache
def _zones() -> dict[str, list[int]]:
    text = files("hudiformat.codec.parquet").joinpath("legacy_zones.json").read_text("utf-8")
    zones: dict[str, list[int]] = json.loads(text)
    return zones
