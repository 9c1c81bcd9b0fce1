"""The metrics of commits and services, by Hudi's names, and who reports them.

A process has the newest values of each table, as Hudi's registry of a base path; they are reported after each commit.
Source: HoodieMetrics, Metrics, PushGatewayReporter, DropwizardExports, Hudi 1.2.0.
"""

from __future__ import annotations

import atexit
import base64
import logging
import os
import random
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from urllib.parse import quote_plus

from hudiformat.table.options.reporting import GatewayOptions, MetricsOptions, Reporter
from hudiformat.timeline.commit_metadata import CommitMetadata, RuntimeStats
from hudiformat.timeline.timeline import Action, Timeline
from hudiformat.write.reporting.requests import RequestFailedError, send_request

_LOG = logging.getLogger("hudiformat.metrics")
_TIMEOUT = 10  # seconds, as the client of Prometheus that Hudi has
_HTTPS = 443
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9:_]|^[0-9]")
_FORMAT = "text/plain; version=0.0.4; charset=utf-8"


class MetricsReporter(Protocol):
    """Takes the metrics of a table somewhere."""

    def report(self, gauges: Mapping[str, int]) -> None:
        """Report all values by their names, as ``trips.commit.totalFilesInsert``."""
        ...


class LogReporter:
    """Writes each metric as a line to the logger ``hudiformat.metrics``."""

    def report(self, gauges: Mapping[str, int]) -> None:
        """Log all values."""
        for name, value in sorted(gauges.items()):
            _LOG.info("type=GAUGE, name=%s, value=%d", name, value)


@dataclass(frozen=True)
class TextFileReporter:
    """Replaces a text file, which the textfile collector of Prometheus' node exporter reads."""

    path: str

    def report(self, gauges: Mapping[str, int]) -> None:
        """Write all values.

        Raises:
            OSError: the file cannot be written; it is as it was.
        """
        part = Path(f"{self.path}.{os.getpid()}.part")  # the collector reads files that end in .prom
        try:
            part.write_bytes(prometheus_text(gauges))
            part.replace(self.path)
        finally:
            with suppress(OSError):
                part.unlink()


class PushGatewayReporter:
    """Pushes to a push gateway of Prometheus; what this process has pushed may be deleted when it ends."""

    def __init__(self, options: GatewayOptions) -> None:
        suffix = str(random.randint(-(1 << 63), (1 << 63) - 1)) if options.has_suffix else ""  # noqa: S311 - a name
        scheme = "https" if options.port == _HTTPS else "http"
        labels = "".join(map(_label, (("job", f"{options.job}{suffix}"), *options.labels)))
        self.url = f"{scheme}://{options.host}:{options.port}/metrics{labels}"
        if options.is_cleared:
            atexit.register(self.clear)

    def report(self, gauges: Mapping[str, int]) -> None:
        """Push all values; others of the same job stay.

        Raises:
            RequestFailedError: the gateway did not accept them.
        """
        send_request("POST", self.url, prometheus_text(gauges), {"Content-Type": _FORMAT}, timeout=_TIMEOUT)

    def clear(self) -> None:
        """Delete what was pushed; an error is logged."""
        try:
            send_request("DELETE", self.url, b"", {}, timeout=_TIMEOUT)
        except RequestFailedError as error:
            _LOG.warning("the metrics at %s could not be deleted: %s", self.url, error)


def _label(label: tuple[str, str]) -> str:
    """Return a label as a part of the gateway's path; a value with a slash, or without text, is in base 64."""
    name, value = label
    if not value or "/" in value:
        return f"/{name}@base64/{base64.urlsafe_b64encode(value.encode()).decode().rstrip('=') or '='}"
    return f"/{name}/{quote_plus(value)}"


def prometheus_text(gauges: Mapping[str, int]) -> bytes:
    """Return the values in the text format of Prometheus; characters that its names cannot have are ``_``."""
    lines = []
    for name, value in sorted(gauges.items()):
        known = _NOT_IN_NAMES.sub("_", name)
        lines.append(f"# HELP {known} {name}\n# TYPE {known} gauge\n{known} {value}\n")
    return "".join(lines).encode()


@dataclass
class TableMetrics:
    """The newest values of one table in this process, and who reports them."""

    prefix: str
    reporters: tuple[MetricsReporter, ...]
    gauges: dict[str, int] = field(default_factory=dict)

    def record(self, action: str, values: Mapping[str, int]) -> None:
        """Keep *values* as the newest ones of an action."""
        first = f"{self.prefix}." if self.prefix else ""
        self.gauges.update({f"{first}{action}.{name}": value for name, value in values.items()})

    def record_timeline(self, timeline: Timeline) -> None:
        """Keep which services are pending, and which were completed last."""
        for action, name, value in _timeline_values(timeline):
            self.record(action, {name: value})

    def report(self) -> None:
        """Report all values.

        Raises:
            RequestFailedError, OSError: one of the reporters has failed.
        """
        for reporter in self.reporters:
            reporter.report(dict(self.gauges))


