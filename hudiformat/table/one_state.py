"""Asking a question of one state of a table while other writers change it.

An answer is made of a look at the timeline and of what is listed and read after it.  What others delete in between is
missing from it: so the timeline is looked at again where that may have happened, and the question is asked anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hudiformat.errors import CorruptTableError, DecodeError, StorageError, TableError
from hudiformat.table.state import TableContext, TableState

T = TypeVar("T")

MOST_ATTEMPTS = 5
"""How often a question is asked before it is given up, because others are faster every time."""


def on_one_state(
    context: TableContext, ask: Callable[[TableState], T], *, of_the_past: bool = False, lists: bool = True
) -> T:
    """What *ask* answers on a state of the table that no clean, rollback or restore has overtaken.

    Without *lists* it asks nothing but the timeline, which is one state already.

    An error in reading is the answer only if the timeline is still as it was: a file of the timeline may have been
    archived after the look at it, or a data file cleaned.

    Raises:
        TableError: others were faster every time; or whatever *ask* raises.
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
