"""Announcing and completing instants, as long as the writer has the table's lock.

An instant is completed in the metadata table first, and then on the timeline.
"""

from __future__ import annotations

from contextlib import suppress

from hudiformat.errors import CommitError, LockError, StorageError
from hudiformat.metadata import FILES
from hudiformat.naming import next_instant
from hudiformat.table import TableState
from hudiformat.timeline import (
    Action,
    Instant,
    Metadata,
    Plan,
    complete,
    create_requested,
    instant_path,
    load_timeline,
    remove_pending,
)
from hudiformat.transaction.metadata_table import MetadataTable


def announce(state: TableState, action: Action, plan: Plan) -> Instant:
    """Put a new requested instant with its *plan* on the timeline; *state* was read under the table's lock.

    Raises:
        LockError: this writer has lost the lock, and others may have changed what was planned; nothing is announced.
        StorageError: the file cannot be created.
    """
    state.context.confirm()
    requested = create_requested(state.storage, state.config, state.next_instant, action, plan)
    try:
        state.context.confirm()
    except LockError:
        with suppress(StorageError):
            remove_pending(state.storage, state.config, requested)
        raise
    return requested


def publish(state: TableState, instant: Instant, metadata: Metadata) -> Instant:
    """Complete an inflight instant, with what it did in *metadata*.

    *state* was read under the table's lock.  The metadata table is written first, and is valid once the timeline
    has the completed instant; in the other order a reader would miss files for a moment.

    Raises:
        CommitError: the instant is not inflight any more.
        LockError: this writer has lost the lock; the instant is not completed.
        StorageError: a file cannot be created.

    Source: BaseHoodieWriteClient.commitStats, Hudi 1.2.0.
    """
    recorded = None
    if FILES in state.config.metadata_partitions:
        recorded = MetadataTable.of(state).record(instant, metadata)
    latest = state.timeline.latest_instant_time
    now = next_instant(state.context.clock(), max(filter(None, (latest, instant.time, recorded)), default=None))
    state.context.confirm()
    done = complete(state.storage, state.config, instant, metadata, completion_time=now, timeline=state.timeline)
    _take_back_if_lost(state, instant, done)
    return done


def _take_back_if_lost(state: TableState, instant: Instant, done: Instant) -> None:
    """Remove the completed *done* where the lock was lost just before it appeared, and others have used that.

    No file system completes an instant on the condition that a lock is held.  A writer that was stopped between its
    last look at the lock and this moment finds out here.
    """
    try:
        state.context.confirm()
    except LockError as error:
        known = {one.time for one in state.timeline.instants}
        others = [one for one in load_timeline(state.storage, state.config).instants if one.time not in known]
        if not others and state.storage.exists(instant_path(state.config, instant)):
            return  # nobody has done anything under the lock
        with suppress(StorageError):
            state.storage.delete(instant_path(state.config, done))
        root = state.storage.root
        raise CommitError(f"{root}: {instant} is not committed: {error}", path=root) from error
