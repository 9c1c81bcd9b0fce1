"""The time zone of this process, by its name: partition paths of times are made in it if a table names none."""

from __future__ import annotations

import os
import time
from zoneinfo import available_timezones

from hudiformat.naming.time_zones import UTC, UTC_NAMES, Zone


def local_zone() -> Zone | None:
    """Return the time zone of this process; None if it is none of the database of time zones."""
    name = local_zone_name()
    if name in available_timezones() and name not in UTC_NAMES:
        return Zone(name)
    return None if time.timezone or time.daylight else UTC


def local_zone_name() -> str:
    """Return the name that the process, or else the machine, has for its time zone; empty if it has none."""
    name = os.environ.get("TZ", "").removeprefix(":")
    return name or os.path.realpath("/etc/localtime").partition("zoneinfo/")[2]
