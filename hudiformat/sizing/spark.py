"""Assign the new records of a partition to small and new file groups as Hudi's Spark writer does.  Pure.

The records are only counted when the plan is made.  Rules: spec/sizing.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudiformat.notebook import Rows, show
from hudiformat.sizing.explaining import GroupReason, reasons_of
from hudiformat.sizing.key_groups import Parallelism
from hudiformat.sizing.key_hash import md5_hashes
from hudiformat.sizing.record_size import RecordSize, SizingOptions
from hudiformat.sizing.small_files import GroupVerdict, Verdict

Indices = npt.NDArray[np.int64]
Number = TypeVar("Number", int, Indices)


@dataclass(frozen=True, slots=True)
class InsertBucket:
    """A number of new records for the file group *file_id*, or for a new file group if that is None.

    ``new_id`` is the file id of the new file group if the plan chooses it.  ``task`` is the number of the task whose
    records these are.
    """

    file_id: str | None
    records: int
    new_id: str | None = None
    task: int = 0


@dataclass(frozen=True, slots=True)
class PartitionPlan:
    """The assignment of a partition's new records to file groups, with the reasons.

    ``groups`` are the existing file groups in the order in which they are filled.  ``records_per_group`` is the number
    of records planned for a new file group.  ``buckets`` has an item per file group that gets records.  With
    ``in_order`` buckets are filled one after the other, as Flink does; otherwise by the hash of the key.  With
    ``parallelism`` a record goes to a bucket of the task that its key belongs to.

    Source: UpsertPartitioner, Hudi 1.2.0; spec/sizing.md.
    """

    partition_path: str
    inserts: int
    record_size: RecordSize
    records_per_group: int
    groups: tuple[GroupVerdict, ...]
    buckets: tuple[InsertBucket, ...]
    in_order: bool = False
    parallelism: Parallelism | None = None

    def _repr_html_(self) -> str:
        facts = {"new records": self.inserts, "records of a new file group": self.records_per_group}
        rows = [(one.file_id or "a new file group", one.records, one.why, one.to_change) for one in self.explain()]
        columns = ("file group", "records", "why", "to take more")
        return show(f"Plan of partition {self.partition_path or '.'}", facts, Rows(columns, rows))

    @property
    def candidates(self) -> frozenset[str]:
        """The file ids of the small file groups, with room or without; none if there is nothing to insert.

        If the index does not find records in log files, updates to these file groups rewrite the base file.

        Source: SparkUpsertDeltaCommitPartitioner.getSmallFileIds.
        """
        return frozenset(group.file_id for group in self.groups if self.inserts and group.is_candidate)

    def explain(self) -> tuple[GroupReason, ...]:
        """Return for each file group why it takes records or none, and what would have to change for it to be taken.

        The existing file groups come first, in the order in which they are filled, then the new ones.
        """
        opened = tuple(bucket.records for bucket in self.buckets if bucket.file_id is None)
        size, per_group = self.record_size.size, self.records_per_group
        return tuple(reasons_of(self.groups, opened, record_size=size, per_group=per_group))

    def assign(self, record_keys: pa.Array) -> npt.NDArray[np.int64]:
        """Return for each new record the index of its bucket.

        The hash of the record key decides, and buckets are weighted by their planned number of records.  So a bucket
        gets about as many records as planned, not exactly as many.

        Source: UpsertPartitioner.getPartition.
        """
        if len(self.buckets) <= 1:
            return np.zeros(len(record_keys), np.int64)
        if self.parallelism is not None:
            return self.assign_by_task(record_keys, lambda plan, rows: plan.assign(record_keys.take(pa.array(rows))))
        if self.in_order:
            return np.repeat(np.arange(len(self.buckets)), [bucket.records for bucket in self.buckets])
        return self.bucket_indices((md5_hashes(record_keys) % self.inserts).astype(np.float64) / self.inserts)

    def assign_by_task(
        self, record_keys: pa.Array, assign: Callable[[PartitionPlan, Indices], Indices]
    ) -> npt.NDArray[np.int64]:
        """Return for each record the index of its bucket, with *assign* called once for each task.

        The arguments of *assign* are a plan of only the task's buckets, and the indices of the task's records.
        """
        assert self.parallelism is not None  # noqa: S101 - only such plans have tasks
        owners = self.parallelism.owners(record_keys)
        found = np.zeros(len(record_keys), np.int64)
        for task in np.unique(owners).tolist():
            rows = np.flatnonzero(owners == task)
            own = np.array([at for at, bucket in enumerate(self.buckets) if bucket.task == task], np.int64)
            if len(own):  # a task without a bucket had no records when the plan was made
                found[rows] = own[assign(self._of_task(task), rows)]
        return found

    def _of_task(self, task: int) -> PartitionPlan:
        buckets = tuple(bucket for bucket in self.buckets if bucket.task == task)
        return replace(self, inserts=sum(one.records for one in buckets), buckets=buckets, parallelism=None)

    def bucket_indices(self, shares: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """Return for each number from 0 to 1 the index of the bucket into whose share of all inserts it falls.

        Buckets of 2, 1 and 1 of 4 records, and the numbers 0.25, 0.6 and 1.0::

            ends    = [0.5, 0.75, 1.0]
            indices = [0, 1, 2]          the first end that is not lower

        A number beyond the last end, which may be rounded to less than 1, falls into bucket 0, as in Hudi.
        """
        ends = np.cumsum(np.array([bucket.records for bucket in self.buckets], np.float64) / self.inserts)
        indices = np.searchsorted(ends, shares, side="left")
        return np.where(indices < len(self.buckets), indices, 0)


def plan_partition(
    partition_path: str,
    inserts: int,
    groups: Sequence[GroupVerdict],
    record_size: RecordSize,
    options: SizingOptions,
) -> PartitionPlan:
    """Plan the assignment of *inserts* new records of a partition; *groups* are its file groups in filling order.

    With 10 inserts, room for 3 records in the small group a and for 2 in b, and 4 records per new group, the buckets
    are a: 3, b: 2, and new groups of 4 and 1.

    Source: UpsertPartitioner.assignInserts, Hudi 1.2.0.
    """
    filled, buckets, remaining = [], [], inserts
    for group in groups:
        planned = _with_records(group, remaining, record_size, options)
        filled.append(planned)
        if planned.records:
            buckets.append(InsertBucket(planned.file_id, planned.records))
            remaining -= planned.records
    per_group = records_per_group(record_size, options)
    buckets += [InsertBucket(None, min(per_group, remaining - start)) for start in range(0, remaining, per_group)]
    return PartitionPlan(partition_path, inserts, record_size, per_group, tuple(filled), tuple(buckets))


def records_per_group(record_size: RecordSize, options: SizingOptions) -> int:
    """Return how many records a new file group takes; at least one."""
    if not options.auto_split:
        return max(options.insert_split_size, 1)
    return max(rows_of_file(record_size.size, options), 1)


def rows_of_file(average: Number, options: SizingOptions) -> Number:
    """Return with how many rows of *average* bytes a file reaches its maximum size; or of each average."""
    return -(-options.max_file_size // average)


def room_for_records(group: GroupVerdict, record_size: RecordSize, options: SizingOptions) -> int:
    """Return how many records of average size still fit into the file group."""
    return max((options.max_file_size - group.size) // record_size.size, 0)


def spare_bytes(size: Number, records: Number, average: Number, options: SizingOptions) -> Number:
    """Return how many bytes are left in a file group of *size* bytes once it has taken *records* more; or in each.

    If there are records, and the result is not negative, the group has room for all of them.
    """
    return options.max_file_size - size - records * average


def _with_records(group: GroupVerdict, remaining: int, record_size: RecordSize, options: SizingOptions) -> GroupVerdict:
    if not group.is_candidate:
        return group
    room = room_for_records(group, record_size, options)
    records = min(room, remaining)
    verdict = Verdict.TAKEN if records else Verdict.SMALL if room else Verdict.FULL
    return replace(group, verdict=verdict, room=room, records=records)
