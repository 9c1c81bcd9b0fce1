"""Roll back a completed commit: its files are deleted, and the table is as it was before it."""

from __future__ import annotations

from hudiformat.errors import CommitError
from hudiformat.naming.file_names import LogFileName, base_name, parse_data_file
from hudiformat.services.service_result import ServiceResult
from hudiformat.table.state import TableContext, TableState
from hudiformat.timeline.archive.archiving import read_archived
from hudiformat.timeline.timeline import Action, Instant
from hudiformat.write.commit import rollback
from hudiformat.write.commit.changing import change_timeline
from hudiformat.write.metadata.preparing import refuse_unreadable
from hudiformat.write.reporting.commits import send_metrics


def roll_back(context: TableContext, instant: str) -> ServiceResult[Instant]:
    """Roll back the write *instant*, the newest of the table, completed or not.

    Raises:
        CommitError: there is no such write, others came after it, a savepoint keeps it, a planned compaction reads its
            files, all writes before it have been archived, or it was written before the table was upgraded.
        LockError: another writer keeps the table's lock.

    Source: BaseRollbackActionExecutor, Hudi 1.2.0.
    """
    with change_timeline(context) as state:
        target = find_write(state, instant)
        later = [write.time for write in _writes(state) if write.time > instant]
        if later:
            raise CommitError(
                f"{context.storage.root}: {instant} cannot be rolled back before the writes after it: "
                f"{', '.join(later)}; roll those back first, the newest first",
                path=context.storage.root,
            )
        refuse_savepoint(state, instant)
        refuse_former_layout(state, target)
        _refuse_compacted(state, instant)
        _refuse_last(state, target)
        refuse_unreadable(state, lists=True)
        done = rollback.roll_back(state, target)
    send_metrics(context)
    return ServiceResult("rollback", f"{instant} rolled back", (done,))


def _refuse_last(state: TableState, target: Instant) -> None:
    """Raise a CommitError if no other write would be left on the active timeline although there are archived ones.

    A timeline without a write does not show which instants have been archived, so their files would not be visible.
    """
    if state.timeline.completed_writes == (target,) and read_archived(state.storage, state.config, contents=False):
        root = state.storage.root
        raise CommitError(
            f"{root}: {target} cannot be rolled back: all writes before it have been archived, and a table without a "
            "write on its active timeline reads as empty; delete or overwrite the rows instead",
            path=root,
        )


def _writes(state: TableState) -> tuple[Instant, ...]:
    """Return the writes that may build on earlier ones; in table version 6 also pending ones, whose log files may."""
    return state.timeline.completed_writes + (tuple(state.pending_writes) if state.logs_name_slices else ())


def _refuse_compacted(state: TableState, instant: str) -> None:
    """Raise a CommitError if a planned compaction is going to read files of the write *instant*."""
    done = [one for one in state.timeline.completed_writes if one.time == instant]
    made = {base_name(stat.path or "") for one in done for stat in state.metadata(one).write_stats}
    for group in state.pending_groups:
        if any(f"_{instant}." in name or name in made for name in group.files):
            root = state.storage.root
            raise CommitError(
                f"{root}: {instant} cannot be rolled back while {group.instant} is going to read its files; "
                "run that compaction, or roll it back first",
                path=root,
            )


def find_write(state: TableState, instant: str) -> Instant:
    """Return the write with the time *instant*.

    Raises:
        CommitError: the active timeline has none.
    """
    services = (Action.CLEAN, Action.ROLLBACK, Action.RESTORE, Action.SAVEPOINT, Action.INDEXING)
    found = (one for one in state.timeline.instants if one.time == instant and one.action not in services)
    write = next(found, None)
    if write is None:
        known = ", ".join(one.time for one in state.timeline.completed_writes[-5:])
        root = state.storage.root
        raise CommitError(
            f"{root}: there is no write {instant!r} on the active timeline; the newest writes are {known}", path=root
        )
    return write


def refuse_former_layout(state: TableState, write: Instant) -> None:
    """Raise a CommitError if *write* added to log files in table version 6, and the table has been upgraded since.

    Those files also have blocks of other writes, and their names do not show it.
    """
    if state.logs_name_slices or not write.is_completed:
        return
    names = (parse_data_file(base_name(stat.path or "")) for stat in state.metadata(write).write_stats)
    if any(isinstance(name, LogFileName) and name.instant != write.time for name in names):
        root = state.storage.root
        raise CommitError(
            f"{root}: {write} added to log files of others before the table was upgraded to version "
            f"{state.config.version}, and cannot be rolled back any more; overwrite or delete its rows instead",
            path=root,
        )


def refuse_savepoint(state: TableState, instant: str) -> None:
    """Raise a CommitError if a savepoint keeps the write *instant*."""
    if any(one.action is Action.SAVEPOINT and one.time == instant for one in state.timeline.completed):
        root = state.storage.root
        raise CommitError(f"{root}: {instant} has a savepoint; delete the savepoint first", path=root)
