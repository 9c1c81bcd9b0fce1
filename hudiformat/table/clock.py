"""What time it is, for the instants of a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone

from hudiformat.timeline import TimelineZone

Clock = Callable[[], datetime]
"""Gives the present moment in a table's time zone."""


@dataclass(frozen=True, slots=True)
class TableClock:
    """The present moment in the time zone that a table's instants are written in.  It travels to other processes."""

    zone: TimelineZone

    def __call__(self) -> datetime:
        """The moment, without a zone."""
        if self.zone is TimelineZone.UTC:
            return datetime.now(timezone.utc).replace(tzinfo=None)
        return datetime.now()  # noqa: DTZ005 - LOCAL, Hudi's default, is the machine's own zone
