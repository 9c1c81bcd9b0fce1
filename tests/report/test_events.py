"""What became of the instants of a timeline."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hudiformat import Table, open_table
from hudiformat.report.events import COMPLETED, FAILED, PENDING, ROLLED_BACK, events_of, seconds_between
from hudiformat.timeline.timeline import Action, Instant, State, instant_path
from tests.report.support import facts_of
from tests.tables import GoldenTable, new_table, rows


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = new_table(tmp_path / "t", options={"hoodie.index.type": "INMEMORY"})
    for step in range(3):
        table.upsert(rows(("a", step, "x", step)))
    return table


def test_completed_instants_have_operation_and_duration(table: Table) -> None:
    first = facts_of(table).events[0]
    assert (first.status, first.action, first.operation, first.seconds) == (COMPLETED, "deltacommit", "upsert", 0.01)
    assert facts_of(table).last_commit == facts_of(table).events[-1]


def test_what_was_rolled_back_is_there_with_its_rollback(table: Table) -> None:
    write = table.timeline.completed_writes[-1]
    rollback = table.rollback(write)
    found = {event.time: event for event in facts_of(table).events}
    assert found[write.time].status == ROLLED_BACK
    assert found[write.time].action == "deltacommit"
    assert found[write.time].note == f"by the rollback {rollback.time}"
    assert found[rollback.time].status == COMPLETED


def test_what_a_restore_took_away_is_there_too(table: Table) -> None:
    first, second, third = table.timeline.completed_writes
    table.savepoint(first)
    restore = table.restore(first)
    found = {event.time: event for event in facts_of(table).events if event.status == ROLLED_BACK}
    assert sorted(found) == [second.time, third.time]
    assert {event.note for event in found.values()} == {f"by the restore {restore.time}"}


@pytest.mark.parametrize("content", [b"no Avro", b""], ids=["damaged", "empty"])
def test_a_rollback_that_does_not_say_what_it_did_takes_nothing_away(table: Table, content: bytes) -> None:
    (rollback,) = table.rollback(table.timeline.completed_writes[-1])
    Path(table.path, instant_path(table.config, rollback)).write_bytes(content)
    assert [event.status for event in facts_of(table).events] == [COMPLETED] * 3


def test_plans_are_pending_and_dead_writes_failed(hostile: Table) -> None:
    found = facts_of(hostile).events
    assert [(event.action, event.note) for event in found if event.status == PENDING] == [("compaction", "requested")]
    assert [(event.action, event.note) for event in found if event.status == FAILED] == [
        ("deltacommit", "inflight; no sign of life")
    ]


def test_an_instant_that_is_used_again_is_not_rolled_back(golden: Callable[[str], GoldenTable]) -> None:
    state = open_table(golden("v6-mor-failed-write-h0150").table)._context.state()
    times = [(event.time, event.action) for event in events_of(state, {}, ())]
    assert len(set(times)) == len(times)


@pytest.mark.parametrize(("time", "completed"), [("1", "2"), ("20240229120000000", None)])
def test_without_two_times_there_is_no_duration(time: str, completed: str | None) -> None:
    assert seconds_between(Instant(time, Action.COMMIT, State.COMPLETED, completed)) is None
