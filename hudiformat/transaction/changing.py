"""Changes of a table's timeline: under the lock, on the current state of the table, after unfinished restores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from hudiformat.table import TableContext, TableState
from hudiformat.timeline import Action
from hudiformat.transaction.locks import held, lock_of
from hudiformat.transaction.restoring import finish_restores
from hudiformat.upkeep import prepare_metadata_table


@contextmanager
def changing(context: TableContext, seen: TableState | None = None, *, again: bool = False) -> Iterator[TableState]:
    """Hold the table's lock while the block changes the timeline; gives the current state of the table.

    The table may have changed since *seen*, so it is read again under the lock.  Where there are no other writers,
    *seen* is used as it is, unless *again*.  A restore that was stopped half-way is finished first, and the metadata
    table is prepared: what cannot be kept up is dropped.

    Raises:
        LockError: another writer keeps the table's lock.
    """
    with exclusive(context) as owning:
        if seen is None:
            state = owning.state()
        else:
            is_old = again or context.options.concurrency.has_other_writers
            state = seen.again() if is_old else seen
            state = state if owning is context else replace(state, context=owning)
        if any(pending.action is Action.RESTORE for pending in state.timeline.pending):
            state = finish_restores(state)
        yield prepare_metadata_table(state) if state.config.metadata_partitions else state


@contextmanager
def exclusive(context: TableContext) -> Iterator[TableContext]:
    """The table's lock, for as long as a block lasts; nothing for a table that has one writer.

    Gives *context* with ``confirm``, which says whether the lock has been lost meanwhile.

    Raises:
        LockError: another writer has the lock for too long.
    """
    options = context.options.concurrency
    if not options.has_other_writers:
        yield context
        return
    with held(lock_of(context.storage, options), patience=options.lock_patience) as hold:
        yield replace(context, confirm=hold.confirm)
