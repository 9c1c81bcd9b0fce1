"""The history of a table: one row for each completed write."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from hudiformat.naming.instants import FULL_BOOTSTRAP, METADATA_BOOTSTRAP, parse_instant
from hudiformat.table.state import TableState
from hudiformat.timeline.commit_metadata import CommitMetadata
from hudiformat.timeline.timeline import Instant

HISTORY_SCHEMA = pa.schema(
    [
        ("instant", pa.string()),
        ("completed", pa.string()),
        ("action", pa.string()),
        ("operation", pa.string()),
        ("inserted", pa.int64()),
        ("updated", pa.int64()),
        ("deleted", pa.int64()),
        ("files", pa.int64()),
        ("bytes", pa.int64()),
        ("seconds", pa.float64()),
    ]
)


def history(state: TableState) -> pa.Table:
    """Return one row for each completed write of the active timeline, newest first."""
    return pa.Table.from_pylist(list(_rows(state)), HISTORY_SCHEMA)


def _rows(state: TableState) -> Iterator[dict[str, Any]]:
    for done in reversed(state.timeline.completed_writes):
        metadata = state.metadata(done)
        yield {
            "instant": done.time,
            "completed": done.completion_time,
            "action": done.action.value,
            "operation": (metadata.operation_type or "unknown").lower(),
            **_counts(metadata),
            "seconds": _seconds(done),
        }


def _counts(metadata: CommitMetadata) -> dict[str, int]:
    stats = metadata.write_stats
    return {
        "inserted": sum(stat.num_inserts for stat in stats),
        "updated": sum(stat.num_update_writes for stat in stats),
        "deleted": sum(stat.num_deletes for stat in stats),
        "files": len(stats),
        "bytes": sum(stat.total_write_bytes for stat in stats),
    }


def _seconds(done: Instant) -> float | None:
    """Return the seconds from the request to the completion of a write; None if one of both times is unknown."""
    if done.completion_time is None or done.time in (METADATA_BOOTSTRAP, FULL_BOOTSTRAP):
        return None
    return (parse_instant(done.completion_time) - parse_instant(done.time)).total_seconds()
