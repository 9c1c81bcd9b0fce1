"""Writes that take file groups out of the table: overwriting partitions or all of it, and deleting partitions.

They complete as replace commits; the files stay for readers of the past until cleaning takes them.
Source: SparkInsertOverwriteCommitActionExecutor, SparkInsertOverwriteTableCommitActionExecutor,
SparkDeletePartitionCommitActionExecutor, Hudi 1.2.0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from hudiformat.options.enums import Operation
from hudiformat.table.listing import partition_files
from hudiformat.table.state import TableContext
from hudiformat.timeline import WriteStat
from hudiformat.transaction.begin import Commit, Replaced, write_and_commit
from hudiformat.transaction.plan import WritePlan
from hudiformat.view import build_slices
from hudiformat.write.write import fitted_rows, write_prepared


def overwrite(context: TableContext, operation: Operation, data: Any) -> Commit:
    """Write *data* into new file groups, in place of all groups of its partitions, or of the table.

    Raises:
        UnsupportedFeatureError: the table cannot be written.
        SchemaError, DataError, CommitError: as for other writes.
    """
    rows = fitted_rows(context, operation, data)
    return overwrite_by(context, operation, lambda plan: write_prepared(plan, rows, storage=context.storage))


def overwrite_by(
    context: TableContext,
    operation: Operation,
    write_files: Callable[[WritePlan], Iterable[WriteStat]],
    extra: Mapping[str, str] | None = None,
) -> Commit:
    """As :func:`overwrite`, where *write_files* makes the files; *extra* as for other writes."""
    return write_and_commit(context, operation, write_files, extra, replace=partial(replaced_groups, context))


def replaced_groups(context: TableContext, plan: WritePlan, stats: Sequence[WriteStat]) -> Replaced:
    """What an overwriting write takes out of the table that has written *stats*."""
    written = {stat.partition_path or "" for stat in stats}
    return _groups(context, plan, None if plan.operation is Operation.INSERT_OVERWRITE_TABLE else written)


def delete_partitions(context: TableContext, partitions: Sequence[str]) -> Commit:
    """Take all file groups of *partitions* out of the table; a partition that is not there has none.

    Raises:
        UnsupportedFeatureError: the table cannot be written.
        CommitError: the write did not become visible.
    """
    return write_and_commit(
        context,
        Operation.DELETE_PARTITION,
        lambda _plan: (),
        replace=lambda plan, _stats: _groups(context, plan, set(partitions)),
    )


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
