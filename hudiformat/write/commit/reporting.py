"""Log writes and services to the logger ``hudiformat``: one line for each commit."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable

from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.timeline.timeline import Instant

LOG = logging.getLogger("hudiformat")


def log_commit(
    root: str, instant: Instant, operation: str, stats: Iterable[WriteStat], *, began: float, written: float
) -> None:
    """Log a commit: what was done, rows, files, bytes, and how long writing and committing took.

    *began* and *written* are seconds of ``time.time()``.
    """
    found = list(stats)
    LOG.info(
        "%s %s %s: %d rows (%d new, %d updated, %d deleted), %d files, %d bytes; write %.2f s, commit %.2f s",
        root,
        instant.time,
        operation.lower(),
        sum(one.num_writes for one in found),
        sum(one.num_inserts for one in found),
        sum(one.num_update_writes for one in found),
        sum(one.num_deletes for one in found),
        len(found),
        sum(one.total_write_bytes for one in found),
        written - began,
        time.time() - written,
    )
