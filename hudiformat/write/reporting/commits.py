"""Tell of commits and services when they are there: a line of the log, metrics, a call by HTTP.

A commit is there whatever becomes of this: an error is logged, and nothing else.
"""

from __future__ import annotations

import logging
import time
from datetime import timezone

from hudiformat.naming.instants import parse_instant
from hudiformat.table.state import TableContext, TableState
from hudiformat.timeline.cleans import CleanMetadata
from hudiformat.timeline.commit_metadata import CommitMetadata
from hudiformat.timeline.contents import Metadata
from hudiformat.timeline.rollbacks import RollbackMetadata
from hudiformat.timeline.table_config import TimelineZone
from hudiformat.timeline.timeline import Action, Instant
from hudiformat.write.reporting.callbacks import call_back
from hudiformat.write.reporting.metrics import TableMetrics, commit_values, metrics_of

LOG = logging.getLogger("hudiformat")
_SERVICES = {"COMPACT": Action.COMPACTION, "LOG_COMPACT": Action.LOG_COMPACTION, "CLUSTER": Action.CLUSTERING}


def report_commit(state: TableState, done: Instant, metadata: CommitMetadata, *, began: float, written: float) -> None:
    """Log a commit and report its metrics; call back if it is a write and no service.

    *state* is the table with the commit.  *began* and *written* are when the write began and its files were there, in
    seconds of ``time.time()``.
    """
    if LOG.isEnabledFor(logging.INFO):
        _log_commit(state.storage.root, done, metadata, began=began, written=written)
    options = state.context.options
    if not (options.metrics.is_on or options.callback.is_on):
        return
    root, service = state.storage.root, _SERVICES.get(metadata.operation_type or "")
    if (metrics := _metrics(state.context)) is not None:
        values = commit_values(
            metadata,
            committed_ms=_milliseconds(state, done),
            duration_ms=int((time.time() - began) * 1000),
            log_blocks=options.metrics.log_blocks,
        )
        metrics.record((service or done.action).value, values)
        metrics.record_timeline(state.timeline)
        send_metrics(state.context)
    if options.callback.is_on and service is None:
        try:
            call_back(options.callback, root, state.config.name, done.time, metadata)
        except Exception as error:  # noqa: BLE001 - any error would make callers repeat the write
            LOG.warning("%s: %s is committed, but the callback has failed: %s", root, done, error)


def record_service(context: TableContext, metadata: Metadata) -> None:
    """Keep the metrics of a clean or a rollback until metrics are sent, which needs no lock."""
    if (metrics := _metrics(context)) is None:
        return
    for kind, action in ((CleanMetadata, Action.CLEAN), (RollbackMetadata, Action.ROLLBACK)):
        if isinstance(metadata, kind):
            deleted = metadata.total_files_deleted
            metrics.record(action.value, {"duration": metadata.time_taken_in_millis, "numFilesDeleted": deleted})


def report_archiving(context: TableContext, archived: int, *, seconds: float) -> None:
    """Report the metrics of archiving a number of instants."""
    if (metrics := _metrics(context)) is not None:
        metrics.record("archive", {"duration": int(seconds * 1000), "numInstantsArchived": archived})
        send_metrics(context)


def send_metrics(context: TableContext) -> None:
    """Report the metrics of a table, if they are on; an error is logged."""
    if (metrics := _metrics(context)) is None:
        return
    try:
        metrics.report()
    except Exception as error:  # noqa: BLE001 - any error would make callers repeat the write
        LOG.warning("%s: the metrics could not be reported: %s", context.storage.root, error)


def _metrics(context: TableContext) -> TableMetrics | None:
    options = context.options.metrics
    return metrics_of(context.storage.root, context.config.name, options) if options.is_on else None


def _milliseconds(state: TableState, done: Instant) -> int:
    moment = parse_instant(done.time)
    if state.config.timeline_zone is TimelineZone.UTC:
        moment = moment.replace(tzinfo=timezone.utc)
    return int(moment.timestamp() * 1000)


def _log_commit(root: str, instant: Instant, metadata: CommitMetadata, *, began: float, written: float) -> None:
    """Log what was done, rows, files, bytes, and how long writing and committing took."""
    found = metadata.write_stats
    LOG.info(
        "%s %s %s: %d rows (%d new, %d updated, %d deleted), %d files, %d bytes; write %.2f s, commit %.2f s",
        root,
        instant.time,
        (metadata.operation_type or instant.action.value).lower(),
        sum(one.num_writes for one in found),
        sum(one.num_inserts for one in found),
        sum(one.num_update_writes for one in found),
        sum(one.num_deletes for one in found),
        len(found),
        sum(one.total_write_bytes for one in found),
        written - began,
        time.time() - written,
    )
