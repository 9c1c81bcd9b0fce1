"""Repair keys that are in two file groups: delete the older row of each key."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from hudiformat.check.repair.liveness import WriterTimeout
from hudiformat.check.repair.repair_folder import RepairFolder
from hudiformat.check.repair.steps import Job, RepairKind, RepairStep
from hudiformat.check.verify.key_check import duplicate_keys
from hudiformat.naming.file_names import WriteToken, join_path
from hudiformat.table.options.values import Operation
from hudiformat.table.state import TableState
from hudiformat.write.commit.transaction import attempts
from hudiformat.write.write import WriteTask

_TOKEN = WriteToken(0, 0, 0)
_SHOWN = 3


def plan_keys(state: TableState, timeout: WriterTimeout) -> Iterator[Job]:
    """Yield the job for keys that are in two file groups, if there are any; all keys are read."""
    found = [(one.file_slice, one.keys) for one in duplicate_keys(state)]
    if not found:
        return
    count = sum(len(keys) for _, keys in found)
    places = ", ".join(join_path(one.partition_path, one.file_id) for one, _ in found[:_SHOWN])
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    step = RepairStep(
        RepairKind.KEYS,
        join_path(found[0][0].partition_path, found[0][0].file_id),
        f"the older rows of {count} keys are deleted from the file groups {places}{more}",
        "their keys are in another file group too, from a newer commit",
        f"{count} older rows, which the table's past still has",
    )
    reason = timeout.of_writers(state)
    yield Job(step, partial(_delete, state)) if reason is None else Job.refused(step, reason)


def _delete(state: TableState, _taken: RepairFolder) -> None:
    """Delete the older rows of keys that are in several file groups.

    If a base file has a key several times, a commit deletes only one of its rows.  So commits are made until none is
    left.
    """
    while any(True for _ in duplicate_keys(state.context.state())):
        for write in attempts(state.context.state(), Operation.DELETE, in_tasks=False):
            with write, WriteTask(write.plan, _TOKEN, storage=state.storage) as task:
                for one in duplicate_keys(state.context.state()):
                    task.remove(one.file_slice.partition_path, one.file_slice.file_id, one.keys)
                write.commit(task.finish())
