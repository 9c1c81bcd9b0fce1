"""Carry the checkpoint of Hudi Streamer from commit to commit, so that Streamer goes on where it was.

Streamer looks for its checkpoint in the extra metadata of the newest commit that has one, by the time of the instant,
and only in the active timeline.  Commits of others that do not repeat it would push it out, by archiving.
Source: StreamerCheckpointUtils, CheckpointUtils, Hudi 1.2.0.
"""

from __future__ import annotations

from collections.abc import Mapping

from hudiformat.table.state import TableState
from hudiformat.timeline.commit_metadata import CommitMetadata
from hudiformat.timeline.timeline import Instant

_CHECKPOINTS = (
    "streamer.checkpoint.key.v2",
    "streamer.checkpoint.reset.key.v2",
    "deltastreamer.checkpoint.key",
    "deltastreamer.checkpoint.reset_key",
)
"""Keys of extra metadata of which Streamer takes a commit to have a checkpoint, of versions 2 and 1."""
_KEYS = (*_CHECKPOINTS, "deltastreamer.checkpoint.ignore_key")
_SERVICES = ("COMPACT", "LOG_COMPACT", "CLUSTER")


def streamer_checkpoint(state: TableState, own: Instant, extra: Mapping[str, str]) -> dict[str, str]:
    """Return the keys of Hudi Streamer that the commit of *own* repeats: those of the newest write before it.

    There are none if *extra*, the other extra metadata of the commit, has a checkpoint of its own.

    A write that began before *own* and is still pending may be Streamer's.  Then nothing is repeated, because Streamer
    would find the older checkpoint of *own* before that of its own commit, and would read rows twice.

    Raises:
        CorruptTableError, StorageError: the content of that write cannot be read.
    """
    if not extra.keys().isdisjoint(_KEYS):
        return {}
    before = (one for one in state.timeline.pending if one.time < own.time and one.action.is_write)
    if not all(map(state.is_clustering, before)):
        return {}
    newest = _newest_write(state, own)
    known = {} if newest is None else newest.extra_metadata
    if not any(known.get(key) for key in _CHECKPOINTS):
        return {}
    return {key: known[key] for key in _KEYS if key in known}


def _newest_write(state: TableState, own: Instant) -> CommitMetadata | None:
    """Return the content of the newest write before *own*; services do not count, as they have no checkpoint."""
    for done in reversed(state.timeline.completed_writes):
        if done.time >= own.time:
            continue
        metadata = state.metadata(done)
        if metadata.operation_type not in _SERVICES:
            return metadata
    return None
