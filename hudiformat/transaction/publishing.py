"""The lock around a state change of the table, and publishing: the metadata table first, then the timeline."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from hudiformat.naming import next_instant
from hudiformat.storage import Storage
from hudiformat.table.state import Clock, TableContext
from hudiformat.timeline import Instant, Metadata, TableConfig, complete, load_timeline
from hudiformat.transaction.locks import held, lock_of
from hudiformat.transaction.metadata_table import MetadataTable


def publish(storage: Storage, config: TableConfig, clock: Clock, instant: Instant, metadata: Metadata) -> Instant:
    """Complete an inflight instant, with what it did in *metadata*.

    What the metadata table says of it counts once the timeline says it too; in the other order a reader would miss
    files for a moment.  To be called under the table's lock.

    Raises:
        CommitError: the instant is not inflight any more.
        StorageError: a file cannot be created.

    Source: BaseHoodieWriteClient.commitStats, Hudi 1.2.0.
    """
    told = None
    metadata_table = MetadataTable.of(storage, clock)
    if metadata_table is not None:
        told = metadata_table.tell(instant, metadata)
    latest = load_timeline(storage, config).latest_instant_time
    now = next_instant(clock(), max(filter(None, (latest, told)), default=None))
    return complete(storage, config, instant, metadata, completion_time=now)


def exclusive(context: TableContext) -> AbstractContextManager[None]:
    """The table's lock, for as long as a block lasts; nothing for a table that has one writer.

    Entering it raises a LockError where another writer has the lock for too long.
    """
    options = context.options.concurrency
    if not options.has_other_writers:
        return nullcontext()
    return held(lock_of(context.storage, options), patience=options.lock_patience)
