"""Hudi's Spark assignment: a partition's new records, counted beforehand, to small files and new ones.  Pure.

Rules: spec/sizing.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudiformat.sizing.key_hash import key_hashes
from hudiformat.sizing.record_size import RecordSize, SizingOptions
from hudiformat.sizing.small_files import GroupVerdict, Verdict


@dataclass(frozen=True, slots=True)
class InsertBucket:
    """Where *records* new records go: to the file group *file_id*, or to a new one where that is None."""

    file_id: str | None
    records: int


@dataclass(frozen=True, slots=True)
class PartitionPlan:
    """Where the new records of a partition go, and why.

    ``groups`` are the file groups that are there, in the order in which they are filled.  ``records_per_group`` is how
    many records a new file group is planned to take.  ``in_order``: buckets are filled one after the other, as Flink
    does, and not by the hash of the key.
    """

    partition_path: str
    inserts: int
    record_size: RecordSize
    records_per_group: int
    groups: tuple[GroupVerdict, ...]
    buckets: tuple[InsertBucket, ...]
    in_order: bool = False

    @property
    def candidates(self) -> frozenset[str]:
        """The small file groups, those without room too; none where there is nothing to insert.

        With an index that does not see log files, updates to these rewrite the base file.

        Source: SparkUpsertDeltaCommitPartitioner.getSmallFileIds.
        """
        return frozenset(group.file_id for group in self.groups if self.inserts and group.is_candidate)

    def assign(self, record_keys: pa.Array) -> npt.NDArray[np.int64]:
        """For each new record the place in ``buckets`` where it goes: by the hash of its key, weighted by the plan.

        So a bucket gets about as many records as planned, not exactly so many.

        Source: UpsertPartitioner.getPartition.
        """
        if len(self.buckets) <= 1:
            return np.zeros(len(record_keys), np.int64)
        if self.in_order:
            return np.repeat(np.arange(len(self.buckets)), [bucket.records for bucket in self.buckets])
        return self.places((key_hashes(record_keys) % self.inserts).astype(np.float64) / self.inserts)

    def places(self, shares: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """The place in ``buckets`` of each number from 0 to 1, where all of them together are the inserts."""
        ends = np.cumsum(np.array([bucket.records for bucket in self.buckets], np.float64) / self.inserts)
        places = np.searchsorted(ends, shares, side="left")
        return np.where(places < len(self.buckets), places, 0)


def plan_partition(
    partition_path: str,
    inserts: int,
    groups: Sequence[GroupVerdict],
    record_size: RecordSize,
    options: SizingOptions,
) -> PartitionPlan:
    """Where *inserts* new records of a partition go; *groups* are its file groups as they are to be filled.

    Source: UpsertPartitioner.assignInserts, Hudi 1.2.0.
    """
    filled, buckets, left = [], [], inserts
    for group in groups:
        asked = _with_room(group, left, record_size, options)
        filled.append(asked)
        if asked.records:
            buckets.append(InsertBucket(asked.file_id, asked.records))
            left -= asked.records
    per_group = records_per_group(record_size, options)
    buckets += [InsertBucket(None, min(per_group, left - start)) for start in range(0, left, per_group)]
    return PartitionPlan(partition_path, inserts, record_size, per_group, tuple(filled), tuple(buckets))


def records_per_group(record_size: RecordSize, options: SizingOptions) -> int:
    """How many records a new file group takes; at least one."""
    if not options.auto_split:
        return max(options.insert_split_size, 1)
    return max(-(-options.max_file_size // record_size.size), 1)


def room_for_records(group: GroupVerdict, record_size: RecordSize, options: SizingOptions) -> int:
    """How many average records fit into a small file."""
    return max((options.max_file_size - group.size) // record_size.size, 0)


def _with_room(group: GroupVerdict, left: int, record_size: RecordSize, options: SizingOptions) -> GroupVerdict:
    if not group.is_candidate:
        return group
    room = room_for_records(group, record_size, options)
    records = min(room, left)
    verdict = Verdict.TAKEN if records else Verdict.SMALL if room else Verdict.FULL
    return replace(group, verdict=verdict, room=room, records=records)
