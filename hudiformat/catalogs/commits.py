"""Tell which partitions commits have touched since the last one that a catalog knows, and which have files now.

Source: TimelineUtils.getCommitsTimelineAfter, getWrittenPartitions and getDroppedPartitions, Hudi 1.2.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone

from hudiformat.naming.instants import format_instant
from hudiformat.table.state import TableState
from hudiformat.timeline.config_files import VERSION_WITH_COMPLETION_TIMES
from hudiformat.timeline.table_config import TimelineZone
from hudiformat.timeline.timeline import Instant


@dataclass(frozen=True, slots=True)
class TouchedPartitions:
    """The partition paths that have files (*live*) and those that have none any more (*gone*)."""

    live: frozenset[str]
    gone: frozenset[str] = frozenset()


def last_times(state: TableState) -> tuple[str | None, str | None]:
    """Return the requested time of the newest completed write, and the newest completion time of all of them."""
    writes = state.timeline.completed_writes
    times = completion_times(state)
    return (writes[-1].time if writes else None), max((times[one] for one in writes if one in times), default=None)


def completion_times(state: TableState) -> Mapping[Instant, str]:
    """Return the completion times of the completed writes that are known; below version 8 those of their files.

    Source: InstantGeneratorV1.createNewInstant, Hudi 1.2.0.
    """
    writes = state.timeline.completed_writes
    if state.config.version >= VERSION_WITH_COMPLETION_TIMES:
        return {one: one.completion_time for one in writes if one.completion_time is not None}
    written = {info.name: info.modified for info in state.storage.list(state.config.timeline_folder)}
    modified = {one: written.get(one.file_name) for one in writes}
    zone = state.config.timeline_zone
    return {one: _instant_of(when, zone) for one, when in modified.items() if when is not None}


def _instant_of(milliseconds: int, zone: TimelineZone) -> str:
    moment = datetime.fromtimestamp(milliseconds / 1000, timezone.utc)
    return format_instant(moment if zone is TimelineZone.UTC else moment.astimezone())


def partitions_with_files(state: TableState) -> TouchedPartitions:
    """Return all partitions that have files that queries read: a folder alone does not make one."""
    return TouchedPartitions(frozenset(one.partition_path for one in state.slices()))


def partitions_since(state: TableState, commit: str, completion: str | None) -> TouchedPartitions | None:
    """Return the partitions of the writes after the requested time *commit* or the completion time *completion*.

    The result is None if the write at *commit* is not on the active timeline: it was archived, rolled back or restored,
    so that nobody knows what has changed since.
    """
    writes = state.timeline.completed_writes
    if commit not in {one.time for one in writes}:
        return None
    times = completion_times(state)
    has_files: dict[str, bool] = {}
    for done in writes:
        # A write that was requested earlier may have completed later.
        if done.time <= commit and (completion is None or times.get(done, "") <= completion):
            continue
        metadata = state.metadata(done)
        has_files |= dict.fromkeys(metadata.partition_to_replace_file_ids or {}, False)
        has_files |= dict.fromkeys(metadata.partition_to_write_stats, True)
    replaced = [path for path, is_sure in has_files.items() if not is_sure]
    gone = frozenset(path for path in replaced if not state.slices(path))
    return TouchedPartitions(frozenset(has_files) - gone, gone)
