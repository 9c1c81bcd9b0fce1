"""Which file groups of a partition are small, and so may take new records; and why the others may not.  Pure.

Rules: spec/sizing.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
import pyarrow as pa

from hudiformat.naming.bucket_hash import string_hashes
from hudiformat.sizing.record_size import SizingOptions
from hudiformat.view import FileSlice

_LOAD_FACTOR = 0.75
_LEAST_CAPACITY = 16


class Verdict(str, Enum):
    """What becomes of a file group in a plan: it takes records, or the reason why it takes none."""

    TAKEN = "takes records"
    SMALL = "small, but all records are placed before it"
    FULL = "small, but without room for one record"
    DISABLED = "small files are turned off"
    TOO_LARGE = "its base file is not below the small file limit"
    FILLED = "base file and log files come to the maximum file size"
    EMPTY = "its base file is empty"
    HAS_LOGS = "has log files, whose records the index cannot find"
    OVER_LIMIT = "there are smaller ones, as many as candidates are allowed"
    IN_COMPACTION = "in a pending compaction"
    IN_CLUSTERING = "in a pending clustering"
    OTHER_TASK = "belongs to another task"


@dataclass(frozen=True, slots=True)
class GroupVerdict:
    """A file group in a plan.  ``size`` is its size in bytes as sizing counts it, log files by the ratio.

    ``room`` is how many average records fit into it, None where nobody asked; ``records`` how many it is to take.
    """

    file_id: str
    size: int
    verdict: Verdict
    room: int | None = None
    records: int = 0

    @property
    def is_candidate(self) -> bool:
        """Whether it is small, with room or without."""
        return self.verdict in (Verdict.TAKEN, Verdict.SMALL, Verdict.FULL)


@dataclass(frozen=True, slots=True)
class Pending:
    """The file ids of a partition that plans which have not been carried out yet name."""

    compaction: frozenset[str] = frozenset()
    clustering: frozenset[str] = frozenset()


class Kind(Enum):
    """What decides where new records may go: the table's type, and whether its index finds records in log files."""

    COW = "copy-on-write"
    MOR_BLIND = "merge-on-read, log files not indexed"
    MOR = "merge-on-read, log files indexed"


def spark_small_files(
    slices: Sequence[FileSlice],
    kind: Kind,
    options: SizingOptions,
    pending: Pending = Pending(),
) -> tuple[GroupVerdict, ...]:
    """The file groups of a partition in the order in which Hudi's Spark writer fills the small ones.

    *slices* are the newest of each group.  A group in a pending clustering is left out last: it has taken the place of
    another candidate by then.

    Source: UpsertPartitioner.getSmallFiles, SparkUpsertDeltaCommitPartitioner.getSmallFileCandidates, Hudi 1.2.0.
    """
    ordered = in_hudi_order(slices)
    if options.small_file_limit <= 0:
        return _all(ordered, Verdict.DISABLED, options)
    if kind is Kind.COW:
        verdicts = [_cow(item, options) for item in ordered]
    elif kind is Kind.MOR:
        verdicts = [_seeing(item, options, pending.compaction) for item in ordered]
    else:
        verdicts = _blind(ordered, options, pending.compaction)
    return tuple(
        replace(found, verdict=Verdict.IN_CLUSTERING)
        if found.is_candidate and found.file_id in pending.clustering
        else found
        for found in verdicts
    )


def flink_small_files(slices: Sequence[FileSlice], kind: Kind, options: SizingOptions) -> tuple[GroupVerdict, ...]:
    """The file groups of a partition in the order in which Hudi's Flink writer fills the small ones.

    It always finds records in log files, and looks at no pending plan.

    Source: WriteProfile.smallFilesProfile, DeltaWriteProfile.smallFilesProfile.
    """
    ordered = in_hudi_order(slices)
    if options.small_file_limit <= 0:
        return _all(ordered, Verdict.DISABLED, options)
    if kind is not Kind.COW:
        return tuple(_seeing(item, options, frozenset()) for item in ordered)
    return tuple(
        GroupVerdict(item.file_id, 0, Verdict.EMPTY) if _base_size(item) == 0 else _cow(item, options)
        for item in ordered
    )


