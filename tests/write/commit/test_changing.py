"""Changes of the timeline: under the lock, on a current look."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from hudiformat import HudiFormatWarning, LockError, Table, open_storage, open_table
from hudiformat.table.state import TableContext
from hudiformat.timeline.rollbacks import InstantInfo, RollbackPlan
from hudiformat.timeline.timeline import Action, Instant, State, instant_path
from hudiformat.write.commit import rollback
from hudiformat.write.commit.changing import change_timeline, hold_table_lock
from hudiformat.write.commit.locks import lock_of
from hudiformat.write.commit.publishing import announce
from tests.metadata_tables import PARTITIONS, properties, with_metadata_table
from tests.requests import RecordingStorage, timeline_listings
from tests.tables import content, edit, new_table, rows
from tests.write.commit.support import begun_restore, shared_table

LOCK = Path(".hoodie") / "lock"


def impatient(table: Table) -> TableContext:
    """*table*'s context, which waits for the lock for a tenth of a second."""
    context = table._context
    options = context.options.concurrency
    options = replace(options, lock=replace(options.lock, retries=1, retry_wait_ms=100))
    return replace(context, options=replace(context.options, concurrency=options))


def is_locked(table: Table) -> bool:
    return (Path(table.path) / LOCK).exists()


def test_a_table_with_other_writers_is_locked_as_long_as_the_block_lasts(tmp_path: Path) -> None:
    table = shared_table(tmp_path)
    with change_timeline(table._context):
        assert is_locked(table)
        with pytest.raises(LockError, match="the lock was not free for 0.1 seconds"), change_timeline(impatient(table)):
            raise AssertionError("two writers have the lock")
    assert not is_locked(table)


def test_the_lock_is_given_back_after_an_error(tmp_path: Path) -> None:
    table = shared_table(tmp_path)
    with pytest.raises(ZeroDivisionError), change_timeline(table._context):
        raise ZeroDivisionError
    assert not is_locked(table)


def test_a_table_with_one_writer_has_no_lock(table: Table) -> None:
    lock_of(table._context.storage, table._context.options.concurrency.lock).try_acquire()  # somebody's
    with hold_table_lock(table._context), change_timeline(impatient(table)) as state:
        assert state.timeline.instants == ()


def test_beside_other_writers_the_look_is_one_that_was_made_under_the_lock(tmp_path: Path) -> None:
    table = shared_table(tmp_path)
    seen = table._context.state()
    with change_timeline(table._context, seen) as state:
        assert state.timeline is seen.timeline  # nothing has changed
    commit = table.insert(rows(("a", 1, "x", 1)))
    with change_timeline(table._context, seen) as state:
        assert [done.time for done in state.timeline.completed] == [commit.instant]
    with change_timeline(table._context) as state:
        assert [done.time for done in state.timeline.completed] == [commit.instant]


def test_a_single_writer_takes_the_look_that_it_has_unless_it_asks_for_another(table: Table) -> None:
    storage = RecordingStorage(open_storage(table.path))
    context = open_table(storage)._context
    seen = context.state()
    table.insert(rows(("a", 1, "x", 1)))
    storage.clear()
    with change_timeline(context, seen) as state:
        assert state is seen
    assert storage.requests == []
    with change_timeline(context, seen, again=True) as state:
        assert len(state.timeline.completed) == 1
    assert timeline_listings(storage.requests, 9) == 1


def test_a_metadata_table_that_cannot_be_kept_up_is_dropped_before_the_first_change(tmp_path: Path) -> None:
    table = with_metadata_table(new_table(tmp_path / "t"))
    edit(tmp_path / "t", PARTITIONS, "column_stats")
    edit(tmp_path / "t", "hoodie.table.checksum", None)
    with ExitStack() as stack:
        with pytest.warns(HudiFormatWarning, match="and is dropped"):
            state = stack.enter_context(change_timeline(table._context))
        assert state.config.metadata_partitions == ()
        assert not (tmp_path / "t" / ".hoodie" / "metadata").exists()
    assert properties(tmp_path / "t")[PARTITIONS] == ""


def test_a_restore_that_was_stopped_half_way_is_finished_first(table: Table) -> None:
    first = table.insert(rows(("a", 1, "x", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    begun_restore(table, first.instant)
    with change_timeline(table._context) as state:
        assert state.timeline.pending == ()
        assert [done.action for done in state.timeline.completed][-1] is Action.RESTORE
    assert content(table) == [("a", 1, "x", 1)]


def test_a_rollback_that_was_stopped_half_way_is_finished_first(table: Table) -> None:
    """A log compaction that came first would merge the blocks that the rollback is going to take away."""
    table.upsert(rows(("a", 1, "x", 1)))
    last = table.upsert(rows(("a", 2, "x", 2)))
    state = table._context.state()
    plan = RollbackPlan(
        InstantInfo(last.instant, "deltacommit"), tuple(rollback.rollback_requests(state.storage, last.instant))
    )
    announce(state, Action.ROLLBACK, plan)
    with change_timeline(table._context) as now:
        assert now.timeline.pending == ()
        assert last.instant not in {one.time for one in now.timeline.instants}
    assert content(table) == [("a", 1, "x", 1)]


def test_a_rollback_whose_plan_is_gone_is_taken_off_the_timeline(table: Table) -> None:
    """It was begun by a writer that had lost the lock, after a restore had done it and deleted its instant."""
    table.upsert(rows(("a", 1, "x", 1)))
    state = table._context.state()
    dangling = Instant(state.next_instant, Action.ROLLBACK, State.INFLIGHT)
    state.storage.create(instant_path(state.config, dangling), b"")
    table.upsert(rows(("a", 2, "x", 2)))
    assert table.timeline.pending == ()
    assert content(table) == [("a", 2, "x", 2)]


def test_the_context_says_whether_the_lock_is_still_held(tmp_path: Path) -> None:
    table = shared_table(tmp_path)
    with change_timeline(table._context) as state:
        state.context.confirm()
    with change_timeline(table._context) as state:
        (tmp_path / LOCK).write_text("another's")
        with pytest.raises(LockError, match="no longer this writer's"):
            state.context.confirm()
    assert (tmp_path / LOCK).read_text() == "another's"
