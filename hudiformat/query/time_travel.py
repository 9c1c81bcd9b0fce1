"""Time travel: moments as text, and whether the rows of a moment are known."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone

from hudiformat.errors import NameFormatError, TableError
from hudiformat.naming import format_instant, parse_instant
from hudiformat.table import TableState
from hudiformat.timeline import (
    Action,
    CleanMetadata,
    Instant,
    RequestedReplaceMetadata,
    State,
    TimelineZone,
)

_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(\.\d{3})?", re.ASCII)
_EPOCH = re.compile(r"(\d{10})(\d{3})?", re.ASCII)
_LAST_MILLISECOND = ".999"


def as_instant(moment: str | date, zone: TimelineZone) -> str:
    """An instant as text, out of an instant, a date or a datetime, or the text of one.

    A date is its first moment.  A time in whole seconds is the last millisecond of its second; an instant of fourteen
    digits stays as it is, and so comes before all instants of its second.  Ten digits are seconds since 1970, thirteen
    milliseconds, of which *zone* shows the wall clock.

    Raises:
        NameFormatError: a text that is none of these.

    Source: HoodieSqlCommonUtils.formatQueryInstant, Hudi 1.2.0.
    """
    if isinstance(moment, datetime):
        return format_instant(moment)
    if isinstance(moment, date):
        return format_instant(datetime(moment.year, moment.month, moment.day))  # noqa: DTZ001 - the table's own zone
    try:
        if _DATE.fullmatch(moment):
            return format_instant(datetime.fromisoformat(moment))
        if match := _TIME.fullmatch(moment):
            return format_instant(datetime.fromisoformat(f"{match[1]} {match[2]}{match[3] or _LAST_MILLISECOND}"))
        if match := _EPOCH.fullmatch(moment):
            return _of_epoch(int(match[1]), int(match[2] or 0), zone)
    except ValueError as error:
        raise NameFormatError(f"{moment!r} is no time: {error}", name=moment) from None
    if "-" in moment or ":" in moment:
        raise NameFormatError(
            f"expected an instant, yyyy-MM-dd or yyyy-MM-dd HH:mm:ss[.SSS], found {moment!r}", name=moment
        )
    parse_instant(moment)
    return moment


def _of_epoch(seconds: int, milliseconds: int, zone: TimelineZone) -> str:
    moment = datetime.fromtimestamp(seconds, tz=timezone.utc) + timedelta(milliseconds=milliseconds)
    return format_instant(moment if zone is TimelineZone.UTC else moment.astimezone())


def check_as_of(state: TableState, moment: str) -> None:
    """Raise where the rows of *moment* are not known.

    A pending write may still complete, and would then have been visible; files that were cleaned no longer exist.

    Raises:
        TableError: *moment* is not before the first pending write, or it is before what the last clean kept.

    Source: TimelineUtils.validateTimestampAsOf, Hudi 1.2.0.
    """
    root = state.storage.root
    pending = first_pending_write(state)
    if pending is not None and moment >= pending.time:
        raise TableError(
            f"{root}: as of {moment} cannot be told, as the write {pending} is not complete;"
            " ask for an earlier moment, or for the newest rows without as_of",
            path=root,
        )
    earliest = _earliest_kept(state)
    if earliest is not None and moment < earliest:
        raise TableError(
            f"{root}: as of {moment} has been cleaned away; the earliest that was kept is {earliest}", path=root
        )


def first_pending_write(state: TableState) -> Instant | None:
    """The first pending write that is not a clustering, which changes no rows."""
    pending = (instant for instant in state.timeline.pending if instant.action.is_write)
    return next((instant for instant in pending if not _is_clustering(state, instant)), None)


def _is_clustering(state: TableState, pending: Instant) -> bool:
    """Whether a replace commit is a clustering, by its plan."""
    if pending.action is not Action.REPLACE_COMMIT:
        return False
    plan = state.content(Instant(pending.time, pending.action, State.REQUESTED))
    return isinstance(plan, RequestedReplaceMetadata) and plan.clustering_plan is not None


def _earliest_kept(state: TableState) -> str | None:
    cleans = [done for done in state.timeline.completed if done.action is Action.CLEAN]
    if not cleans:
        return None
    metadata = state.content(cleans[-1])
    if isinstance(metadata, CleanMetadata) and metadata.earliest_commit_to_retain:
        return metadata.earliest_commit_to_retain
    return next((done.time for done in state.timeline.completed_writes), None)
