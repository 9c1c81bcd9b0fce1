"""``hudiformat maintain``, once and again and again."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from hudiformat import LockError, Table
from hudiformat.cli import maintain as module
from hudiformat.services.service_result import MaintenanceReport, ServiceReport
from hudiformat.table.options.values import Operation
from hudiformat.write.commit.transaction import begin_write
from tests.check.verify.support import grown
from tests.cli.support import Command, start
from tests.effort import sample
from tests.tables import content

INTERVALS = {"90": 90, "30s": 30, "5m": 300, "1.5h": 5400, "2 D": 172800}


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return grown(tmp_path / "t", commits=5)


def test_for_people(command: Command, table: Table) -> None:
    result = command("maintain", table.path)
    assert (result.code, result.err) == (0, "")
    assert result.lines[0].startswith("Compact: 2 of 2 file groups carry log files")
    assert result.lines[1].split() == ["service", "seconds", "files", "bytes", "why"]
    states = {line.split()[0]: line.split()[1] for line in result.lines[2:]}
    assert states == {
        "rollback": "no", "metadata": "no", "compaction": "done", "log-compaction": "no",
        "clustering": "no", "ttl": "no", "clean": "no", "archive": "no",
    }  # fmt: skip
    assert "10 > 2" in result.lines[5]
    assert result.lines[5].endswith("5 are enough (hoodie.compact.inline.max.delta.commits): 2 files written")
    assert content(table) == [("a", 5, "x", 5), ("b", 5, "y", 5)]


def test_for_programs(command: Command, table: Table) -> None:
    headline = table.advise().headline
    first, *services = command("maintain", "--json", table.path).json
    assert first == {"headline": headline}
    found = {one["service"]: one for one in services}
    done = found["compaction"]
    assert (done["is_due"], done["error"], done["is_dry_run"]) == (True, None, False)
    assert done["instants"] == [table.timeline.completed_writes[-1].time]
    assert (done["before"]["files"], done["after"]["files"], done["after"]["stored_files"]) == (10, 2, 12)
    assert found["ttl"]["why"] == "hoodie.partition.ttl.strategy.days.retain is not set"


def test_a_dry_run_says_what_is_due(command: Command, table: Table) -> None:
    result = command("maintain", "--dry-run", "--only", "compaction, clustering", table.path)
    assert [line.split()[:2] for line in result.lines[2:]] == [["compaction", "due"], ["clustering", "due"]]
    assert len(table.timeline.instants) == 5


def test_a_service_that_fails_is_a_finding(command: Command, table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = ServiceReport("clean", is_due=True, why="it is time", error="the disk is gone")
    report = MaintenanceReport.of("/t", (bad,), is_dry_run=False)
    monkeypatch.setattr(module, "run_maintenance", lambda *_, **__: report)
    result = command("maintain", table.path)
    assert result.code == 1
    assert result.lines[2].split()[:2] == ["clean", "failed"]
    assert result.lines[2].endswith("it is time: the disk is gone")
    assert result.lines[3] == "1 of 1 services failed"


def test_a_single_writer_at_work_is_no_finding(command: Command, table: Table) -> None:
    with begin_write(table._context, Operation.UPSERT, in_tasks=False):
        result = command("maintain", table.path)
    assert (result.code, result.out) == (2, "")
    assert "maintenance beside a writer is refused" in result.err


@pytest.mark.parametrize(("text", "seconds"), INTERVALS.items())
def test_intervals(text: str, seconds: float) -> None:
    assert module.seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "0s", "5 weeks", "-1", "m"])
def test_what_is_no_interval(command: Command, text: str) -> None:
    result = command("maintain", "--every", text, "no table")
    assert (result.code, result.out) == (2, "")
    assert f"expected a time such as 30s, 5m or 1h, found {text!r}" in result.err


def test_an_unknown_service(command: Command) -> None:
    result = command("maintain", "--only", "vacuum", "no table")
    assert (result.code, result.out) == (2, "")
    assert "expected names of services" in result.err


def test_a_table_that_is_busy_is_looked_at_again(
    command: Command, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = []

    def busy_at_first(*_arguments: object, **_more: object) -> MaintenanceReport:
        runs.append(1)
        if len(runs) == 1:
            raise LockError("another process writes")
        os.kill(os.getpid(), signal.SIGTERM)
        return MaintenanceReport.of("/t", (), is_dry_run=False)

    monkeypatch.setattr(module, "run_maintenance", busy_at_first)
    before = signal.getsignal(signal.SIGTERM)
    result = command("maintain", "--every", "0.01s", table.path)
    assert (result.code, len(runs)) == (0, 2)
    assert "another process writes" in result.err
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_second_signal_interrupts(command: Command, table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(*_arguments: object, **_more: object) -> MaintenanceReport:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)
        raise AssertionError

    monkeypatch.setattr(module, "run_maintenance", hang)
    assert command("maintain", table.path).code == 130


@pytest.mark.parametrize("number", sample([signal.SIGTERM, signal.SIGINT], of=2))
def test_a_process_ends_cleanly(table: Table, number: signal.Signals) -> None:
    process = start("maintain", "--every", "1h", "--json", table.path)
    assert process.stdout is not None
    assert list(json.loads(process.stdout.readline())) == ["headline"]
    services = [json.loads(process.stdout.readline())["service"] for _ in range(8)]
    assert services[-1] == "archive"
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "", "")
    assert table.timeline.pending == ()
