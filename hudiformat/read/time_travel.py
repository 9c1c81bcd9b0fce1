"""Time travel: convert moments to instants, and check that the rows of a moment are still known."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta, timezone
from typing import Protocol, runtime_checkable

from hudiformat.errors import BeforeFirstCommitError, NameFormatError, TableError, format_value
from hudiformat.file_group.deleted_files import deleted_files
from hudiformat.file_group.slices import FileSlice
from hudiformat.naming.file_names import BaseFileName, LogFileName, join_path
from hudiformat.naming.instants import FULL_BOOTSTRAP, METADATA_BOOTSTRAP, format_instant, parse_instant
from hudiformat.read.skipping import PartitionPruner
from hudiformat.table.state import TableState
from hudiformat.timeline.archive.archiving import read_archived
from hudiformat.timeline.cleans import CleanerPlan, CleanMetadata
from hudiformat.timeline.config_files import VERSION_WITH_COMPLETION_TIMES
from hudiformat.timeline.plans import RequestedReplaceMetadata
from hudiformat.timeline.table_config import TimelineZone
from hudiformat.timeline.timeline import Action, Instant, State

_ISO = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)"
    r"([ Tt](?P<hours>\d\d)(:(?P<minutes>\d\d)(:(?P<seconds>\d\d)([.,](?P<fraction>\d+))?)?)?"
    r"(?P<zone>Z|[+-]\d\d(:?\d\d(:\d\d(\.\d{6})?)?)?)?)?",
    re.ASCII,
)
_EPOCH = re.compile(r"(\d{10})(\d{3})?", re.ASCII)
_LAST_MILLISECOND = "999000"
_AFTER_ALL = ":"  # compares as a text higher than every instant


@runtime_checkable
class Written(Protocol):
    """The result of a write: a ``Commit``."""

    @property
    def instant(self) -> str:
        """The time at which the write was requested."""

    @property
    def completion_time(self) -> str | None:
        """The time at which the write became visible."""


_FORMS = (
    "an instant (of digits, an Instant or a Commit), a date or a datetime (also as text, such as 2024-02-29 or "
    "2024-02-29T12:00:00.123+01:00), or seconds or milliseconds since 1970 (10 or 13 digits)"
)

Moment = str | date | Instant | Written
"""A moment: an instant (as text, or of the timeline), a commit, a date, a datetime, or an ISO 8601 text."""


def as_instant(moment: Moment, zone: TimelineZone) -> str:
    """Return the instant, as text, that a moment stands for.

    A datetime with a time zone is converted to *zone*; one without is taken to be in *zone*.  A date stands for its
    first moment.  An ISO 8601 text without a fraction stands for the last millisecond of its second.  An instant of
    fourteen digits is not changed, and so comes before all instants of its second.  Ten digits are seconds since 1970,
    thirteen digits milliseconds.  A commit stands for its instant.

    Raises:
        NameFormatError: *moment* is none of these.

    Source: HoodieSqlCommonUtils.formatQueryInstant, Hudi 1.2.0, which accepts fewer forms.
    """
    if isinstance(moment, datetime):
        return format_instant(_wall_clock(moment, zone))
    if isinstance(moment, date):
        return format_instant(datetime(moment.year, moment.month, moment.day))  # noqa: DTZ001 - the table's own zone
    if not isinstance(moment, str):
        return instant_text(moment)
    if match := _EPOCH.fullmatch(moment):
        seconds = datetime.fromtimestamp(int(match[1]), tz=timezone.utc)
        return format_instant(_wall_clock(seconds + timedelta(milliseconds=int(match[2] or 0)), zone))
    try:
        if match := _ISO.fullmatch(moment):
            return format_instant(_wall_clock(_to_datetime(match), zone))
    except (ValueError, OverflowError) as error:
        raise NameFormatError(f"expected a time, found {moment!r}, which is none: {error}", name=moment) from None
    try:
        if moment not in (METADATA_BOOTSTRAP, FULL_BOOTSTRAP):
            parse_instant(moment)
    except NameFormatError:
        raise NameFormatError(f"expected {_FORMS}, found {moment!r}", name=moment) from None
    return moment


def moment_text(moment: Moment) -> str:
    """Return a moment as text that :func:`as_instant` reads as the same moment."""
    if isinstance(moment, datetime):
        return moment.isoformat(timespec="microseconds")
    return moment.isoformat() if isinstance(moment, date) else instant_text(moment)


def instant_text(named: object) -> str:
    """Return the instant of a text, an ``Instant`` or a commit; a text is returned unchanged.

    Raises:
        NameFormatError: *named* is something else.
    """
    if isinstance(named, str):
        return named
    if isinstance(named, Instant):
        return named.time
    if isinstance(named, Written):
        return named.instant
    hint = "; columns are given as columns=" if isinstance(named, list | tuple) else ""
    raise NameFormatError(f"expected {_FORMS}, found {format_value(named)}{hint}")


def _wall_clock(moment: datetime, zone: TimelineZone) -> datetime:
    """Return *moment* as the local time of the table's zone; a datetime without a zone is returned unchanged."""
    if moment.tzinfo is None:
        return moment
    return moment.astimezone(timezone.utc if zone is TimelineZone.UTC else None)


def _to_datetime(match: re.Match[str]) -> datetime:
    hours, minutes, seconds, fraction = match["hours"], match["minutes"], match["seconds"], match["fraction"]
    if hours is None:
        return datetime.fromisoformat(match["date"])
    # The fraction may have any length; without one, the text stands for the end of its second.
    microseconds = f"{fraction:0<6}"[:6] if fraction else _LAST_MILLISECOND
    zone = match["zone"] or ""
    if zone == "Z":
        zone = "+00:00"
    elif zone and ":" not in zone:
        zone = f"{zone[:3]}:{zone[3:] or '00'}"
    return datetime.fromisoformat(f"{match['date']}T{hours}:{minutes or '00'}:{seconds or '00'}.{microseconds}{zone}")


