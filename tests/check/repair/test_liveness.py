"""Whether a writer may be alive."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from hudiformat import Table
from hudiformat.check.repair.liveness import WriterTimeout
from hudiformat.table.options.values import Operation
from hudiformat.write.commit.heartbeats import Heartbeat
from hudiformat.write.commit.transaction import Transaction, begin_write
from tests.check.repair.breaking import age
from tests.tables import new_table, rows

LOCKED = {
    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.clean.failed.writes.policy": "LAZY",
}


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = new_table(tmp_path / "t")
    table.upsert(rows(("a", 1, "x", 1)))
    return table


def reason(table: Table, seconds: float = 600) -> str | None:
    return WriterTimeout(table._context.storage, seconds).of_writers(table._context.state())


def pending(table: Table, name: str) -> None:
    Path(table.path, ".hoodie/timeline", f"99990101000000000.{name}").touch()


def test_nobody_writes(table: Table) -> None:
    assert reason(table) is None


def test_an_instant_is_alive_by_its_files(table: Table) -> None:
    pending(table, "deltacommit.requested")
    assert "counts as dead after 600" in (reason(table) or "")
    assert reason(table, 0) is None
    age(Path(table.path))
    assert reason(table) is None


def test_a_heartbeat_says_that_a_writer_is_alive(table: Table) -> None:
    pending(table, "deltacommit.requested")
    age(Path(table.path))
    with Heartbeat(table._context.storage, "99990101000000000", interval=60) as heartbeat:
        heartbeat.start()
        assert "the heartbeat of 99990101000000000" in (reason(table, 0) or "")
    assert reason(table, 0) is None


def test_a_process_that_has_ended_is_dead_at_once(table: Table) -> None:
    pending(table, "deltacommit.requested")
    heartbeat = Heartbeat(table._context.storage, "99990101000000000", interval=60)
    heartbeat.start()
    heartbeat.hand_over()
    assert reason(table) is None


def test_beside_other_writers_a_process_elsewhere_may_have_the_same_number(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options=LOCKED)
    pending(table, "deltacommit.requested")
    heartbeat = Heartbeat(table._context.storage, "99990101000000000", interval=60)
    heartbeat.start()
    heartbeat.hand_over()
    assert "the heartbeat of 99990101000000000" in (reason(table, 0) or "")


def test_a_write_of_another_thread_is_alive(table: Table) -> None:
    begun: list[Transaction] = []
    thread = threading.Thread(target=lambda: begun.append(begin_write(table._context, Operation.UPSERT)))
    thread.start()
    thread.join()
    age(Path(table.path))
    assert "is being written by another thread" in (reason(table, 0) or "")
    begun[0].abandon()
    assert reason(table, 0) is None


def test_clusterings_are_no_writes_even_if_their_plans_are_damaged(table: Table) -> None:
    pending(table, "replacecommit.requested")
    Path(table.path, ".hoodie/timeline/99990101000000000.replacecommit.requested").write_bytes(b"no plan")
    pending(table, "deltacommit.requested")
    age(Path(table.path))
    assert reason(table) is None


def test_a_file_is_recent_or_old_or_gone(tmp_path: Path, table: Table) -> None:
    patience = WriterTimeout(table._context.storage, 600)
    assert "x/new was written 0 seconds ago" in (patience.of_file(touched(tmp_path, "x/new")) or "")
    os.utime(tmp_path / "t/x/new", (0, 0))
    assert patience.of_file("x/new") is None
    assert patience.of_file("x/none") is None


def touched(tmp_path: Path, path: str) -> str:
    (tmp_path / "t" / path).touch()
    return path
