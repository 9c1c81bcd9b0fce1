"""Archived instants, and the files of an instant that is going to be archived."""

from __future__ import annotations

from dataclasses import dataclass

from hudiformat.errors import CorruptTableError, NameFormatError
from hudiformat.naming.checks import check_instant
from hudiformat.timeline.contents import Metadata, Plan
from hudiformat.timeline.timeline import Action, Instant, State


@dataclass(frozen=True, slots=True)
class ArchivedInstant:
    """A completed instant of the archived timeline, with the content of its files; None for empty files.

    The *plan* of a compaction is with the commit that it completed as.  The completion time of an instant of timeline
    layout 1 comes from the archive; very old archives have none.
    """

    instant: Instant
    metadata: Metadata | None = None
    plan: Plan | None = None


@dataclass(frozen=True, slots=True)
class InstantFiles:
    """The states of one instant that have a file on the active timeline; they are archived and deleted together."""

    pending: tuple[Instant, ...]
    completed: Instant


def parse_archived_instant(
    time: object, action: object, state: State, completion_time: object = None, *, path: str
) -> Instant:
    """Return the instant that an entry of the archived timeline names.

    Raises:
        CorruptTableError: it is no instant; *path* is named.
    """
    try:
        end = None if completion_time is None else check_instant(_text(completion_time))
        return Instant(check_instant(_text(time)), Action(action), state, end)
    except (NameFormatError, ValueError) as error:
        raise CorruptTableError(f"{path}: expected archived instants: {error}", path=path) from error


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""  # which is no instant