def check_as_of(state: TableState, moment: str) -> None:
    """Raise a TableError if the rows of *moment* are not known.

    A pending write before *moment* may still complete, and its rows would then belong to *moment*.  Files that were
    cleaned no longer exist.  Every clean after *moment* is checked, including archived and pending ones, because an
    earlier clean may have kept less than a later one.

    Raises:
        BeforeFirstCommitError: the table had no commits at *moment*.
        TableError: *moment* is not before the first pending write, or it is before what a clean kept.

    Source: TimelineUtils.validateTimestampAsOf, Hudi 1.2.0.
    """
    root = state.storage.root
    _refuse_before_all(state, moment)
    pending = first_pending_write(state)
    if pending is not None and moment >= pending.time:
        raise TableError(
            f"{root}: as of {moment} cannot be told, as the write {pending} is not complete;"
            " ask for an earlier moment, or for the newest rows without as_of",
            path=root,
        )
    for clean, content in _cleans_after(state, moment):
        earliest = _earliest_kept(state, content)
        if earliest is not None and moment < earliest:
            raise TableError(
                f"{root}: as of {moment} has been cleaned away; the earliest that was kept is {earliest}, by the clean"
                f" {clean.time}",
                path=root,
            )


def _refuse_before_all(state: TableState, moment: str) -> None:
    done = state.timeline.completed_writes
    if not done or done[0].time <= moment:
        return
    archived = [one.instant.time for one in read_archived(state.storage, state.config) if one.instant.action.is_write]
    first = min([*archived, done[0].time])
    if moment < first:
        raise BeforeFirstCommitError(
            f"{state.storage.root}: as of {moment} is before the first commit, {first}: ask for a later moment",
            path=state.storage.root,
        )


def refuse_cleaned(state: TableState, slices: Sequence[FileSlice], moment: str, pruner: PartitionPruner | None) -> None:
    """Raise a TableError if a clean by file versions has deleted a file that *moment* needs.

    Such a clean does not record the earliest moment whose rows it kept, so the deleted files are compared with
    *slices*: the slices as of *moment* in all partitions that *pruner* keeps.

    Raises:
        TableError: a clean has deleted a slice of *moment*, or a part of it.
    """
    then = {(one.partition_path, one.file_id): one.base_instant for one in slices}
    now: set[tuple[str, str]] | None = None
    for clean, content in _cleans_after(state, moment):
        for path, name in deleted_files(content) if _is_by_versions(content) else ():
            group = (path, name.file_id)
            is_asked = (pruner is None or pruner.may_hold(path)) and name.instant <= moment
            if not is_asked or then.get(group, "") > name.instant or _is_change_log(name):
                continue
            if now is None:
                now = {(one.partition_path, one.file_id) for one in state.slices(pruner=pruner)}
            # A clean deletes all files of a replaced group; the write that replaced it may have been archived.
            replaced_by = state.visibility.replaced.get(group, "")
            if group in now or replaced_by > moment:
                root = state.storage.root
                raise TableError(
                    f"{root}: as of {moment} has been cleaned away: the clean {clean.time} has deleted"
                    f" {join_path(path, str(name))}",
                    path=root,
                )


def _is_by_versions(content: object) -> bool:
    if isinstance(content, CleanMetadata):
        return not content.earliest_commit_to_retain
    return isinstance(content, CleanerPlan) and content.earliest_instant_to_retain is None


def _is_change_log(name: BaseFileName | LogFileName) -> bool:
    return isinstance(name, LogFileName) and name.is_cdc


def _cleans_after(state: TableState, moment: str) -> Iterator[tuple[Instant, object]]:
    """Yield the cleans requested after *moment*, the newest first, each with its metadata or, if pending, its plan."""
    cleans = [one for one in state.timeline.instants if one.action is Action.CLEAN]
    for clean in reversed(cleans):
        if clean.time > moment:
            shown = clean if clean.is_completed else Instant(clean.time, clean.action, State.REQUESTED)
            yield clean, state.content(shown)
    if any(clean.time <= moment for clean in cleans):
        return  # archived cleans are older still
    if moment < (state.timeline.first_active or "") or state.config.version < VERSION_WITH_COMPLETION_TIMES:
        for one in reversed(read_archived(state.storage, state.config)):
            if one.instant.action is Action.CLEAN and one.instant.time > moment:
                yield one.instant, one.metadata


def first_pending_write(state: TableState) -> Instant | None:
    """Return the first pending write other than a clustering, which changes no rows."""
    pending = (instant for instant in state.timeline.pending if instant.action.is_write)
    return next((instant for instant in pending if not _is_clustering(state, instant)), None)


def _is_clustering(state: TableState, pending: Instant) -> bool:
    """Return whether the plan of a pending replace commit is that of a clustering."""
    if pending.action is not Action.REPLACE_COMMIT:
        return False
    plan = state.content(Instant(pending.time, pending.action, State.REQUESTED))
    return isinstance(plan, RequestedReplaceMetadata) and plan.clustering_plan is not None


def _earliest_kept(state: TableState, content: object) -> str | None:
    """Return the earliest moment whose rows a clean has kept.

    The metadata of a clean by file versions names no such moment: then it is the first completed write of the active
    timeline.
    """
    if isinstance(content, CleanerPlan):
        earliest = content.earliest_instant_to_retain
        return None if earliest is None else earliest.timestamp
    if isinstance(content, CleanMetadata) and content.earliest_commit_to_retain:
        return content.earliest_commit_to_retain
    return next((done.time for done in state.timeline.completed_writes), None)
