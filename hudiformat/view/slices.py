"""Which instants' files can be seen, and when they were completed.  Pure.

The files of a partition -> file slices.  Pure.  Rules: spec/file-slices.md.

Table versions 8 and 9: a log file carries the instant of its own delta commit, and belongs to the newest base file
that was begun before that delta commit was completed.  Version 6: a log file carries the instant of its slice; a slice
whose compaction is pending has no base file yet, and is read with the one before it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from hudiformat.naming import BaseFileName, LogFileName, parse_data_file
from hudiformat.storage import FileInfo
from hudiformat.timeline import Action, Timeline


@dataclass(frozen=True, slots=True)
class Visibility:
    """The instants of a timeline as a view needs them.

    ``completion`` maps each completed instant to its completion time.  Instants before ``first_active`` have been
    archived, and count as completed unless they are ``pending``.  ``replaced`` maps file groups, as (partition path,
    file id), to the instant that took them out of the table.  Where ``logs_name_slices``, as in table version 6, a log
    file's name carries the instant of its slice, which may be one of ``pending_compactions``, and its blocks those of
    the delta commits.

    Source: BaseHoodieTimeline.containsOrBeforeTimelineStarts.
    """

    completion: Mapping[str, str]
    first_active: str | None = None
    pending: frozenset[str] = field(default_factory=frozenset)
    replaced: Mapping[tuple[str, str], str] = field(default_factory=dict)
    pending_compactions: frozenset[str] = field(default_factory=frozenset)
    logs_name_slices: bool = False

    @classmethod
    def of(
        cls,
        timeline: Timeline,
        replaced: Mapping[tuple[str, str], str] | None = None,
        *,
        logs_name_slices: bool = False,
    ) -> Visibility:
        """What can be seen by a timeline; where an instant has no completion time, its own time counts."""
        return cls(
            completion={done.time: done.completion_time or done.time for done in timeline.completed},
            first_active=timeline.first_active,
            pending=frozenset(pending.time for pending in timeline.pending),
            replaced=replaced or {},
            pending_compactions=frozenset(
                pending.time for pending in timeline.pending if pending.action is Action.COMPACTION
            ),
            logs_name_slices=logs_name_slices,
        )

    def with_replaced(self, replaced: Mapping[tuple[str, str], str]) -> Visibility:
        """The same instants, with other file groups taken out of the table."""
        return replace(self, replaced=replaced)

    def is_committed(self, instant: str) -> bool:
        """Whether files of *instant* can be seen."""
        if instant in self.completion:
            return True
        return self.first_active is not None and instant < self.first_active and instant not in self.pending

    def shows_log(self, instant: str) -> bool:
        """Whether a log file with *instant* in its name can be seen.

        Source: AbstractTableFileSystemView.fetchMergedFileSlice, HoodieFileGroup.isFileSliceCommitted.
        """
        named = self.logs_name_slices and instant in self.pending_compactions
        return named or self.is_committed(instant)

    def counts_block(self, instant: str) -> bool:
        """Whether a block of *instant* counts in a log file that can be seen; from version 8 on the file has said it.

        Source: BaseHoodieLogRecordReader.scanInternalV1.
        """
        return not self.logs_name_slices or self.is_committed(instant)

    def is_replaced(self, partition_path: str, file_id: str, as_of: str | None) -> bool:
        """Whether a file group has been taken out of the table, by *as_of* where that is given."""
        instant = self.replaced.get((partition_path, file_id))
        return instant is not None and (as_of is None or instant <= as_of)

    def completion_time(self, instant: str) -> str:
        """When a committed *instant* was completed; for an archived one its own time, the earliest it can be."""
        return self.completion.get(instant, instant)


@dataclass(frozen=True, slots=True)
class BaseFile:
    """A base file; ``size`` in bytes."""

    name: BaseFileName
    size: int


@dataclass(frozen=True, slots=True)
class LogFile:
    """A log file; ``size`` in bytes."""

    name: LogFileName
    size: int


@dataclass(frozen=True, slots=True)
class FileSlice:
    """One version of a file group: a base file, the log files on top of it, or both.

    ``base_instant`` is the base file's instant, or the first log file's where there is no base file.  ``log_files``
    are in the order in which they are merged.

    Source: org.apache.hudi.common.model.FileSlice.
    """

    partition_path: str
    file_id: str
    base_instant: str
    base_file: BaseFile | None = None
    log_files: tuple[LogFile, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of all files of the slice."""
        return (self.base_file.size if self.base_file else 0) + self.log_bytes

    @property
    def log_bytes(self) -> int:
        """Bytes of the log files of the slice."""
        return sum(log.size for log in self.log_files)


