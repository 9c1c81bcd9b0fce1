"""Record which batches of a stream a table has: the commit of a batch names the writer and the batch's number.

The key and the format are those of Hudi's streaming sink, so that Hudi can continue a stream between two batches.
Source: HoodieStreamingSink.SINK_CHECKPOINT_KEY, CommitUtils.getValidCheckpointForCurrentWriter, Hudi 1.2.0.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from hudiformat.errors import CorruptTableError
from hudiformat.table.state import TableState
from hudiformat.timeline.archive.archiving import read_archived
from hudiformat.timeline.commit_metadata import CommitMetadata

_KEY = "_hudi_streaming_sink_checkpoint"


def checkpoint(writer: str, batch: int) -> dict[str, str]:
    """Return the extra metadata for the commit of a batch."""
    return {_KEY: json.dumps({writer: str(batch)})}


def newest_batch(state: TableState, writer: str) -> int | None:
    """Return the number of the newest batch of *writer* among all commits, archived ones too; None if there is none.

    Raises:
        CorruptTableError: a commit's checkpoint is damaged.
    """
    found = (_batch_of(state, metadata, writer) for metadata in _newest_first(state))
    return next((batch for batch in found if batch is not None), None)


def _newest_first(state: TableState) -> Iterator[CommitMetadata]:
    for instant in reversed(state.timeline.completed_writes):
        yield state.metadata(instant)
    for one in reversed(read_archived(state.storage, state.config)):
        if isinstance(one.metadata, CommitMetadata):
            yield one.metadata


def _batch_of(state: TableState, metadata: CommitMetadata, writer: str) -> int | None:
    text = metadata.extra_metadata.get(_KEY)
    if not text:
        return None
    try:
        batch = dict(json.loads(text)).get(writer)
        return None if batch is None else int(batch)
    except (ValueError, TypeError) as error:
        root = state.storage.root
        raise CorruptTableError(f"{root}: {_KEY}: expected writers and batches, found {text!r}", path=root) from error
