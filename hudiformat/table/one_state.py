"""Compute a result from one state of a table while other writers change the table.

A result is computed from the timeline, and from files that are listed and read later.  Files that other writers delete
in between would be missing from it.  So where that is possible, the timeline is read again at the end; if files may
have been deleted, the result is computed again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hudiformat.errors import CorruptTableError, DecodeError, StorageError, TableError
from hudiformat.table.state import TableContext, TableState

T = TypeVar("T")

MOST_ATTEMPTS = 5
"""The number of attempts before a TableError, if other writers delete files during each of them."""


def run_on_stable_state(
    context: TableContext, ask: Callable[[TableState], T], *, of_the_past: bool = False, lists: bool = True
) -> T:
    """Return the result of *ask* on a state of the table during which no clean, rollback or restore deleted files.

    Without *lists*, *ask* reads only the timeline, which needs no check.  *of_the_past* says that it reads older
    slices, which a clean deletes first.

    If *ask* fails to read a file, the error is raised only if the timeline has not changed.  Otherwise the file may
    have been archived or cleaned, and *ask* is called on the new state.

    Raises:
        TableError: other writers deleted files during every attempt; or whatever *ask* raises.
    """
    for _ in range(MOST_ATTEMPTS):
        state = context.state()
        try:
            answer = ask(state)
        except (StorageError, CorruptTableError, DecodeError):
            if state.again() is state:
                raise
            continue
        if not lists or not state.is_overtaken(of_the_past=of_the_past):
            return answer
    root = context.storage.root
    raise TableError(
        f"{root}: in each of {MOST_ATTEMPTS} attempts to plan a query, files were cleaned, rolled back or archived "
        "meanwhile; try again later",
        path=root,
    )
