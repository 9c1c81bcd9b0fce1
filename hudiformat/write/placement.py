"""Assign new rows to file groups when the rows were counted before the tasks of the write run.

An existing file group is named by its file id.  A group that the write is going to open is named ``+`` and the file id
that the plan has chosen, or ``+`` and its number in its partition.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from hudiformat.file_group.merging.keys import key_hashes
from hudiformat.sizing.spark import PartitionPlan

_NEW = "+"
_SPARE_BITS = np.uint64(64 - 53)  # of a hash, beyond what a float holds
FIRST_NEW = f"{_NEW}0"
"""The first file group that a write is going to open in a partition."""


def groups_of_new(plan: PartitionPlan, record_keys: pa.Array) -> pa.Array:
    """Return the file group of each new row of a partition, chosen by a hash of its key, with the weights of the plan.

    The hash is not Hudi's MD5, which takes ten times as long: nobody has to find a row's group by it later.
    """
    opened = iter(range(len(plan.buckets)))
    names = [one.file_id or f"{_NEW}{one.new_id or next(opened)}" for one in plan.buckets]
    if len(names) == 1:
        return pa.repeat(names[0], len(record_keys))
    shares = (key_hashes(pa.chunked_array([record_keys])) >> _SPARE_BITS) / np.float64(1 << 53)
    if plan.parallelism is None:
        buckets = plan.bucket_indices(shares)
    else:
        buckets = plan.assign_by_task(record_keys, lambda own, rows: own.bucket_indices(shares[rows]))
    return pa.array(names, pa.string()).take(pa.array(buckets))


def new_group(group: str) -> str | None:
    """Return the file id or the number of a file group that the write is going to open; None for an existing group."""
    return group.removeprefix(_NEW) if group.startswith(_NEW) else None
