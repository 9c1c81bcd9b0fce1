"""Build the file slices of a partition from its files and the timeline.  Rules: spec/file-slices.md.

No file is read, except in a table that was changed to version 6: see ``former_slices``.

In table versions 8 and 9 the name of a log file has the instant of its own delta commit.  The log file belongs to the
newest base file whose write began before that delta commit was completed.  In version 6 the name of a log file has the
instant of its slice.  A slice whose compaction is pending has no base file yet, and its log files belong to the slice
before it.  If the table was of version 8 or 9 before, the slices of log files from that time are found by the timeline.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import NamedTuple

from hudiformat.file_group.former_slices import FormerSlices
from hudiformat.naming.file_names import (
    BaseFileName,
    LogFileName,
    base_name,
    join_path,
    parse_data_file,
    refuse_registered,
)
from hudiformat.storage.protocol import FileInfo
from hudiformat.timeline.archive.archived_times import ArchivedTimes
from hudiformat.timeline.commit_metadata import CommitMetadata
from hudiformat.timeline.timeline import Action, Timeline


class BaseFile(NamedTuple):
    """A base file; ``size`` in bytes."""

    name: BaseFileName
    size: int


class LogFile(NamedTuple):
    """A log file; ``size`` in bytes."""

    name: LogFileName
    size: int


@dataclass(frozen=True, slots=True)
class FileSlice:
    """One version of a file group: a base file, the log files that are merged with it, or both.

    ``base_instant`` is the instant of the base file, or without a base file that of the first log file.  ``log_files``
    are in merge order.

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
    def file_names(self) -> list[str]:
        """The names of all files of the slice, in merge order."""
        return [*([] if self.base_file is None else [str(self.base_file.name)]), *self.log_names]

    @property
    def is_registered(self) -> bool:
        """Whether the base file is one that others wrote."""
        return self.base_file is not None and self.base_file.name.is_registered

    @property
    def base_path(self) -> str:
        """The path of the base file, which the slice has to have."""
        assert self.base_file is not None  # noqa: S101 - whoever asks has looked
        return join_path(self.partition_path, self.base_file.name.stored_as)

    @property
    def log_names(self) -> list[str]:
        """The names of the log files of the slice, in merge order."""
        return [str(log.name) for log in self.log_files]

    @property
    def log_paths(self) -> list[str]:
        """The paths of the log files of the slice below the table, in merge order."""
        return [join_path(self.partition_path, name) for name in self.log_names]

    @property
    def log_bytes(self) -> int:
        """Bytes of the log files of the slice."""
        return sum(log.size for log in self.log_files)


@dataclass(frozen=True, slots=True)
class Visibility:
    """Decides which files and log blocks are visible, from the instants of a timeline.

    - ``completion``: the completion time of each completed instant.
    - ``first_active``: older instants are archived, and completed unless they are ``pending``.
    - ``replaced``: for file groups, as (partition path, file id), the instant that removed them from the table.
    - ``archived``: when archived instants were completed; without it, at their own times.
    - ``logs_name_slices``: as in table version 6, the name of a log file has the instant of its slice, which may be one
      of ``pending_compactions``, and its blocks have the instants of the delta commits.
    - ``former``: finds the slices of log files written before the table was changed to version 6; None if there are
    none.

    Source: BaseHoodieTimeline.containsOrBeforeTimelineStarts.
    """

    completion: Mapping[str, str]
    first_active: str | None = None
    pending: frozenset[str] = field(default_factory=frozenset)
    replaced: Mapping[tuple[str, str], str] = field(default_factory=dict)
    pending_compactions: frozenset[str] = field(default_factory=frozenset)
    logs_name_slices: bool = False
    archived: ArchivedTimes | None = field(default=None, compare=False, repr=False)
    former: FormerSlices | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(
        cls,
        timeline: Timeline,
        replaced: Mapping[tuple[str, str], str] | None = None,
        *,
        logs_name_slices: bool = False,
        archived: ArchivedTimes | None = None,
        former: FormerSlices | None = None,
    ) -> Visibility:
        """Return what is visible on *timeline*; an instant without completion time was completed at its own time."""
        # A savepoint has the time of its commit, and a completion time of its own, which says nothing of files.
        done = (instant for instant in timeline.completed if instant.action is not Action.SAVEPOINT)
        return cls(
            completion={instant.time: instant.completion_time or instant.time for instant in done},
            first_active=timeline.first_active,
            # A savepoint has the time of the commit that it keeps.
            pending=frozenset(instant.time for instant in timeline.pending if instant.action is not Action.SAVEPOINT),
            replaced=replaced or {},
            pending_compactions=frozenset(
                instant.time for instant in timeline.pending if instant.action is Action.COMPACTION
            ),
            logs_name_slices=logs_name_slices,
            archived=archived,
            former=former,
        )

    def with_replaced(self, replaced: Mapping[tuple[str, str], str]) -> Visibility:
        """Return a copy with other replaced file groups."""
        return replace(self, replaced=replaced)

    def is_committed(self, instant: str) -> bool:
        """Return whether *instant* is completed, so that its files are visible."""
        if instant in self.completion:
            return True
        return self.first_active is not None and instant < self.first_active and instant not in self.pending

    def shows_log(self, instant: str) -> bool:
        """Return whether a log file with *instant* in its name is visible.

        Source: AbstractTableFileSystemView.fetchMergedFileSlice, HoodieFileGroup.isFileSliceCommitted.
        """
        in_pending_slice = self.logs_name_slices and instant in self.pending_compactions
        return in_pending_slice or self.is_committed(instant)

    def counts_block(self, instant: str) -> bool:
        """Return whether a block of *instant* in a visible log file is merged.

        From table version 8 on every block of a visible file is.

        Source: BaseHoodieLogRecordReader.scanInternalV1.
        """
        return not self.logs_name_slices or self.is_committed(instant)

    def is_replaced(self, partition_path: str, file_id: str, as_of: str | None) -> bool:
        """Return whether a file group has been removed from the table, at *as_of* if that is given."""
        instant = self.replaced.get((partition_path, file_id))
        return instant is not None and (as_of is None or instant <= as_of)

    def completion_time(self, instant: str) -> str:
        """Return the completion time of a completed *instant*.

        Raises:
            CorruptTableError: it is archived, and the archived timeline is damaged.
        """
        known = self.completion.get(instant)
        if known is not None:
            return known
        return instant if self.archived is None else self.archived.of(instant)