def build_slices(
    partition_path: str,
    files: Iterable[FileInfo],
    visibility: Visibility,
    *,
    as_of: str | None = None,
    unknown: set[str] | None = None,
) -> list[FileSlice]:
    """All file slices of a partition that can be seen, by file id and then from the oldest to the newest.

    *as_of* hides whatever was begun after that instant.  Files that are not Hudi's, change data (``.cdc``) logs, and
    file groups that a replace commit took out of the table are left out.  The instants of files that are not visible
    are added to *unknown*.

    Source: AbstractTableFileSystemView.buildFileGroups, HoodieFileGroup.addLogFile.
    """
    groups = _file_groups(files, visibility, as_of, set() if unknown is None else unknown)
    return [
        file_slice
        for file_id in sorted(groups)
        if not visibility.is_replaced(partition_path, file_id, as_of)
        for file_slice in _group_slices(partition_path, file_id, *groups[file_id], visibility)
    ]


def latest_slices(slices: Sequence[FileSlice]) -> list[FileSlice]:
    """The newest slice of each file group of a partition; *slices* as :func:`build_slices` gives them."""
    return [list(group)[-1] for _, group in groupby(slices, key=lambda item: item.file_id)]


def _file_groups(
    files: Iterable[FileInfo], visibility: Visibility, as_of: str | None, unknown: set[str]
) -> dict[str, tuple[list[BaseFile], list[LogFile]]]:
    groups: dict[str, tuple[list[BaseFile], list[LogFile]]] = defaultdict(lambda: ([], []))
    for file in files:
        name = parse_data_file(file.name)
        if name is None or (as_of is not None and name.instant > as_of):
            continue
        if isinstance(name, BaseFileName):
            if visibility.is_committed(name.instant):
                groups[name.file_id][0].append(BaseFile(name, file.size))
            else:
                unknown.add(name.instant)
        elif not visibility.shows_log(name.instant):
            unknown.add(name.instant)
        elif not name.is_cdc:
            groups[name.file_id][1].append(LogFile(name, file.size))
    return groups


def _group_slices(
    partition_path: str, file_id: str, bases: list[BaseFile], logs: list[LogFile], visibility: Visibility
) -> list[FileSlice]:
    base_files = {base.name.instant: base for base in bases}
    log_files: dict[str, list[LogFile]] = {instant: [] for instant in base_files}
    if len(logs) > 1:
        logs = sorted(logs, key=lambda item: item.name.sort_key)
    for log in logs:
        log_files.setdefault(_slice_instant(log.name.instant, log_files, visibility), []).append(log)
    return [
        FileSlice(partition_path, file_id, instant, base_files.get(instant), tuple(log_files[instant]))
        for instant in sorted(log_files)
    ]


def _slice_instant(instant: str, slices: Iterable[str], visibility: Visibility) -> str:
    """The instant of the slice, among those there are or a new one, that a log file named by *instant* belongs to."""
    if visibility.logs_name_slices:
        earlier = [started for started in slices if started < instant]
        return max(earlier, default=instant) if instant in visibility.pending_compactions else instant
    completed = visibility.completion_time(instant)
    started_before = [started for started in slices if started <= completed]
    # A log file that was completed before every base file was begun has a slice of its own.
    return max(started_before, default=instant)
