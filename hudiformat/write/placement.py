"""Assigning new rows to file groups where the rows have been counted before the tasks of the write run.

An existing file group is named by its file id, one that the write is going to open by its number in its partition.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from hudiformat.merge import key_hashes
from hudiformat.sizing import PartitionPlan

_NEW = "+"
_SPARE_BITS = np.uint64(64 - 53)  # of a hash, beyond what a float holds
FIRST_NEW = f"{_NEW}0"
"""The first file group that a write is going to open in a partition."""


def groups_of_new(plan: PartitionPlan, record_keys: pa.Array) -> pa.Array:
    """The file group of each new row of a partition, by a hash of its key, weighted by the plan.

    Not by Hudi's hash, MD5, which takes ten times as long: nobody has to find a row's group again that way.
    """
    opened = iter(range(len(plan.buckets)))
    names = [bucket.file_id or f"{_NEW}{next(opened)}" for bucket in plan.buckets]
    if len(names) == 1:
        return pa.repeat(names[0], len(record_keys))
    shares = (key_hashes(pa.chunked_array([record_keys])) >> _SPARE_BITS) / np.float64(1 << 53)
    return pa.array(names, pa.string()).take(pa.array(plan.bucket_indices(shares)))


def new_group_number(group: str) -> int | None:
    """The number of a file group that the write is going to open; None for one that is there."""
    return int(group.removeprefix(_NEW)) if group.startswith(_NEW) else None
