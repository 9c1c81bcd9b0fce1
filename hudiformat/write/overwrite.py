"""Writes that remove file groups from the table: overwrite partitions or the whole table, and delete partitions.

They complete as replace commits; the files stay for time travel until cleaning deletes them.
Source: SparkInsertOverwriteCommitActionExecutor, SparkInsertOverwriteTableCommitActionExecutor,
SparkDeletePartitionCommitActionExecutor, Hudi 1.2.0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from hudiformat.file_group.partitions import list_partitions
from hudiformat.file_group.slices import build_slices
from hudiformat.schema.table_schema import SchemaChange
from hudiformat.storage.protocol import Storage
from hudiformat.table.listing import list_files
from hudiformat.table.options.values import Operation
from hudiformat.table.state import TableContext, TableState
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.commit.transaction import Commit, Replaced, write_and_commit
from hudiformat.write.write import prepare, write_prepared


def overwrite(state: TableState, *, operation: Operation, data: Any) -> tuple[Commit, TableState]:
    """Write *data* into new file groups, in place of all file groups of its partitions, or of the table.

    *state* is the table as the write found it, with its schema.

    Raises:
        UnsupportedFeatureError: the table cannot be written.
        SchemaError, DataError, CommitError: as for other writes.
    """
    rows = prepare(state, operation, data)
    write_files = partial(write_prepared, rows=rows, storage=state.storage)
    return overwrite_by(state.context, operation, write_files, seen=state, in_tasks=False, change=rows.change)


def overwrite_by(
    context: TableContext,
    operation: Operation,
    write_files: Callable[[WritePlan], Iterable[WriteStat]],
    extra: Mapping[str, str] | None = None,
    *,
    seen: TableState | None = None,
    in_tasks: bool = True,
    change: SchemaChange | None = None,
) -> tuple[Commit, TableState]:
    """Overwrite as :func:`overwrite` does, with files that *write_files* writes; the rest is as for other writes."""
    return write_and_commit(
        context,
        operation,
        write_files,
        extra,
        seen=seen,
        in_tasks=in_tasks,
        replace=partial(replaced_groups, context.storage),
        change=change,
    )


def replaced_groups(storage: Storage, plan: WritePlan, stats: Sequence[WriteStat]) -> Replaced:
    """Return the file groups that an overwriting write removes from the table; *stats* describe the files it wrote."""
    written = {stat.partition_path or "" for stat in stats}
    return _groups_at_begin(storage, plan, None if plan.operation is Operation.INSERT_OVERWRITE_TABLE else written)


def delete_partitions(state: TableState, *, partitions: Sequence[str]) -> tuple[Commit, TableState]:
    """Remove all file groups of *partitions* from the table; a partition that does not exist has none.

    Raises:
        UnsupportedFeatureError: the table cannot be written.
        CommitError: the write did not become visible.
    """
    return write_and_commit(
        state.context,
        Operation.DELETE_PARTITION,
        lambda _plan: (),
        seen=state,
        in_tasks=False,
        replace=lambda plan, _stats: _groups_at_begin(state.storage, plan, set(partitions)),
    )


def matching_partitions(storage: Storage, patterns: Iterable[str]) -> list[str]:
    """Return the partition paths that match *patterns*, in which ``*`` stands for any text.

    Source: HoodieSparkSqlWriter.resolvePartitionWildcards, Hudi 1.2.0.
    """
    named = list(patterns)
    plain = [path for path in named if "*" not in path]
    wild = [re.compile(".*".join(map(re.escape, one.split("*")))) for one in named if "*" in one]
    there = [path for path, _ in list_partitions(storage)] if wild else []
    return sorted({*plain, *(path for path in there if any(one.fullmatch(path) for one in wild))})


def _groups_at_begin(storage: Storage, plan: WritePlan, partitions: Iterable[str] | None) -> Replaced:
    """Return the file groups of *partitions*, or of all partitions, that existed when the write began."""
    listed = (
        list_files(storage, None)
        if partitions is None
        else (found for path in sorted(partitions) for found in list_files(storage, path))
    )
    groups = {
        path: tuple(dict.fromkeys(item.file_id for item in build_slices(path, files, plan.visibility)))
        for path, files in listed
    }
    return {path: ids for path, ids in groups.items() if ids}
