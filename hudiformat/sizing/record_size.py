"""What sizing goes by: Hudi's options under short names, with Hudi's defaults.  Sizes are bytes.

The average size of a record, out of what earlier commits wrote.  Pure.  Rules: spec/sizing.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from hudiformat.timeline import Action, CommitMetadata, Instant, WriteStat

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class SizingOptions:
    """The limits of files and the numbers that record sizes are estimated with; the keys stand in spec/sizing.md.

    ``small_file_limit`` 0 or less turns small files off.  ``metadata_size`` is what a base file is taken to hold beside
    its records.

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

    @property
    def smallest_measured_commit(self) -> int:
        """A commit of no more bytes than this says nothing about the size of records."""
        return int(self.estimation_threshold * self.small_file_limit)


_SPARK_ACTIONS = (Action.COMMIT, Action.DELTA_COMMIT, Action.COMPACTION)


@dataclass(frozen=True, slots=True)
class RecordSize:
    """The average size of a record in bytes, and the commit that says so; None for the configured estimate.

    ``passed_over`` are the newer commits that said nothing, and why.
    """

    size: int
    instant: str | None = None
    passed_over: tuple[tuple[str, str], ...] = ()


Commits = Iterable[tuple[Instant, CommitMetadata]]
"""Completed commits, delta commits and replace commits, from the newest requested time to the oldest."""


def spark_record_size(commits: Commits, options: SizingOptions) -> RecordSize:
    """The average that Hudi's Spark writer goes by: of the newest five commits the first with enough bytes.

    Of a delta commit only the base files count; one without any uses up one of the five all the same.

    Source: AverageRecordSizeEstimator, Hudi 1.2.0.
    """
    considered = ((instant, metadata) for instant, metadata in commits if instant.action in _SPARK_ACTIONS)
    return _first_measured(
        ((instant, _spark_stats(instant, metadata)) for instant, metadata in considered),
        options,
        commits_limit=options.estimation_commits,
        metadata_size=options.metadata_size,
    )


def flink_record_size(commits: Commits, options: SizingOptions) -> RecordSize:
    """The average that Hudi's Flink writer goes by: of all commits, replace commits too, the first with enough bytes.

    All bytes count, those of log files as well.

    Source: WriteProfile.averageBytesPerRecord.
    """
    return _first_measured(
        ((instant, metadata.write_stats) for instant, metadata in commits), options, commits_limit=None, metadata_size=0
    )


def _spark_stats(instant: Instant, metadata: CommitMetadata) -> tuple[WriteStat, ...]:
    if instant.action is not Action.DELTA_COMMIT:
        return metadata.write_stats
    return tuple(stat for stat in metadata.write_stats if not _names_log_file(stat.path or ""))


def _names_log_file(path: str) -> bool:
    return path.rsplit("/", 1)[-1].startswith(".")


def _first_measured(
    commits: Iterable[tuple[Instant, tuple[WriteStat, ...]]],
    options: SizingOptions,
    *,
    commits_limit: int | None,
    metadata_size: int,
) -> RecordSize:
    passed_over: list[tuple[str, str]] = []
    for instant, stats in islice(commits, commits_limit):
        size = sum(stat.total_write_bytes - metadata_size for stat in stats)
        records = sum(stat.num_writes for stat in stats)
        if size > options.smallest_measured_commit and records > 0:
            return RecordSize(math.ceil(size / records), instant.time, tuple(passed_over))
        passed_over.append((instant.time, _why_not(size, records, options)))
    return RecordSize(options.record_size_estimate, None, tuple(passed_over))


def _why_not(size: int, records: int, options: SizingOptions) -> str:
    if records <= 0:
        return f"{size} bytes, but no records that count"
    return f"{size} bytes, not more than {options.smallest_measured_commit}"
