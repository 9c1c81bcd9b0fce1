"""Writes that take file groups out of the table: overwriting partitions or all of it, and deleting partitions.

They complete as replace commits; the files stay for readers of the past until cleaning takes them.
Source: SparkInsertOverwriteCommitActionExecutor, SparkInsertOverwriteTableCommitActionExecutor,
SparkDeletePartitionCommitActionExecutor, Hudi 1.2.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from hudiformat.errors import WriteConflictError
from hudiformat.table.begin import Commit, begin_write
from hudiformat.table.context import TableContext
from hudiformat.table.listing import partition_files
from hudiformat.table.plan import Operation, WritePlan
from hudiformat.table.write import fitted_rows, write_prepared
from hudiformat.view import build_slices

Replaced = dict[str, tuple[str, ...]]
"""File groups by partition path."""


def overwrite(context: TableContext, operation: Operation, data: Any) -> Commit:
    """Write *data* into new file groups, in place of all groups of its partitions, or of the table.

    Raises:
        UnsupportedFeatureError: the table cannot be written.
        SchemaError, DataError, CommitError: as for other writes.
    """
    rows = fitted_rows(context, operation, data)

    def once() -> Commit:
        with begin_write(context, operation) as write:
            stats = write_prepared(write.plan, rows, storage=context.storage)
            written = {stat.partition_path or "" for stat in stats}
            only = None if operation is Operation.INSERT_OVERWRITE_TABLE else written
            return write.commit(stats, replaced=_groups(context, write.plan, only))

    for _ in range(context.options.concurrency.conflict_retries):
        with suppress(WriteConflictError):
            return once()
    return once()


def delete_partitions(context: TableContext, partitions: Sequence[str]) -> Commit:
    """Take all file groups of *partitions* out of the table; a partition that is not there has none.

    Raises:
        UnsupportedFeatureError: the table cannot be written.
        CommitError: the write did not become visible.
    """
    with begin_write(context, Operation.DELETE_PARTITION) as write:
        return write.commit((), replaced=_groups(context, write.plan, set(partitions)))


def _groups(context: TableContext, plan: WritePlan, partitions: Iterable[str] | None) -> Replaced:
    """The file groups that were there when the write began, of these partitions or of all."""
    listed = (
        partition_files(context)
        if partitions is None
        else (found for path in sorted(partitions) for found in partition_files(context, path))
    )
    groups = {
        path: tuple(dict.fromkeys(item.file_id for item in build_slices(path, files, plan.visibility)))
        for path, files in listed
    }
    return {path: ids for path, ids in groups.items() if ids}
