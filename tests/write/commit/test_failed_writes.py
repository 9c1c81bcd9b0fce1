"""What is done with writes that did not complete: those that show signs of life, and those that do not."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from hudiformat import CommitError, LockError, open_table
from hudiformat.table.options.values import Operation
from hudiformat.timeline.rollbacks import InstantInfo, RollbackPlan
from hudiformat.timeline.timeline import Action
from hudiformat.write.commit.failed_writes import dead_writes, roll_back_failed_writes
from hudiformat.write.commit.heartbeats import Heartbeat
from hudiformat.write.commit.publishing import announce
from hudiformat.write.commit.transaction import begin_write
from tests.tables import content, new_table, rows
from tests.write.commit.support import begun, shared_table
from tests.write.commit.test_single_writer import HASTY, PATIENT


def test_a_living_write_is_left_alone_and_a_dead_one_is_rolled_back(tmp_path: Path) -> None:
    table = shared_table(tmp_path)
    alive, stats = begun(table, ("a", 2, "x", 2))
    dead, _ = begun(table, ("b", 2, "y", 2))
    heartbeat = tmp_path / ".hoodie" / ".heartbeat" / dead.plan.instant
    os.utime(heartbeat, (time.time() - 1000,) * 2)
    table.insert(rows(("c", 1, "z", 1)))
    assert [pending.time for pending in table.timeline.pending] == [alive.plan.instant]
    assert not list((tmp_path / "y").glob("*")) or not (tmp_path / "y").exists()
    assert [done.action for done in table.timeline.completed].count(Action.ROLLBACK) == 1
    alive.commit(stats)
    assert content(table, columns=["k"]) == [("a",), ("c",)]
    with pytest.raises(CommitError, match="it has been rolled back"):
        dead.commit([])
    dead.abandon()


def test_failed_writes_stay_when_nobody_shall_clean(tmp_path: Path) -> None:
    table = new_table(tmp_path, options={"hoodie.clean.failed.writes.policy": "NEVER"})
    left, _ = begun(table, ("a", 2, "x", 2))
    table.insert(rows(("c", 1, "z", 1)))
    assert [pending.time for pending in table.timeline.pending] == [left.plan.instant]


def test_a_dead_write_is_named_and_the_state_after_its_rollback_has_it_no_more(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    assert roll_back_failed_writes(state := table._context.state()) is state
    with begin_write(table._context, Operation.UPSERT) as write:
        time_of = write.instant.time
        assert [one.time for one in dead_writes(table._context.state())] == [time_of]  # of the thread that asks
        after = roll_back_failed_writes(table._context.state())
    assert not after.timeline.pending
    assert dead_writes(after) == []


def test_a_heartbeat_of_another_process_is_respected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = new_table(tmp_path / "t")
    write = begin_write(table._context, Operation.UPSERT)
    other = Heartbeat(table._context.storage, write.instant.time, interval=60)
    other.start()
    hasty = open_table(table.path, options=HASTY, clock=table._context.clock)
    with pytest.raises(LockError, match="another process writes to the table: .* has a heartbeat"):
        hasty.upsert(rows(("a", 1, "x")))
    assert [one.time for one in hasty.timeline.pending] == [write.instant.time]
    monkeypatch.setattr(time, "sleep", lambda _seconds: other.stop())
    open_table(table.path, options=PATIENT, clock=table._context.clock).upsert(rows(("b", 1, "x")))
    assert content(table, ["k"]) == [("b",)]


def test_a_rollback_that_another_process_runs_now_is_left_to_it(tmp_path: Path) -> None:
    """Hudi 1.2.0 plans a rollback under the lock and runs it without the lock, beside a heartbeat."""
    table = shared_table(tmp_path)
    table.upsert(rows(("a", 1, "x", 1)))
    dead, _ = begun(table, ("b", 1, "x", 2))
    beats = tmp_path / ".hoodie" / ".heartbeat"
    os.utime(beats / dead.plan.instant, (time.time() - 1000,) * 2)
    state = table._context.state()
    plan = RollbackPlan(InstantInfo(dead.plan.instant, dead.instant.action.value), ())
    announced = announce(state, Action.ROLLBACK, plan)
    (beats / announced.time).write_bytes(b"")
    table.upsert(rows(("c", 1, "x", 3)))
    state = table._context.state()
    assert {one.time for one in state.timeline.pending} == {dead.plan.instant, announced.time}
    assert dead_writes(state) == []
    os.utime(beats / announced.time, (time.time() - 1000,) * 2)  # its process has died
    table.upsert(rows(("d", 1, "x", 4)))
    assert not table._context.state().timeline.pending
    assert content(table, columns=["k"]) == [("a",), ("c",), ("d",)]
    dead.abandon()
