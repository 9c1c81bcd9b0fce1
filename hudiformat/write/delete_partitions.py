"""Delete partitions: a replace commit removes all file groups of them from the table, and writes no rows.

The files stay for time travel until cleaning deletes them.

Source: SparkDeletePartitionCommitActionExecutor, Hudi 1.2.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from hudiformat.table.options.values import Operation
from hudiformat.table.state import TableState
from hudiformat.write.commit.replacing import groups_at_begin
from hudiformat.write.commit.transaction import Committed, attempts


def delete_partitions(state: TableState, *, partitions: Sequence[str]) -> Committed:
    """Remove all file groups of *partitions* from the table; a partition that does not exist has none.

    Raises:
        UnsupportedFeatureError: the table cannot be written.
        CommitError: the write did not become visible.
    """
    for write in attempts(state, Operation.DELETE_PARTITION, in_tasks=False):
        with write:
            write.commit((), replaced=groups_at_begin(state.storage, write.plan, set(partitions)))
    return write.result


def matching_partitions(state: TableState, patterns: Iterable[str]) -> list[str]:
    """Return the partition paths that match *patterns*, in which ``*`` stands for any text.

    Source: HoodieSparkSqlWriter.resolvePartitionWildcards, Hudi 1.2.0.
    """
    named = list(patterns)
    plain = [path for path in named if "*" not in path]
    wild = [re.compile(".*".join(map(re.escape, one.split("*")))) for one in named if "*" in one]
    there = state.partition_paths if wild else []
    return sorted({*plain, *(path for path in there if any(one.fullmatch(path) for one in wild))})
