"""Where the new rows of a write go: what a task has to know of the table, handed to the rules of sizing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count

from hudiformat.sizing import (
    FlinkAssigner,
    GroupVerdict,
    Kind,
    PartitionPlan,
    Pending,
    Profile,
    RecordSize,
    SizingOptions,
    flink_small_files,
    plan_in_order,
    plan_partition,
    spark_small_files,
)
from hudiformat.view import FileSlice

Groups = frozenset[tuple[str, str]]
"""File groups as (partition path, file id)."""


@dataclass(frozen=True, slots=True)
class SizingProfile:
    """What sizing has to know of a table besides its file slices.  It travels to other processes: plain values only."""

    kind: Kind
    engine: str
    options: SizingOptions
    record_size: RecordSize
    in_compaction: Groups = frozenset()
    in_clustering: Groups = frozenset()

    def small_files(self, partition_path: str, slices: Sequence[FileSlice]) -> tuple[GroupVerdict, ...]:
        """The file groups of a partition in the order in which they are filled; *slices* are the newest of each."""
        if self.engine == "flink":
            return flink_small_files(slices, self.kind, self.options)
        pending = Pending(_ids_in(self.in_compaction, partition_path), _ids_in(self.in_clustering, partition_path))
        return spark_small_files(slices, self.kind, self.options, pending)

    def plan(self, partition_path: str, inserts: int, groups: Sequence[GroupVerdict]) -> PartitionPlan:
        """Where *inserts* new rows of a partition go; *groups* as :meth:`small_files` gives them."""
        if self.engine == "flink":
            numbers = count()
            profile = Profile(lambda _path: groups, self.record_size)
            assigner = FlinkAssigner(profile, self.options, lambda: f"new {next(numbers)}")
            return plan_in_order(partition_path, inserts, assigner)
        return plan_partition(partition_path, inserts, groups, self.record_size, self.options)


def _ids_in(groups: Iterable[tuple[str, str]], partition_path: str) -> frozenset[str]:
    return frozenset(file_id for path, file_id in groups if path == partition_path)
