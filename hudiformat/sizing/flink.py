"""Hudi's Flink assignment: new records one after the other, each task for itself, across commits.  Pure.

What Flink does record by record is done here by counts: *n* records that follow each other cost no more than one.
Rules: spec/sizing.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from hudiformat.naming.bucket_hash import string_hashes
from hudiformat.sizing.record_size import RecordSize, SizingOptions
from hudiformat.sizing.small_files import GroupVerdict, Verdict
from hudiformat.sizing.spark import InsertBucket, PartitionPlan, room_for_records

NEW_GROUP, KNOWN_GROUP = "I", "U"
"""The tags of a location: a file group that this commit opens, or one that is there."""

_UINT32 = 0xFFFFFFFF
_MIN_INT = 0x80000000


@dataclass(frozen=True, slots=True)
class Task:
    """One of several tasks that write; ``max_parallelism`` is how many key groups file ids are hashed to."""

    number: int = 0
    tasks: int = 1
    max_parallelism: int = 128

    def owns(self, file_id: str) -> bool:
        """Whether the file group is this task's.

        Source: org.apache.flink.runtime.state.KeyGroupRangeAssignment.assignKeyToParallelOperator, Flink 1.20.
        """
        code = int(string_hashes(pa.array([file_id], pa.string()))[0])
        return _murmur(code) % self.max_parallelism * self.tasks // self.max_parallelism == self.number


@dataclass(frozen=True, slots=True)
class Placement:
    """So many records that go to one file group, one after the other."""

    file_id: str
    tag: str
    records: int


@dataclass(frozen=True, slots=True)
class Profile:
    """What a task knows of a table between two commits: the small files of a partition, and the size of records."""

    small_files: Callable[[str], Sequence[GroupVerdict]]
    record_size: RecordSize


@dataclass(slots=True)
class _Share:
    """A file group that takes records, and how many more."""

    file_id: str
    left: int

    def take(self, wanted: int) -> int:
        taken = min(self.left, wanted)
        self.left -= taken
        return taken


@dataclass(slots=True)
class FlinkAssigner:
    """Where the new records of one task go.

    ``new_id`` gives ids for new file groups; those of other tasks are passed over.  ``several_writes`` says whether
    the writer may write a group twice in one instant: then a new group takes a file's worth of records, else as many
    as the insert split size.

    Source: BucketAssigner.
    """

    profile: Profile
    options: SizingOptions
    new_id: Callable[[], str]
    task: Task = field(default_factory=Task)
    several_writes: bool = True
    _small: dict[str, list[_Share]] = field(default_factory=dict)
    _new: dict[str, _Share] = field(default_factory=dict)
    _opened: set[tuple[str, str]] = field(default_factory=set)
    _commits: int = 0

    @property
    def records_per_group(self) -> int:
        """How many records a new file group takes; it takes its first one in any case."""
        if not self.several_writes:
            return self.options.insert_split_size
        return self.options.max_file_size // self.profile.record_size.size

    def insert(self, partition_path: str, count: int = 1) -> Iterator[Placement]:
        """Where the next *count* new records of a partition go.

        Source: BucketAssigner.addInsert.
        """
        left = count
        for share in self._shares(partition_path):
            if taken := share.take(left):
                yield Placement(share.file_id, KNOWN_GROUP, taken)
                left -= taken
        while left:
            current = self._new.get(partition_path)
            if current is None or not current.left:
                yield self._open(partition_path)
                left -= 1
                continue
            opened_now = (partition_path, current.file_id) in self._opened
            taken = current.take(left)
            yield Placement(current.file_id, NEW_GROUP if opened_now else KNOWN_GROUP, taken)
            left -= taken

    def begin_commit(self) -> None:
        """Forget which groups are new: a checkpoint has begun, and what follows belongs to the next commit.

        Source: BucketAssigner.reset.
        """
        self._opened.clear()

    def end_commit(self, profile: Profile) -> None:
        """Look at the table anew: a commit has succeeded.

        The groups that were opened go on taking records until the second commit: between the beginning of a commit
        and the word that it succeeded further records have come.

        Source: BucketAssigner.reload.
        """
        self._commits += 1
        if self._commits > 1:
            self._new.clear()
            self._commits = 0
        self._small.clear()
        self.profile = profile

    def groups(self, partition_path: str) -> tuple[GroupVerdict, ...]:
        """The file groups of a partition as this task sees them, with the room that each has for records.

        Source: BucketAssigner.smallFilesOfThisTask.
        """
        return tuple(self._seen(group) for group in self.profile.small_files(partition_path))

    def _seen(self, group: GroupVerdict) -> GroupVerdict:
        if not group.is_candidate:
            return group
        if not self.task.owns(group.file_id):
            return replace(group, verdict=Verdict.OTHER_TASK)
        room = room_for_records(group, self.profile.record_size, self.options)
        return replace(group, room=room, verdict=Verdict.SMALL if room else Verdict.FULL)

    def _shares(self, partition_path: str) -> list[_Share]:
        """The small files of a partition with what is left of their room; looked at once until the next commit."""
        if partition_path not in self._small:
            seen = self.groups(partition_path)
            self._small[partition_path] = [_Share(group.file_id, group.room) for group in seen if group.room]
        return self._small[partition_path]

    def _open(self, partition_path: str) -> Placement:
        file_id = next(file_id for file_id in iter(self.new_id, None) if self.task.owns(file_id))
        self._new[partition_path] = _Share(file_id, max(self.records_per_group - 1, 0))
        self._opened.add((partition_path, file_id))
        return Placement(file_id, NEW_GROUP, 1)


def plan_in_order(partition_path: str, inserts: int, assigner: FlinkAssigner) -> PartitionPlan:
    """What *assigner* does with the next *inserts* records of a partition, as a plan."""
    groups = assigner.groups(partition_path)
    records: dict[str, int] = {}
    for placement in assigner.insert(partition_path, inserts):
        records[placement.file_id] = records.get(placement.file_id, 0) + placement.records
    known = {group.file_id for group in groups}
    return PartitionPlan(
        partition_path,
        inserts,
        assigner.profile.record_size,
        max(assigner.records_per_group, 1),
        tuple(
            replace(group, verdict=Verdict.TAKEN, records=records[group.file_id]) if group.file_id in records else group
            for group in groups
        ),
        tuple(InsertBucket(file_id if file_id in known else None, count) for file_id, count in records.items()),
        in_order=True,
    )


def _murmur(code: int) -> int:
    """Flink's hash of a hash, never negative.

    Source: org.apache.flink.util.MathUtils.murmurHash, Flink 1.20.
    """
    code = _rotated(code * 0xCC9E2D51 & _UINT32, 15) * 0x1B873593 & _UINT32
    code = (_rotated(code, 13) * 5 + 0xE6546B64) & _UINT32
    code ^= 4
    code = (code ^ code >> 16) * 0x85EBCA6B & _UINT32
    code = (code ^ code >> 13) * 0xC2B2AE35 & _UINT32
    code ^= code >> 16
    if code < _MIN_INT:
        return code
    return _UINT32 + 1 - code if code > _MIN_INT else 0


def _rotated(code: int, bits: int) -> int:
    return (code << bits | code >> (32 - bits)) & _UINT32
