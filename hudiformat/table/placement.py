"""Where the rows of a write go that were counted before its tasks run: to file groups by name.

A group that is there goes by its file id, one that the write is going to open by its number in its partition.
"""

from __future__ import annotations

import pyarrow as pa

from hudiformat.sizing import PartitionPlan

_NEW = "+"
FIRST_NEW = f"{_NEW}0"
"""The first file group that a write is going to open in a partition."""


def groups_of_new(plan: PartitionPlan, record_keys: pa.Array) -> pa.Array:
    """The file group of each new row of a partition, by the hash of its key.

    Source: UpsertPartitioner.getPartition, Hudi 1.2.0; spec/sizing.md.
    """
    opened = iter(range(len(plan.buckets)))
    names = [bucket.file_id or f"{_NEW}{next(opened)}" for bucket in plan.buckets]
    return pa.array(names, pa.string()).take(pa.array(plan.assign(record_keys)))


def new_group_number(group: str) -> int | None:
    """The number of a file group that the write is going to open; None for one that is there."""
    return int(group.removeprefix(_NEW)) if group.startswith(_NEW) else None
