"""Compute a result from one state of a table while other writers change the table.

A result is computed from the timeline, and from files that are listed and read later.  Files that other writers delete
in between would be missing from it.  So where that is possible, the timeline is read again at the end; if files may
have been deleted, the result is computed again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hudiformat.errors import CorruptTableError, DecodeError, StorageError, TableError
from hudiformat.file_group.slices import ListedFiles
from hudiformat.naming.file_names import base_name
from hudiformat.table.state import TableContext, TableState
from hudiformat.timeline.timeline import Action, load_timeline

T = TypeVar("T")

_DELETING = (Action.CLEAN, Action.ROLLBACK, Action.RESTORE)
MOST_ATTEMPTS = 5
"""The number of attempts before a TableError, if other writers delete files during each of them."""


def run_on_stable_state(
    context: TableContext, ask: Callable[[TableState, ListedFiles], T], *, of_the_past: bool = False
) -> T:
    """Return the result of *ask* on a state of the table during which no clean, rollback or restore deleted files.

    *ask* notes what it lists.  *of_the_past* says that it reads older slices, which a clean deletes first.

    If *ask* fails to read a file, the error is raised only if the timeline has not changed.  Otherwise the file may
    have been archived or cleaned, and *ask* is called on the new state.

    Raises:
        TableError: other writers deleted files during every attempt; or whatever *ask* raises.
    """
    for _ in range(MOST_ATTEMPTS):
        state, listed = context.state(), ListedFiles()
        try:
            answer = ask(state, listed)
        except (StorageError, CorruptTableError, DecodeError):
            if state.again() is state:
                raise
            continue
        if not is_overtaken(state, listed, of_the_past=of_the_past):
            return answer
    root = context.storage.root
    raise TableError(
        f"{root}: in each of {MOST_ATTEMPTS} attempts to plan a query, files were cleaned, rolled back or archived "
        "meanwhile; try again later",
        path=root,
    )


def is_overtaken(state: TableState, listed: ListedFiles, *, of_the_past: bool = False) -> bool:
    """Return whether files of *state* may be missing from what was *listed*.

    That is so if a clean, a rollback or a restore was started since, or if a write was removed from the timeline.

    To save requests, the timeline is listed again only if a listing gives reason to: it shows files of newer writes, it
    has several partitions, which are listed one after the other, or none, or it lacks files of the newest write.  For
    slices *of_the_past*, which a clean deletes first, it is always listed again.
    """
    newest = state.timeline.latest_instant_time or ""
    is_quiet = listed.partitions <= 1 and not any(instant > newest for instant in listed.unknown)
    if is_quiet and not of_the_past and not _misses_files(state, listed):
        return False
    now = load_timeline(state.storage, state.config)
    known = {(instant.time, instant.state) for instant in state.timeline.instants}
    if any(one.action in _DELETING and (one.time, one.state) not in known for one in now.instants):
        return True
    left, first = {done.time for done in now.completed_writes}, now.first_active or ""
    return any(done.time not in left and done.time >= first for done in state.timeline.completed_writes)


def _misses_files(state: TableState, listed: ListedFiles) -> bool:
    """Return whether a file of the newest write is missing from the one partition that was listed."""
    writes = state.timeline.completed_writes
    if listed.only is None or not writes:
        return False
    path, files = listed.only
    try:
        stats = state.metadata(writes[-1]).partition_to_write_stats.get(path, ())
    except (StorageError, CorruptTableError):  # the write was archived or rolled back
        return True
    replaced = state.visibility.replaced
    named = {base_name(stat.path) for stat in stats if stat.path and (path, stat.file_id) not in replaced}
    return not named <= {file.name for file in files}