_AFTER_ALL = ":"  # compares as a text higher than every instant


class ListedFiles:
    """What the listings of one operation have shown, by which :func:`hudiformat.table.one_state.is_overtaken` decides.

    ``unknown`` are the instants of files that the state of the table does not know, ``partitions`` the number of
    partitions, and ``only`` the only partition and its files.
    """

    def __init__(self) -> None:
        self.unknown: set[str] = set()
        self.partitions = 0
        self.only: tuple[str, list[FileInfo]] | None = None

    def note(self, path: str, files: list[FileInfo]) -> None:
        """Note that the partition *path* has *files*."""
        self.partitions += 1
        self.only = (path, files) if self.partitions == 1 else None

    def note_end(self) -> None:
        """Note that there are no further partitions; if there is none at all, all may have been deleted."""
        if not self.partitions:
            self.note_deletion()

    def note_deletion(self) -> None:
        """Note that files have been deleted since the state of the table was read."""
        self.unknown.add(_AFTER_ALL)


def build_slices(
    partition_path: str,
    files: Iterable[FileInfo],
    visibility: Visibility,
    *,
    as_of: str | None = None,
    unknown: set[str] | None = None,
) -> list[FileSlice]:
    """Return all visible file slices of a partition, sorted by file id and then from the oldest to the newest.

    *as_of* hides whatever was begun after that instant.  Files that are not Hudi's, change data (``.cdc``) logs, and
    file groups that a replace commit took out of the table are left out.  The instants of files that are not visible
    are added to *unknown*.

    Raises:
        CorruptTableError: the archived timeline is damaged, and a log file is of an archived instant; or a plan or a
            commit is damaged that names the slice of a log file from before the table was changed to version 6.

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
    """Return the newest slice of each file group; *slices* are sorted as :func:`build_slices` returns them."""
    return [list(group)[-1] for _, group in groupby(slices, key=lambda item: item.file_id)]


class KnownSlices:
    """The slices of a partition as its last listing showed them, to which files that have come since are added.

    In a table that many small commits have written, all else of a listing takes as long as the commit.  Not for tables
    of version 6, in which log files grow, and in which a plan of a compaction decides what slice a log file is of.
    """

    def __init__(self, partition_path: str) -> None:
        self._partition_path = partition_path
        self._groups: dict[str, list[FileSlice]] = {}
        self._replaced: Mapping[tuple[str, str], str] = {}
        self._instants: list[str] = []
        self.names: set[str] = set()
        """The names of all files that cannot change any more: of completed writes, and those that are not Hudi's."""

    @property
    def newest(self) -> list[FileSlice]:
        """The newest slice of each file group, sorted by file id."""
        return [slices[-1] for _, slices in sorted(self._groups.items()) if slices]

    @property
    def size(self) -> int:
        """The estimated bytes of this object in memory."""
        return _NAME_BYTES * len(self.names)

    def is_usable(self, visibility: Visibility) -> bool:
        """Return whether all files are still visible: no write has been undone, and the same groups are replaced."""
        first = visibility.first_active
        is_archived = first is not None and not any(instant < first for instant in visibility.pending)
        recent = self._instants[bisect_left(self._instants, first or "") if is_archived else 0 :]
        return visibility.replaced == self._replaced and all(map(visibility.is_committed, recent))

    def with_files(self, files: Iterable[FileInfo], visibility: Visibility) -> KnownSlices:
        """Return these slices after *files*, all that are not among ``names``.

        The slices of a group are built anew unless it has got nothing but log files that are merged last::

            newest slice: base file of 5, log files of 6 and 8
            log file of 9: added to the slice       log file of 7, base file of 9: all slices of the group anew

        Raises:
            CorruptTableError: as :func:`build_slices`.
        """
        result = KnownSlices(self._partition_path)
        result.names, result._groups = self.names.copy(), self._groups.copy()
        instants, further = set[str](), defaultdict[str, list[FileInfo]](list)
        for file in files:
            name = parse_data_file(file.name)
            if name is None:
                refuse_registered(file.name)
                result.names.add(file.name)
            elif visibility.is_committed(name.instant):
                result.names.add(file.name)
                instants.add(name.instant)
                further[name.file_id].append(file)
        anew: list[FileInfo] = []
        for file_id, group in further.items():
            known = self._groups.get(file_id, [])
            added = _with_last_logs(known, group)
            anew += [] if added else [*_files_of(known), *group]
            result._groups[file_id] = added or []
        for one in build_slices(self._partition_path, anew, visibility):
            result._groups[one.file_id].append(one)
        result._instants = sorted([*self._instants, *instants.difference(self._instants)])  # which is nearly sorted
        result._replaced = visibility.replaced
        return result


