"""Changes of a table's timeline: under the lock, on the current state of the table, the metadata table first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from hudiformat.metadata import FILES
from hudiformat.naming import next_instant
from hudiformat.table import TableContext, TableState
from hudiformat.timeline import Instant, Metadata, complete
from hudiformat.transaction.locks import held, lock_of
from hudiformat.transaction.metadata_table import MetadataTable, prepare_metadata_table


@contextmanager
def changing(context: TableContext, seen: TableState | None = None, *, again: bool = False) -> Iterator[TableState]:
    """Hold the table's lock while the block changes the timeline; gives the current state of the table.

    The table may have changed since *seen*, so it is read again under the lock.  Where there are no other writers,
    *seen* is used as it is, unless *again*.  Before the first change the metadata table is prepared: what cannot be
    kept up is dropped.

    Raises:
        LockError: another writer keeps the table's lock.
    """
    with exclusive(context):
        if seen is None:
            state = context.state()
        else:
            state = seen.again() if again or context.options.concurrency.has_other_writers else seen
        yield prepare_metadata_table(state) if state.config.metadata_partitions else state


def exclusive(context: TableContext) -> AbstractContextManager[None]:
    """The table's lock, for as long as a block lasts; nothing for a table that has one writer.

    Entering it raises a LockError where another writer has the lock for too long.
    """
    options = context.options.concurrency
    if not options.has_other_writers:
        return nullcontext()
    return held(lock_of(context.storage, options), patience=options.lock_patience)


def publish(state: TableState, instant: Instant, metadata: Metadata) -> Instant:
    """Complete an inflight instant, with what it did in *metadata*.

    *state* was read under the table's lock.  The metadata table is written first, and is valid once the timeline
    has the completed instant; in the other order a reader would miss files for a moment.

    Raises:
        CommitError: the instant is not inflight any more.
        StorageError: a file cannot be created.

    Source: BaseHoodieWriteClient.commitStats, Hudi 1.2.0.
    """
    recorded = None
    if FILES in state.config.metadata_partitions:
        recorded = MetadataTable.of(state).record(instant, metadata)
    latest = state.timeline.latest_instant_time
    now = next_instant(state.context.clock(), max(filter(None, (latest, instant.time, recorded)), default=None))
    return complete(state.storage, state.config, instant, metadata, completion_time=now, timeline=state.timeline)
