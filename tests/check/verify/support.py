"""A table with something to do for every service."""

from __future__ import annotations

from pathlib import Path

from hudiformat import Table, open_table
from hudiformat.services.service_result import MaintenanceReport, ServiceReport
from tests.tables import Clock, new_table, rows

OPTIONS = {"hoodie.index.type": "INMEMORY", "hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
KEEP_FEW = {
    "hoodie.clean.automatic": "true",
    "hoodie.archive.automatic": "true",
    "hoodie.clean.commits.retained": "1",
    "hoodie.keep.max.commits": "3",
    "hoodie.keep.min.commits": "2",
}
OPTIMISTIC = {
    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.write.lock.client.wait_time_ms_between_retry": "50",
    "hoodie.write.lock.client.num_retries": "200",
    "hoodie.client.heartbeat.interval_in_ms": "500",
}


def grown(path: Path, *, commits: int = 6, clock: Clock | None = None, **options: str) -> Table:
    """A merge-on-read table with *commits* upserts of the same rows, which nobody has looked after."""
    table = new_table(path, clock=clock or Clock(), options={**OPTIONS, **options})
    for step in range(1, commits + 1):
        table.upsert(rows(("a", step, "x", step), ("b", step, "y", step)))
    return table


def opened(table: Table, **options: str) -> Table:
    return open_table(table.path, options={**OPTIONS, **options}, clock=table._context.clock)


def of(report: MaintenanceReport, service: str) -> ServiceReport:
    (found,) = [one for one in report.services if one.service == service]
    return found
