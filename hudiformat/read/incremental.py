"""Incremental queries: the writes after one moment and up to another, and the file slices that they wrote to.

From table version 8 on, a write belongs to the moment of its completion, so that a query does not miss a write that
began early and completed late.  Version 6 has no completion times; there a write belongs to the moment of its instant.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow.compute as pc

from hudiformat.errors import TableError, UnsupportedFeatureError
from hudiformat.file_group.slices import FileSlice, build_slices, latest_slices
from hudiformat.naming.file_names import base_name
from hudiformat.naming.instants import is_instant
from hudiformat.read.time_travel import Moment, Written, as_instant, first_pending_write, instant_text
from hudiformat.schema.meta_fields import COMMIT_TIME
from hudiformat.storage.protocol import FileInfo
from hudiformat.table.state import TableState
from hudiformat.timeline.archive.archiving import read_archived
from hudiformat.timeline.commit_metadata import CommitMetadata
from hudiformat.timeline.config_files import VERSION_WITH_COMPLETION_TIMES
from hudiformat.timeline.table_config import TableConfig
from hudiformat.timeline.timeline import Instant

_EARLIEST = "earliest"

Write = tuple[Instant, CommitMetadata]
"""A completed write and its metadata."""


@dataclass(frozen=True, slots=True)
class Span:
    """The time after ``begin`` and up to and including ``end``, or up to the newest write if ``end`` is None.

    Both are texts that compare like instants.
    """

    begin: str
    end: str | None

    @classmethod
    def of(cls, config: TableConfig, begin: Moment, end: Moment | None) -> Span:
        """Return the span between two moments: instants of any length, or whatever time travel accepts.

        *begin* may be ``earliest``, too.  A commit stands for the moment at which it completed; below table version 8,
        for its instant.

        Raises:
            NameFormatError: a text is not a moment.
        """
        return cls(_boundary(config, begin), None if end is None else _boundary(config, end))

    def holds(self, moment: str) -> bool:
        """Return whether *moment* lies within the span."""
        return self.begin < moment and (self.end is None or moment <= self.end)


def _boundary(config: TableConfig, moment: Moment) -> str:
    if moment == _EARLIEST:
        return ""
    if isinstance(moment, Instant | Written):
        done = moment.completion_time if config.version >= VERSION_WITH_COMPLETION_TIMES else None
        return done or instant_text(moment)
    # Digits of any length are accepted: queries of everything begin at 0 or 000.
    plain = isinstance(moment, str) and is_instant(moment)
    return str(moment) if plain else as_instant(moment, config.timeline_zone)


def writes_within(state: TableState, span: Span) -> list[Write]:
    """Return the completed writes within *span*, including archived ones, in the order of their instants.

    Raises:
        TableError: the table is of version 6, and a write older than completed ones is pending; the next incremental
            query would miss it.

    Source: IncrementalQueryAnalyzer.analyze; HoodieIncrementalRelationV1Trait.includedCommits; Hudi 1.2.0.
    """
    if state.config.version < VERSION_WITH_COMPLETION_TIMES:
        _refuse_holes(state)
    instants = [done for done in state.timeline.completed_writes if span.holds(_moment(state, done))]
    return _archived_writes(state, span) + [(instant, state.metadata(instant)) for instant in instants]


def _moment(state: TableState, done: Instant) -> str:
    """Return the moment to which a completed write belongs: its completion time, or in version 6 its instant."""
    has_times = state.config.version >= VERSION_WITH_COMPLETION_TIMES
    return (done.completion_time if has_times else None) or done.time


def completion_times(state: TableState, *, after: str) -> list[str]:
    """Return the sorted completion times later than *after* of all writes, including archived ones: a stream's offsets.

    Source: IncrementalQueryAnalyzer, Hudi 1.2.0.
    """
    timeline = state.timeline
    instants = list(timeline.completed_writes)
    if timeline.first_active is not None and after < timeline.first_active:
        archived = read_archived(state.storage, state.config, contents=False)
        instants += [one.instant for one in archived if one.instant.action.is_write]
    return sorted({time for one in instants if (time := one.completion_time or one.time) > after})


def _archived_writes(state: TableState, span: Span) -> list[Write]:
    timeline = state.timeline
    if timeline.first_active is None or span.begin >= timeline.first_active:
        return []  # archived writes completed before that
    here = {instant.time for instant in timeline.instants}
    found = [
        (one.instant, one.metadata)
        for one in read_archived(state.storage, state.config)
        if one.instant.action.is_write
        and one.instant.time not in here
        and span.holds(_moment(state, one.instant))
        and isinstance(one.metadata, CommitMetadata)
    ]
    return sorted(found, key=lambda write: write[0].time)


def _refuse_holes(state: TableState) -> None:
    """Raise a TableError if a pending write is older than a completed one, which leaves a hole in the timeline.

    Source: TimelineUtils.handleHollowCommitIfNeeded, ``hoodie.read.timeline.holes.resolution.policy`` FAIL.
    """
    pending = first_pending_write(state)
    if pending is not None and any(done.time > pending.time for done in state.timeline.completed_writes):
        raise TableError(
            f"{state.storage.root}: the write {pending} is not complete, and later ones are:"
            " a reader that continues from there would miss it; wait for it, or roll it back",
            path=state.storage.root,
        )


def written_slices(state: TableState, writes: Sequence[Write]) -> list[FileSlice] | None:
    """Return the newest slice of each file group that *writes* wrote to, built only from files that they wrote.

    Return None if a write was archived or one of its files was cleaned: the caller then has to read the newest slices
    of the whole table.  In version 6 this is not checked, and reading such a file fails.

    Source: MergeOnReadIncrementalRelationV1 and V2.listFileSplits, fullTableScan; Hudi 1.2.0.
    """
    if not writes:
        return []
    files = _written_files(writes)
    if state.config.version >= VERSION_WITH_COMPLETION_TIMES and _are_files_missing(state, writes, files):
        return None
    visibility, newest = state.visibility, writes[-1][0].time
    return [
        file_slice
        for partition in sorted(files)
        for file_slice in latest_slices(build_slices(partition, files[partition].values(), visibility, as_of=newest))
    ]


def _written_files(writes: Sequence[Write]) -> dict[str, dict[str, FileInfo]]:
    """Return the files that *writes* wrote, by partition path and file name."""
    files: dict[str, dict[str, FileInfo]] = defaultdict(dict)
    for _, metadata in writes:
        for partition, stats in metadata.partition_to_write_stats.items():
            for stat in stats:
                name = base_name(stat.path or "")
                files[partition][name] = FileInfo(name, stat.file_size_in_bytes, is_dir=False)
    return files


def _are_files_missing(state: TableState, writes: Sequence[Write], files: Mapping[str, Mapping[str, FileInfo]]) -> bool:
    active = {instant.time for instant in state.timeline.instants}
    return any(instant.time not in active for instant, _ in writes) or any(
        named.keys() - {"", *(info.name for info in listed)}
        for named, listed in zip(files.values(), state.files_of_each(files), strict=True)
    )


def commit_time_condition(config: TableConfig, root: str, span: Span, writes: Sequence[Write]) -> pc.Expression:
    """Return the condition on the commit time that is true for the rows of *writes*.

    Raises:
        UnsupportedFeatureError: the table has no meta fields, so its rows do not record their commit time.
    """
    if not config.populate_meta_fields:
        raise UnsupportedFeatureError(
            f"{root}: expected a table with meta fields, which say when a row was written, "
            "found one without; read it by snapshot",
            feature="incremental queries without meta fields",
        )
    time = pc.field(COMMIT_TIME)
    if config.version < VERSION_WITH_COMPLETION_TIMES:
        last = writes[-1][0].time if writes else span.begin
        return (time > span.begin) & (time <= last)
    return time.isin([instant.time for instant, _ in writes])
