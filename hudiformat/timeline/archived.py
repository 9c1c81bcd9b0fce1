"""Archived instants, and the files of an instant that is going to be archived."""

from __future__ import annotations

from dataclasses import dataclass

from hudiformat.timeline.contents import Metadata, Plan
from hudiformat.timeline.timeline import Instant


@dataclass(frozen=True, slots=True)
class ArchivedInstant:
    """A completed instant of the archived timeline, with the content of its files; None for empty files.

    The *plan* of a compaction belongs to the commit as which it completed.  The completion time of an instant of
    timeline layout 1 comes from the archive; very old archives have none.
    """

    instant: Instant
    metadata: Metadata | None = None
    plan: Plan | None = None


@dataclass(frozen=True, slots=True)
class InstantFiles:
    """The states of one instant that have a file on the active timeline; they are archived and deleted together."""

    pending: tuple[Instant, ...]
    completed: Instant
