"""Finish indexes whose building was interrupted if the properties name them already, else delete them.

An index is built under the table's lock, so whoever has the lock and finds a pending indexing knows that its builder
died.  Hudi's own indexer works without the lock, so what it has begun is left to it.
"""

from __future__ import annotations

from dataclasses import replace

from hudiformat.metadata_table.kinds.files import FILES
from hudiformat.naming.instants import next_instant
from hudiformat.table.state import TableState
from hudiformat.timeline.config_files import METADATA_FOLDER
from hudiformat.timeline.contents import complete_instant, remove_pending, transition_inflight
from hudiformat.timeline.plans import IndexCommitMetadata, IndexPlan
from hudiformat.timeline.timeline import Action, Instant, State
from hudiformat.write.metadata.definitions import forget_definitions
from hudiformat.write.metadata.metadata_table import MetadataTable

BUILDER = {"builder": "hudiformat"}
"""Extra metadata in the plan of an indexing, which distinguishes hudiformat's plans from Hudi's."""
FOLLOWING_KEY = "following"
"""The key of extra metadata with the indexes that are built next, a JSON object of their columns by their names."""


def finish_indexings(state: TableState) -> TableState:
    """Finish or undo the indexings that a process of hudiformat has left, and return the state of the table after that.

    It must be called under the table's lock.

    Raises:
        CorruptTableError: the plan of an indexing is damaged.
        StorageError: a file cannot be created or deleted.
    """
    changed = False
    for pending in state.timeline.pending:
        names = _partitions_of(state, pending) if pending.action is Action.INDEXING else None
        if names is None:
            continue
        changed = True
        if names <= set(state.config.metadata_partitions):
            _finish(state, pending)
        else:
            _undo(state, pending, names)
    return state.context.state() if changed else state


def _undo(state: TableState, pending: Instant, names: set[str]) -> None:
    """Delete what an indexing has created of the partitions *names*, and then its instant."""
    state.context.confirm()
    names = names - set(state.config.metadata_partitions)
    forget_definitions(state, names)
    if FILES in names:
        state.storage.delete_folder(METADATA_FOLDER)
    else:
        for name in sorted(names):
            state.storage.delete_folder(f"{METADATA_FOLDER}/{name}")
        if FILES in state.config.metadata_partitions:
            MetadataTable.of(state).remove_commit(pending.time)
    remove_pending(state.storage, state.config, pending)


def _partitions_of(state: TableState, pending: Instant) -> set[str] | None:
    """Return the partitions that a pending indexing of hudiformat's builds; None for any other, or without a plan."""
    plan = state.content(replace(pending, state=State.REQUESTED))
    if not isinstance(plan, IndexPlan):
        return None
    infos = plan.index_partition_infos or ()
    if not any((info.extra_metadata or {}).items() >= BUILDER.items() for info in infos):
        return None
    return {info.metadata_partition_path or "" for info in infos}


def _finish(state: TableState, pending: Instant) -> None:
    storage, config = state.storage, state.config
    plan = state.content(replace(pending, state=State.REQUESTED))
    infos = plan.index_partition_infos if isinstance(plan, IndexPlan) else ()
    if pending.state is State.REQUESTED:
        pending = transition_inflight(storage, config, pending)
    state.context.confirm()
    latest = max(filter(None, (state.timeline.latest_instant_time, pending.time)))
    now = next_instant(state.context.clock(), latest)
    complete_instant(storage, config, pending, IndexCommitMetadata(index_partition_infos=infos), completion_time=now)
