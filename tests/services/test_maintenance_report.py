"""The values of a report."""

from __future__ import annotations

import pickle

from hudiformat import MaintenanceReport, ServiceReport, TableSize


def test_a_report_says_what_failed_and_can_be_sent() -> None:
    size = TableSize(files=1, bytes=2, stored_files=3, stored_bytes=4)
    fine = ServiceReport("clean", is_due=True, why="w", done="d", before=size, after=size)
    bad = ServiceReport("archive", is_due=True, why="w", error="e")
    report = MaintenanceReport.of("/t", (fine, bad), is_dry_run=False)
    assert report.failed == (bad,)
    assert pickle.loads(pickle.dumps(report)) == report