_TABLES: dict[tuple[str, MetricsOptions], TableMetrics] = {}
_LOCK = threading.Lock()


def metrics_of(root: str, table_name: str, options: MetricsOptions) -> TableMetrics:
    """Return the metrics of the table at *root*, which live as long as the process."""
    with _LOCK:
        found = _TABLES.get((root, options))
        if found is None:
            prefix = table_name if options.prefix is None else options.prefix
            found = _TABLES[root, options] = TableMetrics(prefix, tuple(_reporters(options)))
        return found


def _reporters(options: MetricsOptions) -> Iterator[MetricsReporter]:
    if options.reporter is not None:
        yield _REPORTERS[options.reporter](options)
    if options.text_file:
        yield TextFileReporter(options.text_file)


_REPORTERS: Mapping[Reporter, Callable[[MetricsOptions], MetricsReporter]] = {
    Reporter.PUSH_GATEWAY: lambda options: PushGatewayReporter(options.gateway),
    Reporter.LOG: lambda _options: LogReporter(),
}


def commit_values(
    metadata: CommitMetadata, *, committed_ms: int, duration_ms: int, log_blocks: bool = False
) -> dict[str, int]:
    """Return the values of a commit by Hudi's names; *committed_ms* is its instant in milliseconds since 1970.

    Source: HoodieMetrics.updateCommitMetrics, HoodieCommitMetadata, Hudi 1.2.0.
    """
    stats = metadata.write_stats
    times = [stat.runtime_stats or RuntimeStats() for stat in stats]
    values = {
        "commitTime": committed_ms,
        "duration": duration_ms,
        "totalPartitionsWritten": len(metadata.partition_to_write_stats),
        "totalFilesInsert": sum(stat.prev_commit == "null" for stat in stats),
        "totalFilesUpdate": sum(stat.prev_commit not in (None, "null") for stat in stats),
        "totalRecordsWritten": sum(stat.num_writes for stat in stats),
        "totalUpdateRecordsWritten": sum(stat.num_update_writes for stat in stats),
        "totalInsertRecordsWritten": sum(stat.num_inserts for stat in stats if stat.prev_commit is not None),
        "totalRecordsDeleted": sum(stat.num_deletes for stat in stats),
        "totalBytesWritten": sum(stat.total_write_bytes for stat in stats),
        "totalScanTime": sum(one.total_scan_time for one in times),
        "totalCreateTime": sum(one.total_create_time for one in times),
        "totalUpsertTime": sum(one.total_upsert_time for one in times),
        "totalCompactedRecordsUpdated": sum(stat.total_updated_records_compacted for stat in stats),
        "totalLogFilesCompacted": sum(stat.total_log_files_compacted for stat in stats),
        "totalLogRecordsCompacted": sum(stat.total_log_records for stat in stats),
        "totalLogFilesSize": sum(stat.total_log_size_compacted for stat in stats),
    }
    if earliest := [stat.min_event_time for stat in stats if stat.min_event_time is not None]:
        values["commitLatencyInMs"] = committed_ms + duration_ms - min(earliest)
    if latest := [stat.max_event_time for stat in stats if stat.max_event_time is not None]:
        values["commitFreshnessInMs"] = committed_ms + duration_ms - max(latest)
    if log_blocks:
        values["totalCorruptedLogBlocks"] = sum(stat.total_corrupt_log_block for stat in stats)
        values["totalRollbackLogBlocks"] = sum(stat.total_rollback_blocks for stat in stats)
        values["totalLogBlocksCompacted"] = sum(stat.total_log_blocks for stat in stats)
    return values


_SERVICES = (
    ("Clustering", Action.CLUSTERING),
    ("Compaction", Action.COMPACTION),
    ("Clean", Action.CLEAN),
    ("Rollback", Action.ROLLBACK),
)


def _timeline_values(timeline: Timeline) -> Iterator[tuple[str, str, int]]:
    """Yield action, name and value.  Source: HoodieMetrics.updateTableServiceInstantMetrics, Hudi 1.2.0."""
    for name, action in _SERVICES:
        pending = [one for one in timeline.pending if one.action is action]
        if pending:
            yield action.value, f"earliestInflight{name}Instant", int(pending[0].time)
        yield action.value, f"pending{name}InstantCount", len(pending)
        done = [one for one in timeline.completed if one.action is action.completed_as]
        if done:
            yield action.completed_as.value, f"latestCompleted{name}Instant", int(done[-1].time)
