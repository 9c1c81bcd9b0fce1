"""The timeline as queries see it, while a restore removes writes."""

from __future__ import annotations

import pytest

from hudiformat import CorruptTableError, StorageError, Table
from hudiformat.table.effective import restore_plan, without_restored_writes
from hudiformat.timeline.contents import create_requested, transition_inflight
from hudiformat.timeline.rollbacks import InstantInfo, RestorePlan
from hudiformat.timeline.timeline import Action, Instant, State, Timeline, instant_path, load_timeline
from tests.tables import rows

TIME = "20990101000000000"


def restoring(table: Table, plan: RestorePlan | None) -> Instant:
    """A restore that is requested."""
    state = table._context.state()
    return create_requested(state.storage, state.config, TIME, Action.RESTORE, plan)


def effective(table: Table) -> Timeline:
    storage = table._context.storage
    return without_restored_writes(storage, table.config, load_timeline(storage, table.config))


def times(table: Table) -> list[str]:
    return [one.time for one in effective(table).instants]


def test_what_a_restore_removes_is_gone_as_soon_as_it_is_inflight(table: Table) -> None:
    first = table.insert(rows(("a", 1, "x", 1))).instant
    second = table.insert(rows(("b", 1, "x", 1))).instant
    requested = restoring(table, RestorePlan((InstantInfo(second, "deltacommit"),)))
    assert times(table) == [first, second, TIME]
    transition_inflight(table._context.storage, table.config, requested)
    assert times(table) == [first, TIME]


def test_a_restore_whose_plan_is_gone_has_ended(table: Table) -> None:
    first = table.insert(rows(("a", 1, "x", 1))).instant
    requested = restoring(table, RestorePlan())
    transition_inflight(table._context.storage, table.config, requested)
    table._context.storage.delete(instant_path(table.config, requested))
    assert times(table) == [first, TIME]
    with pytest.raises(StorageError):
        restore_plan(table._context.storage, table.config, requested)


def test_an_empty_plan_is_damage(table: Table) -> None:
    requested = restoring(table, None)
    transition_inflight(table._context.storage, table.config, requested)
    with pytest.raises(CorruptTableError, match="expected the plan of a restore, found nothing"):
        times(table)
    assert requested.state is State.REQUESTED