_NAME_BYTES = 600
"""Bytes of what is known of a file: its name as a text and in parts, and its places in the slice and in the names."""


def _with_last_logs(slices: Sequence[FileSlice], files: Sequence[FileInfo]) -> list[FileSlice] | None:
    """Return the *slices* of a group with *files* at the end of the newest; None if these are not all its log files."""
    names = [parse_data_file(file.name) for file in files]
    logs = [LogFile(name, file.size) for name, file in zip(names, files, strict=True) if isinstance(name, LogFileName)]
    if not slices or len(logs) < len(files):
        return None
    logs = sorted((log for log in logs if not log.name.is_cdc), key=lambda log: log.name.sort_key)
    newest = slices[-1]
    last = max([(newest.base_instant,), *(log.name.sort_key for log in newest.log_files[-1:])])
    if logs and logs[0].name.sort_key < last:
        return None
    return [*slices[:-1], replace(newest, log_files=(*newest.log_files, *logs))]


def _files_of(slices: Iterable[FileSlice]) -> Iterator[FileInfo]:
    for one in slices:
        if one.base_file is not None:
            yield FileInfo(str(one.base_file.name), one.base_file.size, is_dir=False)
        yield from (FileInfo(str(log.name), log.size, is_dir=False) for log in one.log_files)


def _file_groups(
    files: Iterable[FileInfo], visibility: Visibility, as_of: str | None, unknown: set[str]
) -> dict[str, tuple[list[BaseFile], list[LogFile]]]:
    """Return the visible base files and log files by file id."""
    groups: dict[str, tuple[list[BaseFile], list[LogFile]]] = defaultdict(lambda: ([], []))
    is_committed, shows_log = visibility.is_committed, visibility.shows_log
    for file in files:
        name = parse_data_file(file.name)
        if name is None:
            refuse_registered(file.name)
            continue
        instant = name.instant
        if as_of is not None and instant > as_of:
            continue
        if isinstance(name, BaseFileName):
            if is_committed(instant):
                groups[name.file_id][0].append(BaseFile(name, file.size))
            else:
                unknown.add(instant)
        elif not shows_log(instant):
            unknown.add(instant)
        elif not name.is_cdc:
            groups[name.file_id][1].append(LogFile(name, file.size))
    return groups


def _group_slices(
    partition_path: str, file_id: str, bases: list[BaseFile], logs: list[LogFile], visibility: Visibility
) -> list[FileSlice]:
    """Return the slices of a file group, from the oldest to the newest.

    With base files of the instants 1 and 5, and log files of the instants 2 (completed at 3) and 4 (completed at 6)::

        log_files: {1: [], 5: []}
        log file of 2: bases that began by 3: 1         -> {1: [2], 5: []}
        log file of 4: bases that began by 6: 1 and 5   -> {1: [2], 5: [4]}
    """
    base_files = {base.name.instant: base for base in bases}
    log_files: dict[str, list[LogFile]] = {instant: [] for instant in base_files}
    if len(logs) > 1:
        logs = sorted(logs, key=lambda item: item.name.sort_key)
    newest = max(log_files, default="")
    for log in logs:
        instant = newest  # the usual case, and cheap if there are many log files
        if not newest or newest > log.name.instant or visibility.logs_name_slices:
            instant = _slice_instant(partition_path, log.name, log_files, visibility)
            newest = max(newest, instant)
        log_files.setdefault(instant, []).append(log)
    return [
        FileSlice(partition_path, file_id, instant, base_files.get(instant), tuple(log_files[instant]))
        for instant in sorted(log_files)
    ]


