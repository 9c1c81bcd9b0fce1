"""Running restores: from its beginning on, queries see the table as it will be."""

from __future__ import annotations

import pytest

from hudiformat import CorruptTableError, LockError, Table, open_table
from hudiformat.timeline.contents import create_requested
from hudiformat.timeline.timeline import Action, State
from hudiformat.write.commit.rollback import finish_restores, run_restore
from tests.tables import content, rows
from tests.write.commit.support import begun_restore
from tests.write.commit.test_publishing import losing

ROW = [("a", 1, "x", 1)]


def written(table: Table) -> str:
    """Three writes of one row; the first one's instant."""
    first = table.insert(rows(*ROW))
    table.upsert(rows(("a", 2, "x", 2)))
    table.upsert(rows(("a", 3, "x", 3), ("b", 3, "y", 3)))
    return first.instant


def test_queries_see_the_table_as_a_restore_that_has_begun_will_leave_it(table: Table) -> None:
    begun_restore(table, written(table))
    assert content(table) == ROW
    assert [done.action for done in table.timeline.instants if done.action is not Action.DELTA_COMMIT] == [
        Action.RESTORE
    ]
    assert len(table.timeline.completed_writes) == 1
    assert table.file_slices()[0].log_files == ()


def test_the_next_write_finishes_it(table: Table) -> None:
    begun_restore(table, written(table))
    table.upsert(rows(("c", 1, "x", 1)))
    assert content(table) == [*ROW, ("c", 1, "x", 1)]
    assert table.timeline.pending == ()
    assert table.verify() == []


def test_so_does_the_next_restore_whatever_it_restores_to(table: Table) -> None:
    first = written(table)
    pending = begun_restore(table, first)
    assert table.restore(first).time == pending.time
    assert content(table) == ROW
    assert table.timeline.pending == ()


def test_one_that_is_requested_changes_nothing_yet(table: Table) -> None:
    first = written(table)
    begun_restore(table, first)
    state = table._context.state()
    state.storage.delete(f"{state.config.timeline_folder}/{state.timeline.pending[0].file_name}")
    [pending] = table.timeline.pending
    assert pending.state is State.REQUESTED
    assert len(table.timeline.completed_writes) == 3
    finish_restores(table._context.state())
    assert content(table) == ROW


def test_one_without_a_plan_is_damage(table: Table) -> None:
    state = table._context.state()
    instant = create_requested(state.storage, state.config, "20990101000000000", Action.RESTORE)
    with pytest.raises(CorruptTableError, match=r"restore.requested: expected the plan of a restore, found nothing"):
        run_restore(state, instant)


def test_it_stops_when_the_lock_is_lost(table: Table) -> None:
    pending = begun_restore(table, written(table))
    with pytest.raises(LockError):
        run_restore(losing(table._context.state(), 1), pending)
    assert [one.time for one in table.timeline.pending] == [pending.time]
    assert content(open_table(table.path)) == ROW