def estimated_size(file_slice: FileSlice, options: SizingOptions) -> int:
    """The bytes that a slice would have as one base file: its log files count by the ratio.

    Source: SparkUpsertDeltaCommitPartitioner.getTotalFileSize.
    """
    logs = sum(log.size for log in file_slice.log_files)
    return _base_size(file_slice) + int(logs * options.log_ratio)


def in_hudi_order(slices: Sequence[FileSlice]) -> list[FileSlice]:
    """*slices* in the order in which Java's HashSet gives their file ids, ids of one bucket by name.

    Source: AbstractTableFileSystemView.buildFileGroups; java.util.HashMap.
    """
    capacity = _capacity(sum(item.base_file is not None for item in slices), len(slices))
    hashes = string_hashes(pa.array([item.file_id for item in slices], pa.string()))
    places = (hashes ^ (hashes >> np.uint32(16))) & np.uint32(capacity - 1)
    order = sorted(range(len(slices)), key=lambda i: (int(places[i]), slices[i].file_id))
    return [slices[i] for i in order]


def _capacity(first: int, total: int) -> int:
    """How many buckets a HashSet has that was made of *first* elements and then given more, up to *total*."""
    wanted = max(int(first / _LOAD_FACTOR) + 1, _LEAST_CAPACITY)
    capacity = 1 << (wanted - 1).bit_length()
    while total > capacity * _LOAD_FACTOR:
        capacity *= 2
    return capacity


def _all(slices: Iterable[FileSlice], verdict: Verdict, options: SizingOptions) -> tuple[GroupVerdict, ...]:
    return tuple(GroupVerdict(item.file_id, estimated_size(item, options), verdict) for item in slices)


def _cow(file_slice: FileSlice, options: SizingOptions) -> GroupVerdict:
    size = _base_size(file_slice)
    verdict = Verdict.SMALL if size < options.small_file_limit else Verdict.TOO_LARGE
    return GroupVerdict(file_slice.file_id, size, verdict)


def _seeing(file_slice: FileSlice, options: SizingOptions, in_compaction: frozenset[str]) -> GroupVerdict:
    size = estimated_size(file_slice, options)
    verdict = Verdict.SMALL if size < options.max_file_size else Verdict.FILLED
    if file_slice.file_id in in_compaction:
        verdict = Verdict.IN_COMPACTION
    return GroupVerdict(file_slice.file_id, size, verdict)


def _blind(slices: Sequence[FileSlice], options: SizingOptions, in_compaction: frozenset[str]) -> list[GroupVerdict]:
    """The smallest base files without log files, at most as many as candidates are allowed, and then all others."""
    every = [_blind_verdict(item, options, in_compaction) for item in slices]
    small = sorted((found for found in every if found.is_candidate), key=lambda found: found.size)
    over = [replace(found, verdict=Verdict.OVER_LIMIT) for found in small[max(options.candidates_limit, 0) :]]
    return [
        *small[: max(options.candidates_limit, 0)],
        *over,
        *(found for found in every if not found.is_candidate),
    ]


def _blind_verdict(file_slice: FileSlice, options: SizingOptions, in_compaction: frozenset[str]) -> GroupVerdict:
    if file_slice.file_id in in_compaction:
        return GroupVerdict(file_slice.file_id, estimated_size(file_slice, options), Verdict.IN_COMPACTION)
    if file_slice.log_files:
        return GroupVerdict(file_slice.file_id, estimated_size(file_slice, options), Verdict.HAS_LOGS)
    return _cow(file_slice, options)


def _base_size(file_slice: FileSlice) -> int:
    return file_slice.base_file.size if file_slice.base_file else 0
