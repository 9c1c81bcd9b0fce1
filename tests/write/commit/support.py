"""Writes that have yet to commit, for the tests of this room."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from hudiformat import Table
from hudiformat.naming.file_names import WriteToken
from hudiformat.table.options.values import Operation
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.timeline.contents import transition_inflight
from hudiformat.timeline.rollbacks import InstantInfo, RestorePlan
from hudiformat.timeline.timeline import Action, Instant
from hudiformat.write.commit.publishing import announce
from hudiformat.write.commit.transaction import Transaction, begin_write
from hudiformat.write.write import WriteTask
from tests.tables import FLAGGED, new_table, rows, tree

FIRST = rows(("a", 1, "x", 1), ("b", 1, "x", 2), schema=FLAGGED)
SECOND = rows(("a", 2, "x", 3), ("b", 2, "x", 0, True), ("c", 1, "y", 4), schema=FLAGGED)
BEFORE = [("a", 1, "x", 1), ("b", 1, "x", 2)]
AFTER = [("a", 2, "x", 3), ("c", 1, "y", 4)]

SHARED = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.write.lock.client.num_retries": "600",
    "hoodie.write.lock.client.wait_time_ms_between_retry": "50",
}


def of_instant(root: Path, instant: str) -> list[str]:
    return [path for path in tree(root) if instant in path]


def abandoned(table: Table, data: pa.Table) -> Transaction:
    """A write whose writer has written its files, and then is never heard of again."""
    write = begin_write(table._context, Operation.UPSERT)
    with WriteTask(write.plan, WriteToken(0, 0, 0)) as task:
        for batch in data.to_batches():
            task.write_batch(batch)
        task.finish()
    return write


def begun_restore(table: Table, instant: str) -> Instant:
    """A restore to *instant* whose process has died before it removed the first write."""
    state = table._context.state()
    later = [one for one in reversed(state.timeline.completed_writes) if one.time > instant]
    plan = RestorePlan(
        tuple(InstantInfo(one.time, one.action.value) for one in later), savepoint_to_restore_timestamp=instant
    )
    return transition_inflight(state.storage, state.config, announce(state, Action.RESTORE, plan))


def shared_table(path: Path, *, table_type: str = "MERGE_ON_READ", **options: str) -> Table:
    return new_table(path, table_type=table_type, options={**SHARED, **options})


def begun(
    table: Table, *values: tuple[object, ...], operation: Operation = Operation.UPSERT
) -> tuple[Transaction, list[WriteStat]]:
    """A write whose files are there, and that has yet to commit."""
    write = begin_write(table._context, operation)
    with WriteTask(write.plan, WriteToken(0, 0, 0)) as task:
        task.write_batch(rows(*values).combine_chunks().to_batches()[0])
        return write, task.finish()
