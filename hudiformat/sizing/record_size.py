"""The options of sizing, and estimates of the average size of a record, computed from earlier commits.  Pure.

The options are Hudi's, under short names and with Hudi's defaults.  Sizes are bytes.  Rules: spec/sizing.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hudiformat.naming.file_names import base_name
from hudiformat.timeline.commit_metadata import CommitMetadata, WriteStat
from hudiformat.timeline.timeline import Action, Instant

_MIB = 1024 * 1024

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SizingOptions:
    """The size limits of files, and the parameters of the record size estimate; Hudi's keys are in spec/sizing.md.

    With a ``small_file_limit`` of 0 or less no file group counts as small.  ``metadata_size`` is the assumed size of
    the part of a base file that is not records.  ``spare_share`` is how much larger than ``max_file_size`` a new base
    file may be, as a share of ``max_file_size``.

    Source: HoodieStorageConfig, HoodieCompactionConfig, HoodieWriteConfig, Hudi 1.2.0.
    """

    max_file_size: int = 120 * _MIB
    small_file_limit: int = 100 * _MIB
    candidates_limit: int = 1
    log_ratio: float = 0.35
    insert_split_size: int = 500_000
    auto_split: bool = True
    record_size_estimate: int = 1024
    estimation_threshold: float = 1.0
    estimation_commits: int = 5
    metadata_size: int = 0
    spare_share: float = 0.1

    @property
    def largest_new_file(self) -> int:
        """The bytes of rows at which a new base file is closed: more than ``max_file_size``, for which plans are made.

        Source: HoodieBaseParquetWriter, Hudi 1.2.0.
        """
        return self.max_file_size + round(self.max_file_size * self.spare_share)

    @property
    def largest_log_group(self) -> float:
        """The bytes of log files at which a group without a base file takes no more new rows.

        Source: HoodieAppendHandle.canWrite, Hudi 1.2.0.
        """
        return self.max_file_size / self.log_ratio if self.log_ratio else math.inf

    @property
    def smallest_measured_commit(self) -> int:
        """Bytes; a commit that wrote no more than this is not used to estimate the record size."""
        return int(self.estimation_threshold * self.small_file_limit)


_SPARK_ACTIONS = (Action.COMMIT, Action.DELTA_COMMIT, Action.COMPACTION)


@dataclass(frozen=True, slots=True)
class RecordSize:
    """The average size of a record in bytes, and the instant of the commit that it was computed from.

    ``instant`` is None if the size is the configured estimate.  ``passed_over`` lists the newer commits that were
    skipped, each with the reason.
    """

    size: int
    instant: str | None = None
    passed_over: tuple[tuple[str, str], ...] = ()


Commits = Iterable[tuple[Instant, CommitMetadata]]
"""Completed commits, delta commits and replace commits, by requested time, the newest first; read one by one."""


def spark_record_size(commits: Commits, options: SizingOptions) -> RecordSize:
    """Return the average record size as Hudi's Spark writer does: of the first large enough of the newest five commits.

    Only commits, delta commits and compactions are read.  Of a delta commit only the base files are counted; a delta
    commit without base files is one of the five all the same.

    Source: AverageRecordSizeEstimator, Hudi 1.2.0.
    """
    skipped: list[tuple[str, str]] = []
    newest_first = iter(commits)
    while len(skipped) < options.estimation_commits and (commit := next(newest_first, None)) is not None:
        instant, metadata = commit
        if instant.action not in _SPARK_ACTIONS:
            continue
        stats = _spark_stats(instant, metadata)
        size = sum(stat.total_write_bytes - options.metadata_size for stat in stats)
        records = sum(stat.num_writes for stat in stats)
        if (reason := _reason_to_skip(size, records, options)) is None:
            return RecordSize(math.ceil(size / records), instant.time, tuple(skipped))
        skipped.append((instant.time, reason))
    return RecordSize(options.record_size_estimate, None, tuple(skipped))


def flink_record_size(commits: Commits, options: SizingOptions) -> RecordSize:
    """Return the average record size as Hudi's Flink writer does: of the first large enough commit of any kind.

    All bytes are counted, also those of log files, and the number of commits is not limited.

    Source: WriteProfile.averageBytesPerRecord.
    """
    skipped: list[tuple[str, str]] = []
    for instant, metadata in commits:
        size = sum(stat.total_write_bytes for stat in metadata.write_stats)
        records = sum(stat.num_writes for stat in metadata.write_stats)
        if (reason := _reason_to_skip(size, records, options)) is None:
            return RecordSize(math.ceil(size / records), instant.time, tuple(skipped))
        skipped.append((instant.time, reason))
    return RecordSize(options.record_size_estimate, None, tuple(skipped))


def record_sizes(sizes: Numbers, records: Numbers, options: SizingOptions, *, newest: int | None) -> Numbers:
    """Return the average record size before each of the commits, and after the last, from those before it.

    A commit wrote *sizes* bytes and *records* records, the oldest first; only the *newest* commits before a moment are
    read, or all.  Without compactions, :func:`spark_record_size` and :func:`flink_record_size` return the same.

    With a limit of 100 bytes, an estimate of 1,024, and one commit that is read::

        sizes   = [200, 50]    records = [10, 5]
        is_used = [yes, no]
        result  = [1024, 20, 1024]     before both, after the first, after both

    Source: AverageRecordSizeEstimator, WriteProfile.averageBytesPerRecord, Hudi 1.2.0.
    """
    is_used = (records > 0) & (sizes > options.smallest_measured_commit)
    last = np.full(len(sizes) + 1, -1, np.int64)
    if len(sizes):
        last[1:] = np.maximum.accumulate(np.where(is_used, np.arange(len(sizes)), -1))
    is_known = last >= 0
    if newest is not None:
        is_known &= np.arange(len(last)) - last <= newest
    result = np.full(len(last), options.record_size_estimate, np.int64)
    at = last[is_known]
    result[is_known] = -(-sizes[at] // records[at])
    return result


def _spark_stats(instant: Instant, metadata: CommitMetadata) -> tuple[WriteStat, ...]:
    if instant.action is not Action.DELTA_COMMIT:
        return metadata.write_stats
    return tuple(stat for stat in metadata.write_stats if not _is_log_file(stat.path or ""))


def _is_log_file(path: str) -> bool:
    return base_name(path).startswith(".")


def _reason_to_skip(size: int, records: int, options: SizingOptions) -> str | None:
    """Return why a commit of *size* bytes and *records* records is skipped, or None if its average is used."""
    if records <= 0:
        return f"{size} bytes, but no records"
    if size <= options.smallest_measured_commit:
        return f"{size} bytes, not more than {options.smallest_measured_commit}"
    return None