def _slice_instant(partition_path: str, name: LogFileName, slices: Collection[str], visibility: Visibility) -> str:
    """Return the instant of the slice that a log file belongs to.

    It is one of *slices*, the instants of the slices so far, or that of a new slice.
    """
    instant = name.instant
    if visibility.logs_name_slices:
        if instant in visibility.pending_compactions:
            return max((base for base in slices if base < instant), default=instant)
        if visibility.former is None or not slices or instant in slices:
            return instant
        return visibility.former.of(partition_path, name, slices)
    # The archived timeline is not read for a log file of the newest slice: its own instant is enough to decide.
    is_newest = all(base <= instant for base in slices)
    completed = instant if is_newest else visibility.completion_time(instant)
    # A log file that was completed before the write of every base file began has its own slice.
    return max((base for base in slices if base <= completed), default=instant)


@dataclass(frozen=True, slots=True)
class SliceTotals:
    """The sums over file slices; bytes are sizes of files on storage.

    ``small_base_files`` counts base files below the limit that :meth:`of` was given.
    """

    file_groups: int = 0
    base_files: int = 0
    base_bytes: int = 0
    small_base_files: int = 0
    log_files: int = 0
    log_bytes: int = 0

    @classmethod
    def of(cls, slices: Iterable[FileSlice], *, small_file_limit: int) -> SliceTotals:
        """Return the totals of *slices*; a base file below *small_file_limit* bytes is small."""
        every = list(slices)
        bases = [item.base_file.size for item in every if item.base_file is not None]
        logs = [log.size for item in every for log in item.log_files]
        return cls(
            file_groups=len(every),
            base_files=len(bases),
            base_bytes=sum(bases),
            small_base_files=sum(size < small_file_limit for size in bases),
            log_files=len(logs),
            log_bytes=sum(logs),
        )

    def __add__(self, other: SliceTotals) -> SliceTotals:
        return SliceTotals(
            self.file_groups + other.file_groups,
            self.base_files + other.base_files,
            self.base_bytes + other.base_bytes,
            self.small_base_files + other.small_base_files,
            self.log_files + other.log_files,
            self.log_bytes + other.log_bytes,
        )

    @property
    def average_base_file(self) -> int | None:
        """The average bytes of a base file; None if there are no base files."""
        return self.base_bytes // self.base_files if self.base_files else None

    @property
    def log_ratio(self) -> float | None:
        """Bytes of log files per byte of base files; None if there are no base files.

        Log files are what a query reads in addition to base files, and what a compaction would merge.
        """
        return self.log_bytes / self.base_bytes if self.base_bytes else None


@dataclass(frozen=True, slots=True)
class _NamedFile:
    """A file that a commit names; a base file is where a slice begins."""

    partition: str
    file_id: str
    instant: str
    name: str
    begins_slice: bool


def newest_files(commits: Iterable[CommitMetadata], visibility: Visibility) -> dict[str, set[str]]:
    """Return, by partition path, the names of the files of the newest slices that *commits* name.

    A file group whose files were replaced need not have any.  Log files of writes that were requested before the base
    file may be of the slice or of the one before: they are not among them.
    """
    groups: dict[tuple[str, str], list[_NamedFile]] = {}
    for metadata in commits:
        for one in _named_files(metadata):
            if (group := (one.partition, one.file_id)) not in visibility.replaced:
                groups.setdefault(group, []).append(one)
    found: dict[str, set[str]] = {}
    for (path, _), files in groups.items():
        begin = max((one.instant for one in files if one.begins_slice), default="")
        found.setdefault(path, set()).update(one.name for one in files if one.instant >= begin)
    return found


def _named_files(metadata: CommitMetadata) -> Iterator[_NamedFile]:
    for path, stats in metadata.partition_to_write_stats.items():
        for stat in stats:
            is_log = stat.log_version is not None
            if is_log and not (stat.num_writes or stat.num_deletes or stat.total_write_bytes):
                continue  # the log file of a task without rows need not exist
            for name in filter(None, (base_name(stat.path or ""), base_name(stat.base_file or "") if is_log else "")):
                parsed = parse_data_file(name)
                if parsed is None:
                    refuse_registered(name)
                else:
                    yield _NamedFile(path, parsed.file_id, parsed.instant, name, isinstance(parsed, BaseFileName))
