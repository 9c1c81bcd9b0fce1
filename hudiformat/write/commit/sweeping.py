"""Delete files that no longer count: of tasks whose write was over, and files that a power cut has brought back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hudiformat.file_group.partitions import list_partitions
from hudiformat.metadata_table.kinds.files import FILES
from hudiformat.naming.file_names import LogFileName, base_name, join_path, parse_data_file
from hudiformat.table.state import TableState
from hudiformat.timeline.rollbacks import RestoreMetadata, RollbackMetadata
from hudiformat.timeline.timeline import Action, Instant, Timeline
from hudiformat.write.commit.files import delete_files, delete_strays, log_instants
from hudiformat.write.commit.markers import delete_markers

_MERGES = (Action.COMPACTION, Action.LOG_COMPACTION)


def sweep_orphans(state: TableState, marked: Sequence[str]) -> None:
    """Delete the files of tasks that were still writing when their write was rolled back, or was committed.

    *marked* are the instants that have markers, listed before *state* was read: an instant is on the timeline before it
    has its first marker.  For an instant that is not on the timeline, all files are deleted, unless it is earlier than
    the first instant of the timeline: then it may have been archived.  For a commit, the files are deleted that have a
    marker and that the commit does not name; these stay while a compaction is pending, whose plan may name them.
    """
    on_timeline = {instant.time for instant in state.timeline.instants}
    first = state.timeline.first_active or ""
    for instant in marked:
        if instant > first and instant not in on_timeline:
            delete_files(state.storage, state.config, instant)
    if not any(pending.action in _MERGES for pending in state.timeline.pending):
        for done in state.timeline.completed:
            if done.time in marked and done.action.is_write:
                delete_strays(state.storage, state.config, done.time, state.metadata(done).write_stats)
                delete_markers(state.storage, done.time)


def sweep_before_archiving(state: TableState, chosen: Sequence[Instant]) -> None:
    """Delete files of rolled-back writes that exist again, before the instants *chosen* are archived.

    Either the writer was only slow, and was taken for dead, or a power cut undid the deletion.  Once the timeline
    begins after the instant of such a write, its files would count as files of an archived commit.  In table version 6,
    the files that the metadata table lists stay: the rollback has kept them, and has hidden their blocks.

    The same holds for file groups that a replace commit among *chosen* has removed from the table.  A clean has deleted
    their files, or the commit would not be archived, but a power cut may have undone that.  Deletions are synced here,
    so that no later power cut can undo them.
    """
    _sweep_replaced(state, chosen)
    known = {instant.time for instant in state.timeline.instants}
    first = state.timeline.first_active or ""
    left = Timeline(tuple(one for one in state.timeline.instants if one.time not in {done.time for done in chosen}))
    bound = left.first_active or state.timeline.latest_instant_time or ""
    rolled_back = {time for time in _removed_instants(state) if first <= time < bound and time not in known}
    if not rolled_back:
        return
    planned = {(group.partition_path, name) for group in state.pending_groups for name in group.files}
    for folder, files in list_partitions(state.storage, incomplete=True):
        for file in files:
            path = join_path(folder, file.name)
            instants = _instants_of(state, path)
            is_over = instants and instants <= rolled_back and (folder, file.name) not in planned
            if is_over and not _is_listed(state, folder, file.name):
                state.context.confirm()
                state.storage.delete(path)
        sync_deletions(state, [folder])


def _sweep_replaced(state: TableState, chosen: Sequence[Instant]) -> None:
    """Delete the files of file groups that the replace commits among *chosen* have removed from the table."""
    removed: dict[str, set[str]] = {}
    for one in chosen:
        if one.action is Action.REPLACE_COMMIT:
            for path, ids in (state.metadata(one).partition_to_replace_file_ids or {}).items():
                removed.setdefault(path, set()).update(ids)
    for folder, file_ids in sorted(removed.items()):
        for file in state.storage.list(folder):
            name = parse_data_file(file.name)
            if name is not None and name.file_id in file_ids:
                state.context.confirm()
                state.storage.delete(join_path(folder, file.name))
    sync_deletions(state, removed)


def sync_deletions(state: TableState, folders: Iterable[str]) -> None:
    """Make sure that no power cut brings back files deleted from *folders*, unless the options turn syncing off."""
    if state.options.sync:
        for folder in folders:
            state.storage.sync_deletions(folder)


def _is_listed(state: TableState, folder: str, name: str) -> bool:
    """Return whether the metadata table lists a file of a rolled-back write, as it does only in table version 6."""
    if not state.logs_name_slices or FILES not in state.config.metadata_partitions:
        return False
    return any(file.name == name for file in state.partition_files(folder))


def _removed_instants(state: TableState) -> set[str]:
    """Return the instants that the rollbacks and restores on the timeline have removed."""
    found: set[str] = set()
    for done in state.timeline.completed:
        if done.action in (Action.ROLLBACK, Action.RESTORE):
            metadata = state.content(done)
            if isinstance(metadata, RollbackMetadata):
                found |= set(metadata.commits_rollback)
            elif isinstance(metadata, RestoreMetadata):
                found |= set(metadata.instants_to_rollback)
    return found


def _instants_of(state: TableState, path: str) -> frozenset[str]:
    """Return the writes whose data a file has; in table version 6 the blocks of a log file name them."""
    name = parse_data_file(base_name(path))
    if name is None:
        return frozenset()
    if state.logs_name_slices and isinstance(name, LogFileName):
        return frozenset(log_instants(state.storage, path))
    return frozenset([name.instant])
