"""What was written after one moment and up to another: the commits, and the slices that they wrote to.

From table version 8 on moments are completion times, so that nothing slips through which was begun early and completed
late; in version 6, which has none, they are the instants themselves.
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
from hudiformat.read.time_travel import Moment, Written, as_instant, first_pending_write, named_instant
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
    """After ``begin`` and up to ``end``, as texts that compare like instants; without ``end``, up to the newest."""

    begin: str
    end: str | None

    @classmethod
    def of(cls, config: TableConfig, begin: Moment, end: Moment | None) -> Span:
        """The span between two moments: instants of any length, what time travel takes, or ``earliest`` to begin with.

        A commit is the moment at which it became visible; below version 8 it is its instant.

        Raises:
            NameFormatError: a text that is no moment.
        """
        return cls(_boundary(config, begin), None if end is None else _boundary(config, end))

    def holds(self, moment: str) -> bool:
        """Whether *moment* lies within."""
        return self.begin < moment and (self.end is None or moment <= self.end)


def _boundary(config: TableConfig, moment: Moment) -> str:
    if moment == _EARLIEST:
        return ""
    if isinstance(moment, Instant | Written):
        done = moment.completion_time if config.version >= VERSION_WITH_COMPLETION_TIMES else None
        return done or named_instant(moment)
    # Any digits: queries from the start on begin at 0 or 000.
    plain = isinstance(moment, str) and is_instant(moment)
    return str(moment) if plain else as_instant(moment, config.timeline_zone)


def writes_within(state: TableState, span: Span) -> list[Write]:
    """The completed writes of *span*, archived ones too, in the order of their instants.

    Raises:
        TableError: in a table of version 6, a write among them is pending; a later query would miss it.

    Source: IncrementalQueryAnalyzer.analyze; HoodieIncrementalRelationV1Trait.includedCommits; Hudi 1.2.0.
    """
    if state.config.version < VERSION_WITH_COMPLETION_TIMES:
        _refuse_holes(state)
    instants = [done for done in state.timeline.completed_writes if span.holds(_moment(state, done))]
    return _archived(state, span) + [(instant, state.metadata(instant)) for instant in instants]


def _moment(state: TableState, done: Instant) -> str:
    """When a write counts as done: in version 6 at its own instant."""
    has_times = state.config.version >= VERSION_WITH_COMPLETION_TIMES
    return (done.completion_time if has_times else None) or done.time


def completion_times(state: TableState, *, after: str) -> list[str]:
    """The completion times of writes later than *after*, archived ones too, in order: the offsets of a stream.

    Source: IncrementalQueryAnalyzer, Hudi 1.2.0.
    """
    timeline = state.timeline
    instants = list(timeline.completed_writes)
    if timeline.first_active is not None and after < timeline.first_active:
        archived = read_archived(state.storage, state.config, contents=False)
        instants += [one.instant for one in archived if one.instant.action.is_write]
    return sorted({time for one in instants if (time := one.completion_time or one.time) > after})


def _archived(state: TableState, span: Span) -> list[Write]:
    timeline = state.timeline
    if timeline.first_active is None or span.begin >= timeline.first_active:
        return []  # what has been archived had been completed before
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
    """Source: TimelineUtils.handleHollowCommitIfNeeded, ``hoodie.read.timeline.holes.resolution.policy`` FAIL."""
    pending = first_pending_write(state)
    if pending is not None and any(done.time > pending.time for done in state.timeline.completed_writes):
        raise TableError(
            f"{state.storage.root}: the write {pending} is not complete, and later ones are:"
            " a reader that continues from there would miss it; wait for it, or roll it back",
            path=state.storage.root,
        )


def written_slices(state: TableState, writes: Sequence[Write]) -> list[FileSlice] | None:
    """The newest slice of each file group that *writes* wrote to, of those files alone that they wrote.

    None where that is not known any more, as some were archived or some of their files cleaned: then the
    newest slices of the table are to be asked.  In version 6 the files are asked anyway.

    Source: MergeOnReadIncrementalRelationV1 and V2.listFileSplits, fullTableScan; Hudi 1.2.0.
    """
    if not writes:
        return []
    files = _written_files(writes)
    if state.config.version >= VERSION_WITH_COMPLETION_TIMES and _are_gone(state, writes, files):
        return None
    visibility, newest = state.visibility, writes[-1][0].time
    return [
        file_slice
        for partition in sorted(files)
        for file_slice in latest_slices(build_slices(partition, files[partition].values(), visibility, as_of=newest))
    ]


def _written_files(writes: Sequence[Write]) -> dict[str, dict[str, FileInfo]]:
    """The files of each partition that *writes* wrote, by their names."""
    files: dict[str, dict[str, FileInfo]] = defaultdict(dict)
    for _, metadata in writes:
        for partition, stats in metadata.partition_to_write_stats.items():
            for stat in stats:
                name = base_name(stat.path or "")
                files[partition][name] = FileInfo(name, stat.file_size_in_bytes, is_dir=False)
    return files


def _are_gone(state: TableState, writes: Sequence[Write], files: Mapping[str, Mapping[str, FileInfo]]) -> bool:
    active = {instant.time for instant in state.timeline.instants}
    return any(instant.time not in active for instant, _ in writes) or any(
        named.keys() - {"", *(info.name for info in state.partition_files(partition))}
        for partition, named in files.items()
    )


def written_by(config: TableConfig, root: str, span: Span, writes: Sequence[Write]) -> pc.Expression:
    """Which rows are of *writes*, by their commit time.

    Raises:
        UnsupportedFeatureError: rows of this table do not record which write they are of.
    """
    if not config.populate_meta_fields:
        raise UnsupportedFeatureError(
            f"{root}: incremental queries of a table without meta fields",
            feature="incremental queries without meta fields",
        )
    time = pc.field(COMMIT_TIME)
    if config.version < VERSION_WITH_COMPLETION_TIMES:
        last = writes[-1][0].time if writes else span.begin
        return (time > span.begin) & (time <= last)
    return time.isin([instant.time for instant, _ in writes])
