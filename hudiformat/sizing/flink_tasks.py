"""Assign the new records of one partition in one commit, by one assigner for each task of a Flink writer.  Pure.

Flink sends a record to the assigner task of its record key, and a file group to the writer task of its file id; a task
assigns its new records only to its own file groups.  Rules: spec/sizing.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from hudiformat.sizing.flink import NEW_GROUP, FlinkAssigner, Profile, Task
from hudiformat.sizing.key_groups import Parallelism
from hudiformat.sizing.record_size import SizingOptions
from hudiformat.sizing.small_files import GroupVerdict, Verdict
from hudiformat.sizing.spark import InsertBucket, PartitionPlan, room_for_records


@dataclass(slots=True)
class FlinkTasks:
    """An assigner for each task, made when the task gets its first record; all share one *profile*.

    ``new_id`` returns ids for new file groups; a task takes the first one that belongs to it.  The assigners keep their
    state from one plan to the next, so all plans have to be for one commit.

    Source: BucketAssignFunction, BucketAssigners, WriteProfiles, Hudi 1.2.0.
    """

    partition_path: str
    parallelism: Parallelism
    profile: Profile
    options: SizingOptions
    new_id: Callable[[], str]
    _assigners: dict[int, FlinkAssigner] = field(default_factory=dict)

    def plan(self, counts: Mapping[int, int]) -> PartitionPlan:
        """Plan the assignment of the next new records of the partition; *counts* are the records of each task."""
        buckets = [bucket for task in sorted(counts) for bucket in self._buckets(task, counts[task])]
        taken = {bucket.file_id: bucket.records for bucket in buckets if bucket.file_id is not None}
        return PartitionPlan(
            self.partition_path,
            sum(counts.values()),
            self.profile.record_size,
            max(self._assigner(0).records_per_group, 1),
            tuple(self._with_records(one, taken) for one in self.profile.small_files(self.partition_path)),
            tuple(buckets),
            in_order=True,
            parallelism=self.parallelism,
        )

    def _buckets(self, task: int, records: int) -> list[InsertBucket]:
        counts: Counter[tuple[str, bool]] = Counter()
        for placement in self._assigner(task).insert(self.partition_path, records):
            counts[placement.file_id, placement.tag == NEW_GROUP] += placement.records
        return [
            InsertBucket(None if is_new else file_id, count, file_id if is_new else None, task)
            for (file_id, is_new), count in counts.items()
        ]

    def _assigner(self, task: int) -> FlinkAssigner:
        if task not in self._assigners:
            own = Task(task, self.parallelism.tasks, self.parallelism.key_groups)
            self._assigners[task] = FlinkAssigner(self.profile, self.options, self.new_id, own)
        return self._assigners[task]

    def _with_records(self, group: GroupVerdict, taken: Mapping[str, int]) -> GroupVerdict:
        """Return a file group with the verdict of the task that it belongs to."""
        if not group.is_candidate:
            return group
        room, records = room_for_records(group, self.profile.record_size, self.options), taken.get(group.file_id, 0)
        verdict = Verdict.TAKEN if records else Verdict.SMALL if room else Verdict.FULL
        return replace(group, verdict=verdict, room=room, records=records)
