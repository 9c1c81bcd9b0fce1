"""An instant that has left the active timeline, and the files that it left there, as the archive is made from them."""

from __future__ import annotations

from dataclasses import dataclass

from hudiformat.timeline.contents import Metadata, Plan
from hudiformat.timeline.timeline import Instant


@dataclass(frozen=True, slots=True)
class ArchivedInstant:
    """A completed instant of the archived timeline, with what its files said; null where they said nothing.

    A compaction's *plan* goes with the commit that it completed as.  An instant of timeline layout 1 has the completion
    time that the archive names; very old archives name none.
    """

    instant: Instant
    metadata: Metadata | None = None
    plan: Plan | None = None


@dataclass(frozen=True, slots=True)
class InstantFiles:
    """The files that one instant has on the active timeline: what is archived, and deleted, together."""

    pending: tuple[Instant, ...]
    completed: Instant
