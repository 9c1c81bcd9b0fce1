"""Rolling back a commit that is done: its files go, and the table is as it was before it."""

from __future__ import annotations

from hudiformat.errors import CommitError
from hudiformat.table.state import TableContext
from hudiformat.timeline import VERSION_WITH_COMPLETION_TIMES, Action, Instant, Timeline, read_compaction_plan
from hudiformat.transaction.metadata_table import prepare_metadata_table
from hudiformat.transaction.publishing import exclusive
from hudiformat.transaction.rollback import WRITES, Rollbacks


def roll_back(context: TableContext, instant: str) -> Instant:
    """Roll back the write *instant*, the newest of the table, completed or not; the rollback's instant.

    Raises:
        CommitError: there is no such write, others came after it, or a savepoint keeps it.
        LockError: another writer keeps the table's lock.

    Source: BaseRollbackActionExecutor, Hudi 1.2.0.
    """
    with exclusive(context):
        prepare_metadata_table(context)
        target = find_write(context, instant)
        timeline = context.timeline()
        later = [write.time for write in _writes(context, timeline) if write.time > instant]
        if later:
            raise CommitError(
                f"{context.storage.root}: {instant} cannot be rolled back before the writes after it: "
                f"{', '.join(later)}; roll those back first, the newest first",
                path=context.storage.root,
            )
        refuse_savepoint(context, timeline, instant)
        _refuse_compacted(context, timeline, instant)
        return Rollbacks(context.storage, context.config, context.clock).roll_back(target)


def _writes(context: TableContext, timeline: Timeline) -> tuple[Instant, ...]:
    """The writes that may build on earlier ones: in table version 6 pending ones, too, in log files named by these."""
    pending = tuple(one for one in timeline.pending if one.action in WRITES)
    return timeline.completed_writes + (pending if context.config.version < VERSION_WITH_COMPLETION_TIMES else ())


def _refuse_compacted(context: TableContext, timeline: Timeline, instant: str) -> None:
    """Raise a CommitError where a planned compaction is going to read files of the write *instant*."""
    for pending in timeline.pending:
        if pending.action not in (Action.COMPACTION, Action.LOG_COMPACTION):
            continue
        plan = read_compaction_plan(context.storage, context.config, pending)
        files = [name for one in plan.operations or () for name in (*(one.delta_file_paths or ()), one.data_file_path)]
        if any(name and f"_{instant}." in name for name in files):
            raise CommitError(
                f"{context.storage.root}: {instant} cannot be rolled back while {pending} is going to read its files; "
                "run that compaction, or roll it back first",
                path=context.storage.root,
            )


def find_write(context: TableContext, instant: str) -> Instant:
    """The write with this time.

    Raises:
        CommitError: the active timeline has none.
    """
    instants = context.timeline().instants
    services = (Action.CLEAN, Action.ROLLBACK, Action.RESTORE, Action.SAVEPOINT, Action.INDEXING)
    found = next((one for one in instants if one.time == instant and one.action not in services), None)
    if found is None:
        known = ", ".join(one.time for one in context.timeline().completed_writes[-5:])
        raise CommitError(
            f"{context.storage.root}: there is no write {instant!r} on the active timeline; the newest are {known}",
            path=context.storage.root,
        )
    return found


def refuse_savepoint(context: TableContext, timeline: Timeline, instant: str) -> None:
    """Raise a CommitError where a savepoint keeps the write *instant*."""
    if any(one.action is Action.SAVEPOINT and one.time == instant for one in timeline.instants):
        raise CommitError(
            f"{context.storage.root}: {instant} has a savepoint; delete that first", path=context.storage.root
        )
