"""Assign new records as Hudi's Flink writer does: in their order, separately in each task, across commits.  Pure.

Flink assigns record by record.  Here a number of consecutive records is assigned at once, at the cost of one record.
Rules: spec/sizing.md.

Flink sends a record to the assigner task of its record key, and a file group to the writer task of its file id; a task
assigns its new records only to its own file groups.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hudiformat.sizing.key_groups import Parallelism
from hudiformat.sizing.record_size import RecordSize, SizingOptions
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


NEW_GROUP, KNOWN_GROUP = "I", "U"
"""The tags of a location: a file group that this commit creates, or an existing one."""


@dataclass(frozen=True, slots=True)
class Task:
    """One of *tasks* parallel write tasks, numbered from 0; file ids are hashed to ``max_parallelism`` key groups."""

    number: int = 0
    tasks: int = 1
    max_parallelism: int = 128

    def owns(self, file_id: str) -> bool:
        """Return whether this task writes the file group: its key group is one of the task's.

        Source: BucketAssigner.fileIdOfThisTask.
        """
        return Parallelism(self.tasks, self.max_parallelism).owner(file_id) == self.number


@dataclass(frozen=True, slots=True)
class Placement:
    """A number of consecutive records that go to one file group."""

    file_id: str
    tag: str
    records: int


@dataclass(frozen=True, slots=True)
class Profile:
    """The state of a table between two commits: the small files of a partition, and the average record size."""

    small_files: Callable[[str], Sequence[GroupVerdict]]
    record_size: RecordSize


@dataclass(slots=True)
class _Target:
    """A file group that takes records, and the number of records that it still has room for."""

    file_id: str
    remaining: int

    def take(self, wanted: int) -> int:
        """Reserve room for up to *wanted* records, and return for how many."""
        taken = min(self.remaining, wanted)
        self.remaining -= taken
        return taken


@dataclass(slots=True)
class FlinkAssigner:
    """Assigns the new records of one task to file groups.

    ``new_id`` returns ids for new file groups; ids that belong to other tasks are skipped.  A new group takes as many
    records as the insert split size, whatever the value of ``SizingOptions.auto_split``.  With ``several_writes``, the
    writer may write a file group more than once in an instant (``_.hoodie.allow.multi.write.on.same.instant``, which
    Hudi sets for its metadata table): then a new group takes as many records as fit into a file of maximum size.

    Source: BucketAssigner.
    """

    profile: Profile
    options: SizingOptions
    new_id: Callable[[], str]
    task: Task = field(default_factory=Task)
    several_writes: bool = False
    _small: dict[str, list[_Target]] = field(default_factory=dict)
    _new: dict[str, _Target] = field(default_factory=dict)
    _created: set[tuple[str, str]] = field(default_factory=set)
    _commits: int = 0

    @property
    def records_per_group(self) -> int:
        """The number of records that a new file group takes; if it is 0, a new group takes one record."""
        if not self.several_writes:
            return self.options.insert_split_size
        return self.options.max_file_size // self.profile.record_size.size

    def insert(self, partition_path: str, count: int = 1) -> Iterator[Placement]:
        """Assign the next *count* new records of a partition.

        Nine records, with room for 3 in the small file group a, and 4 records per new group: a takes 3, the new group
        new-0 its first record and then 3, new-1 its first record and then 1::

            Placement("a", "U", 3), Placement("new-0", "I", 1), Placement("new-0", "I", 3),
            Placement("new-1", "I", 1), Placement("new-1", "I", 1)

        Source: BucketAssigner.addInsert.
        """
        remaining = count
        for small in self._small_groups(partition_path):
            if taken := small.take(remaining):
                yield Placement(small.file_id, KNOWN_GROUP, taken)
                remaining -= taken
        while remaining:
            current = self._new.get(partition_path)
            if current is None or not current.remaining:
                yield self._create(partition_path)
                remaining -= 1
                continue
            is_new = (partition_path, current.file_id) in self._created
            taken = current.take(remaining)
            yield Placement(current.file_id, NEW_GROUP if is_new else KNOWN_GROUP, taken)
            remaining -= taken

    def begin_commit(self) -> None:
        """Start the next commit at a checkpoint: the groups created so far count as existing ones from then on.

        Source: BucketAssigner.reset.
        """
        self._created.clear()

    def end_commit(self, profile: Profile) -> None:
        """Replace the profile after a commit has succeeded.

        A new group keeps taking records until the second call: between the beginning of a commit and the notification
        of its success further records have been assigned to it.

        Source: BucketAssigner.reload.
        """
        self._commits += 1
        if self._commits > 1:
            self._new.clear()
            self._commits = 0
        self._small.clear()
        self.profile = profile

    def groups(self, partition_path: str) -> tuple[GroupVerdict, ...]:
        """Return the file groups of a partition with the room that each has for records of this task.

        Source: BucketAssigner.smallFilesOfThisTask.
        """
        return tuple(self._with_room(group) for group in self.profile.small_files(partition_path))

    def _with_room(self, group: GroupVerdict) -> GroupVerdict:
        if not group.is_candidate:
            return group
        if not self.task.owns(group.file_id):
            return replace(group, verdict=Verdict.OTHER_TASK)
        room = room_for_records(group, self.profile.record_size, self.options)
        return replace(group, room=room, verdict=Verdict.SMALL if room else Verdict.FULL)

    def _small_groups(self, partition_path: str) -> list[_Target]:
        """Return the small file groups of a partition with their remaining room; listed once per commit."""
        if partition_path not in self._small:
            groups = self.groups(partition_path)
            self._small[partition_path] = [_Target(group.file_id, group.room) for group in groups if group.room]
        return self._small[partition_path]

    def _create(self, partition_path: str) -> Placement:
        file_id = next(file_id for file_id in iter(self.new_id, None) if self.task.owns(file_id))
        self._new[partition_path] = _Target(file_id, max(self.records_per_group - 1, 0))
        self._created.add((partition_path, file_id))
        return Placement(file_id, NEW_GROUP, 1)


def plan_in_order(partition_path: str, inserts: int, assigner: FlinkAssigner) -> PartitionPlan:
    """Return the plan that results if *assigner* assigns the next *inserts* records of a partition."""
    groups = assigner.groups(partition_path)
    records: dict[str, int] = {}
    for placement in assigner.insert(partition_path, inserts):
        records[placement.file_id] = records.get(placement.file_id, 0) + placement.records
    existing = {group.file_id for group in groups}
    return PartitionPlan(
        partition_path,
        inserts,
        assigner.profile.record_size,
        max(assigner.records_per_group, 1),
        tuple(
            replace(group, verdict=Verdict.TAKEN, records=records[group.file_id]) if group.file_id in records else group
            for group in groups
        ),
        tuple(InsertBucket(file_id if file_id in existing else None, count) for file_id, count in records.items()),
        in_order=True,
    )
