"""Time zones by the names that Java takes, and the offsets of their wall clocks.  Pure.

Source: java.util.TimeZone.getTimeZone, org.joda.time.DateTimeZone.forTimeZone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo, available_timezones

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.errors import DataError, OptionError

Integers = npt.NDArray[np.int64]

_CUSTOM = re.compile(r"GMT([+-])(\d{1,2})(?::?(\d{2}))?")
_MINUTE = 60_000
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_HOURS, _MINUTES = 24, 60
UTC_NAMES = ("UTC", "GMT", "UCT", "Zulu", "Etc/UTC", "Etc/GMT")
_QUARTER = 15 * _MINUTE
"""Clocks change at whole quarters of an hour, of each zone and of UTC, since long before 2037."""
_EARLIEST, _LATE = -62_000_000_000_000, 2_114_380_800_000
"""In milliseconds: the year 5, as no offset has changed before, and 2037, as Arrow knows of no change later."""
_CYCLE = 146_097 * 86_400_000
"""400 years, after which weekdays and leap years come again."""
_OF_JAVA = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "CET",
    "EST": "America/New_York",
    "HST": "Pacific/Honolulu",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MET": "CET",
    "MIT": "Pacific/Apia",
    "MST": "America/Denver",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}
"""The short names of Java's first release.  Source: org.joda.time.DateTimeZone.getConvertedId."""


@dataclass(frozen=True, slots=True)
class Zone:
    """A time zone: a ``name`` of the database of time zones, or without one a fixed ``offset`` in milliseconds."""

    name: str
    offset: int = 0

    @classmethod
    def parse(cls, text: str, option: str) -> Zone:
        """Return the zone that Java finds by the name *text*, which is the value of *option*.

        Raises:
            OptionError: no such zone is known.  Java takes UTC for it.
        """
        custom = _CUSTOM.fullmatch(text)
        if custom is not None and int(custom[2]) < _HOURS and int(custom[3] or 0) < _MINUTES:
            size = (int(custom[2]) * 60 + int(custom[3] or 0)) * _MINUTE
            return cls("", -size if custom[1] == "-" else size)
        name = _OF_JAVA.get(text, text)
        if name in UTC_NAMES:
            return cls("")
        if name not in available_timezones():
            raise OptionError(
                f"{option}: expected the name of a time zone, such as Europe/Berlin, UTC or GMT+8:00, found {text!r}, "
                "which Java takes for UTC; name the zone as it is",
                option=option,
            )
        return cls(name)

    def local(self, moments: Integers) -> Integers:
        """Return the wall-clock times of *moments*, both in milliseconds since 1970."""
        if not self.name:
            return moments + self.offset
        known = np.clip(moments, _EARLIEST, _LATE)
        times = pa.array(known, pa.timestamp("ms", self.name))
        local: Integers = moments + np.asarray(pc.local_timestamp(times).cast(pa.int64())) - known
        late = np.flatnonzero(moments > _LATE)
        if len(late):
            local[late] = moments[late] + self._late_offsets(moments[late], of_local=False)
        return local

    def moments(self, local: Integers) -> Integers:
        """Return the moments of wall-clock times, of two the earlier one.

        Raises:
            DataError: the clocks of the zone were put forward, and have never shown the time.
        """
        if not self.name:
            return local - self.offset
        known = np.clip(local, _EARLIEST, _LATE)
        try:
            found = pc.assume_timezone(
                pa.array(known, pa.timestamp("ms")), self.name, ambiguous="earliest", nonexistent="raise"
            )
        except pa.ArrowInvalid as error:
            raise DataError(f"a time that clocks in {self.name} have never shown: {error}; change it") from error
        moments: Integers = local + np.asarray(found.cast(pa.int64())) - known
        late = np.flatnonzero(local > _LATE)
        if len(late):
            moments[late] = local[late] - self._late_offsets(local[late], of_local=True)
            if (self.local(moments[late]) != local[late]).any():
                raise DataError(f"a time that clocks in {self.name} have never shown; change it")
        return moments

    def _late_offsets(self, times: Integers, *, of_local: bool) -> Integers:
        """Return the offsets of moments, or of wall-clock times, after the changes that Arrow knows.

        Python's zones know the rules by which clocks will change.
        """
        zone = ZoneInfo(self.name)
        folded = np.where(times > _CYCLE * 20, times % _CYCLE + _CYCLE, times)
        quarters = pa.array(folded // _QUARTER).dictionary_encode()
        offsets = []
        for quarter in quarters.dictionary.to_pylist():
            at = _EPOCH + timedelta(milliseconds=quarter * _QUARTER)
            there = at.replace(tzinfo=zone) if of_local else at.astimezone(zone)
            offset = there.utcoffset()
            offsets.append(0 if offset is None else int(offset.total_seconds()) * 1000)
        found: Integers = np.array(offsets, np.int64)[np.asarray(quarters.indices)]
        return found


UTC = Zone("")
