"""Find the file groups of a partition that are small and may take new records, and why others may not.  Pure.

Rules: spec/sizing.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
import pyarrow as pa

from hudiformat.file_group.slices import FileSlice
from hudiformat.naming.bucket_hash import string_hashes
from hudiformat.sizing.record_size import SizingOptions

_LOAD_FACTOR = 0.75
_LEAST_CAPACITY = 16


class Verdict(str, Enum):
    """The role of a file group in a plan: it takes records, or the reason why it takes none."""

    TAKEN = "takes records"
    SMALL = "small, but the groups before it take all records"
    FULL = "small, but without room for one record"
    DISABLED = "small files are turned off"
    TOO_LARGE = "its base file is not below the small file limit"
    FILLED = "base file and log files together reach the maximum file size"
    EMPTY = "its base file is empty"
    HAS_LOGS = "has log files, whose records the index cannot find"
    OVER_LIMIT = "small, but the limit of candidates is reached by smaller ones"
    IN_COMPACTION = "in a pending compaction"
    IN_CLUSTERING = "in a pending clustering"
    OTHER_TASK = "belongs to another task"


@dataclass(frozen=True, slots=True)
class GroupVerdict:
    """A file group in a plan, as Hudi's SmallFile.

    Its location is ``instant`` and ``file_id``: the instant is that of its base file or, if it has none, of its newest
    log file.  ``size`` is its size in bytes, in which log files are multiplied by
    ``SizingOptions.log_ratio``.  ``room`` is how many records of average size still fit into it, None if that was not
    computed.  ``records`` is how many records it gets.
    """

    file_id: str
    size: int
    verdict: Verdict
    room: int | None = None
    records: int = 0
    instant: str | None = None

    @property
    def is_candidate(self) -> bool:
        """Whether the file group is small, with room or without."""
        return self.verdict in (Verdict.TAKEN, Verdict.SMALL, Verdict.FULL)


@dataclass(frozen=True, slots=True)
class Pending:
    """The file ids of a partition that are in a pending compaction or clustering plan."""

    compaction: frozenset[str] = frozenset()
    clustering: frozenset[str] = frozenset()


class Kind(Enum):
    """The table type, and for merge-on-read whether the index finds records in log files."""

    COW = "copy-on-write"
    MOR_BLIND = "merge-on-read, log files not indexed"
    MOR = "merge-on-read, log files indexed"


def spark_small_files(
    slices: Sequence[FileSlice],
    kind: Kind,
    options: SizingOptions,
    pending: Pending = Pending(),
) -> tuple[GroupVerdict, ...]:
    """Return the file groups of a partition in the order in which Hudi's Spark writer fills the small ones.

    *slices* are the newest file slices of all groups.  Groups in a pending clustering are excluded last, after the
    limit of candidates was applied: such a group uses up one of them.

    Source: UpsertPartitioner.getSmallFiles, SparkUpsertDeltaCommitPartitioner.getSmallFileCandidates, Hudi 1.2.0.
    """
    ordered = in_hudi_order(slices)
    if options.small_file_limit <= 0:
        return _same_verdict(ordered, Verdict.DISABLED, options)
    if kind is Kind.COW:
        verdicts = [_cow_verdict(item, options) for item in ordered]
    elif kind is Kind.MOR:
        verdicts = [_indexed_logs_verdict(item, options, pending.compaction) for item in ordered]
    else:
        verdicts = _blind_verdicts(ordered, options, pending.compaction)
    return _without_clustered(verdicts, pending)


def flink_small_files(
    slices: Sequence[FileSlice], kind: Kind, options: SizingOptions, pending: Pending = Pending()
) -> tuple[GroupVerdict, ...]:
    """Return the file groups of a partition in the order in which Hudi's Flink writer fills the small ones.

    Flink's index always finds records in log files, and new rows go to log files.  With MOR_BLIND new rows rewrite the
    base file instead: then a group that has log files or is in a pending compaction takes none, because the rewritten
    base file would lose rows.  A group in a pending clustering never takes rows, because the clustering would lose
    them.

    Source: WriteProfile.smallFilesProfile, DeltaWriteProfile.smallFilesProfile.
    """
    ordered = in_hudi_order(slices)
    if options.small_file_limit <= 0:
        return _same_verdict(ordered, Verdict.DISABLED, options)
    if kind is Kind.COW:
        verdicts = [
            _verdict(item, 0, Verdict.EMPTY) if _base_size(item) == 0 else _cow_verdict(item, options)
            for item in ordered
        ]
    else:
        verdicts = [_indexed_logs_verdict(item, options, frozenset()) for item in ordered]
    if kind is Kind.MOR_BLIND:
        verdicts = [
            _unseen_verdict(item, options, pending.compaction) or verdict
            for item, verdict in zip(ordered, verdicts, strict=True)
        ]
    return _without_clustered(verdicts, pending)


def _without_clustered(verdicts: Iterable[GroupVerdict], pending: Pending) -> tuple[GroupVerdict, ...]:
    return tuple(
        replace(group, verdict=Verdict.IN_CLUSTERING)
        if group.is_candidate and group.file_id in pending.clustering
        else group
        for group in verdicts
    )


def estimated_size(file_slice: FileSlice, options: SizingOptions) -> int:
    """Return the estimated bytes of a slice as one base file: its log files are multiplied by the log ratio.

    Source: SparkUpsertDeltaCommitPartitioner.getTotalFileSize.
    """
    logs = sum(log.size for log in file_slice.log_files)
    return _base_size(file_slice) + int(logs * options.log_ratio)


def in_hudi_order(slices: Sequence[FileSlice]) -> list[FileSlice]:
    """Return *slices* in the order in which a Java HashSet iterates over their file ids; within a bucket by id.

    The hash codes of "b", "a" and "q" are 98, 97 and 113.  In a set of 16 buckets they are in the buckets 2, 1 and 1::

        buckets = (hash ^ hash >> 16) & 15 = [2, 1, 1]   order = ["a", "q", "b"]

    Source: AbstractTableFileSystemView.buildFileGroups; java.util.HashMap.
    """
    if len(slices) <= 1:
        return [*slices]
    capacity = _capacity(sum(item.base_file is not None for item in slices), len(slices))
    hashes = string_hashes(pa.array([item.file_id for item in slices], pa.string()))
    buckets = (hashes ^ (hashes >> np.uint32(16))) & np.uint32(capacity - 1)
    order = sorted(range(len(slices)), key=lambda i: (int(buckets[i]), slices[i].file_id))
    return [slices[i] for i in order]


def _capacity(first: int, total: int) -> int:
    """Return the number of buckets of a HashSet that was created with *first* elements and grew to *total*."""
    wanted = max(int(first / _LOAD_FACTOR) + 1, _LEAST_CAPACITY)
    capacity = 1 << (wanted - 1).bit_length()  # the lowest power of two that is not below wanted
    while total > capacity * _LOAD_FACTOR:
        capacity *= 2
    return capacity


def _same_verdict(slices: Iterable[FileSlice], verdict: Verdict, options: SizingOptions) -> tuple[GroupVerdict, ...]:
    return tuple(_verdict(item, estimated_size(item, options), verdict) for item in slices)


def _cow_verdict(file_slice: FileSlice, options: SizingOptions) -> GroupVerdict:
    size = _base_size(file_slice)
    verdict = Verdict.SMALL if size < options.small_file_limit else Verdict.TOO_LARGE
    return _verdict(file_slice, size, verdict)


def _indexed_logs_verdict(file_slice: FileSlice, options: SizingOptions, in_compaction: frozenset[str]) -> GroupVerdict:
    size = estimated_size(file_slice, options)
    verdict = Verdict.SMALL if size < options.max_file_size else Verdict.FILLED
    if file_slice.file_id in in_compaction:
        verdict = Verdict.IN_COMPACTION
    return _verdict(file_slice, size, verdict)


def _blind_verdicts(
    slices: Sequence[FileSlice], options: SizingOptions, in_compaction: frozenset[str]
) -> list[GroupVerdict]:
    """Return the smallest base files without log files, up to the candidate limit, and then all other groups."""
    every = [_blind_verdict(item, options, in_compaction) for item in slices]
    small = sorted((group for group in every if group.is_candidate), key=lambda group: group.size)
    over = [replace(group, verdict=Verdict.OVER_LIMIT) for group in small[max(options.candidates_limit, 0) :]]
    return [
        *small[: max(options.candidates_limit, 0)],
        *over,
        *(group for group in every if not group.is_candidate),
    ]


def _blind_verdict(file_slice: FileSlice, options: SizingOptions, in_compaction: frozenset[str]) -> GroupVerdict:
    return _unseen_verdict(file_slice, options, in_compaction) or _cow_verdict(file_slice, options)


def _unseen_verdict(
    file_slice: FileSlice, options: SizingOptions, in_compaction: frozenset[str]
) -> GroupVerdict | None:
    """Return why the base file may not be rewritten, because rows in log files would be lost; None if it may."""
    size = estimated_size(file_slice, options)
    if file_slice.file_id in in_compaction:
        return _verdict(file_slice, size, Verdict.IN_COMPACTION)
    if file_slice.log_files:
        return _verdict(file_slice, size, Verdict.HAS_LOGS)
    return None


def _verdict(file_slice: FileSlice, size: int, verdict: Verdict) -> GroupVerdict:
    """Return the verdict with the location of the slice.

    Source: DeltaWriteProfile.smallFilesProfile, UpsertPartitioner.getSmallFiles.
    """
    if file_slice.base_file is not None:
        instant = file_slice.base_file.name.instant
    else:
        names = [log.name for log in file_slice.log_files]
        newest = max(names, key=lambda name: (name.instant, name.version), default=None)
        instant = file_slice.base_instant if newest is None else newest.instant
    return GroupVerdict(file_slice.file_id, size, verdict, instant=instant)


def _base_size(file_slice: FileSlice) -> int:
    return file_slice.base_file.size if file_slice.base_file else 0
