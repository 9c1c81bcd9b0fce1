"""Find the file groups that an overwriting write removes from the table; the commit names them.

Source: SparkInsertOverwriteCommitActionExecutor, SparkInsertOverwriteTableCommitActionExecutor,
SparkDeletePartitionCommitActionExecutor, Hudi 1.2.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TypeAlias

from hudiformat.file_group.slices import build_slices
from hudiformat.storage.protocol import Storage
from hudiformat.storage.threads import side_by_side
from hudiformat.table.options.values import Operation
from hudiformat.write.commit.plan import WritePlan

Replaced: TypeAlias = Mapping[str, tuple[str, ...]]
"""File ids by partition path."""


def overwritten_groups(storage: Storage, plan: WritePlan, partitions: Iterable[str]) -> Replaced:
    """Return the file groups that a write of *plan* overwrites; *partitions* are those that it has written files to."""
    return groups_at_begin(storage, plan, None if plan.operation is Operation.INSERT_OVERWRITE_TABLE else partitions)


def groups_at_begin(storage: Storage, plan: WritePlan, partitions: Iterable[str] | None) -> Replaced:
    """Return the file groups of *partitions*, or of all partitions, that existed when the write began."""
    paths = plan.partitions(storage) if partitions is None else sorted(partitions)
    listed = list(zip(paths, side_by_side(storage, partial(plan.files, storage), paths), strict=True))
    for path, files in listed:
        plan.refuse_unlisted(storage, path, {file.name for file in files})
    groups = {
        path: tuple(dict.fromkeys(item.file_id for item in build_slices(path, files, plan.visibility)))
        for path, files in listed
    }
    return {path: ids for path, ids in groups.items() if ids}
