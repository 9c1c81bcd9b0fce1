"""Announcing and completing instants: the metadata table first, and only with the lock."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hudiformat import CommitError, LockError, Table, WriteConflictError, open_storage, open_table
from hudiformat.storage.protocol import Capabilities, Storage
from hudiformat.table.options.values import Operation
from hudiformat.table.state import TableState
from hudiformat.timeline.cleans import CleanerPlan
from hudiformat.timeline.commit_metadata import CommitMetadata
from hudiformat.timeline.timeline import Action
from hudiformat.write.commit.changing import change_timeline
from hudiformat.write.commit.publishing import announce, check_publishable, publish
from hudiformat.write.commit.transaction import begin_write
from tests.metadata_table.tables import check_listing
from tests.metadata_tables import told, with_metadata_table
from tests.requests import RecordingStorage
from tests.tables import content, new_table, rows
from tests.write.commit.support import begun, shared_table

COMMIT = CommitMetadata(operation_type="UPSERT")


class Losing:
    """Says that the lock is held, so many times, and then that it is lost."""

    def __init__(self, times: int) -> None:
        self.left = times

    def __call__(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise LockError("the lock is no longer this writer's")


def losing(state: TableState, times: int) -> TableState:
    return replace(state, context=replace(state.context, confirm=Losing(times)))


def test_publishing_completes_an_instant_later_than_all_that_is_on_the_timeline(table: Table) -> None:
    table.insert(rows(("a", 1, "x", 1)))
    newest = table._context.state().timeline.latest_instant_time
    write = begin_write(table._context, Operation.UPSERT)
    with change_timeline(table._context) as state:
        done = publish(state, write.instant, COMMIT)
    assert newest is not None
    assert (done.time, done.is_completed) == (write.instant.time, True)
    assert str(done.completion_time) > done.time > newest
    assert [one.time for one in table.timeline.completed][-1] == done.time


def test_an_instant_that_is_not_inflight_any_more_cannot_be_published(table: Table) -> None:
    write = begin_write(table._context, Operation.UPSERT)
    write.abandon()
    with change_timeline(table._context) as state, pytest.raises(CommitError, match=write.instant.time):
        publish(state, write.instant, COMMIT)
    assert table.timeline.instants == ()


def test_the_metadata_table_is_written_before_the_timeline(tmp_path: Path) -> None:
    table = with_metadata_table(new_table(tmp_path / "t"))
    storage = RecordingStorage(open_storage(table.path))
    recording = open_table(storage, options={"hudiformat.sync": "false"}, clock=table._context.clock)
    write = begin_write(recording._context, Operation.UPSERT)
    storage.clear()
    with change_timeline(recording._context) as state:
        done = publish(state, write.instant, COMMIT)
    assert done.time in told(table)
    written = [request.path for request in storage.requests if request.kind in ("create", "open_new", "rename")]
    own = [number for number, path in enumerate(written) if path.startswith(".hoodie/metadata/")]
    outer = [number for number, path in enumerate(written) if path.startswith(".hoodie/timeline/")]
    assert own
    assert outer
    assert max(own) < min(outer)
    check_listing(tmp_path / "t")


@pytest.mark.parametrize("times", [0, 1])
def test_without_the_lock_nothing_is_announced(table: Table, times: int) -> None:
    """Lost before the file appears, or just when it did."""
    with pytest.raises(LockError):
        announce(losing(table._context.state(), times), Action.CLEAN, CleanerPlan())
    assert table.timeline.instants == ()


def test_without_the_lock_nothing_is_completed(table: Table) -> None:
    write = begin_write(table._context, Operation.UPSERT)
    with pytest.raises(CommitError, match="no longer this writer's; the table is as it was"):
        publish(losing(table._context.state(), 0), write.instant, COMMIT)
    assert table.timeline.completed == ()


def test_a_lock_that_nobody_else_has_used_since_it_was_lost_does_no_harm(table: Table) -> None:
    write = begin_write(table._context, Operation.UPSERT)
    publish(losing(table._context.state(), 1), write.instant, COMMIT)
    assert len(table.timeline.completed) == 1


def test_an_instant_that_was_completed_beside_another_with_the_lock_is_taken_back(table: Table) -> None:
    write = begin_write(table._context, Operation.UPSERT)
    state = losing(table._context.state(), 1)
    other = open_table(table.path, options={"hoodie.clean.failed.writes.policy": "LAZY"})
    commit = other.insert(rows(("b", 1, "x", 1)))
    with pytest.raises(CommitError, match=f"{write.instant.time} .* is not committed: the lock is no longer"):
        publish(state, write.instant, COMMIT)
    assert [done.time for done in table.timeline.completed_writes] == [commit.instant]


def test_a_file_that_is_gone_or_has_another_size_is_not_committed(table: Table) -> None:
    table.insert(rows(("a", 1, "x", 1)))
    before = content(table)
    for damage, message in ((Path.unlink, "it does not exist"), (truncate, "it has 3")):
        write, stats = begun(table, ("a", 2, "x", 2))
        damage(Path(table.path) / str(stats[0].path))
        expected = f"{stats[0].path}: .*{stats[0].file_size_in_bytes} bytes.*{message}"
        with pytest.raises(CommitError, match=expected), write:
            write.commit(stats)
        assert content(table) == before
        assert table.timeline.pending == ()


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:3])


def test_an_object_store_is_asked_for_several_files_at_a_time(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    write, stats = begun(table, ("a", 2, "x", 2), ("b", 2, "y", 2))
    state = table._context.state()
    monkeypatch.setattr(type(state.storage), "capabilities", Capabilities(atomic_create=True))
    metadata = CommitMetadata(partition_to_write_stats={"": tuple(stats)})
    check_publishable(state, state, write.instant, metadata)
    wrong = (replace(stats[0], file_size_in_bytes=1), *stats[1:])
    with pytest.raises(CommitError, match="has written 1 bytes"):
        check_publishable(state, state, write.instant, CommitMetadata(partition_to_write_stats={"": wrong}))
    assert isinstance(open_storage(table.path), Storage)


@pytest.mark.parametrize("table_type", ["MERGE_ON_READ", "COPY_ON_WRITE"])
def test_a_write_that_builds_on_one_that_was_rolled_back_meanwhile_is_not_committed(
    tmp_path: Path, table_type: str
) -> None:
    table = shared_table(tmp_path, table_type=table_type)
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "x", 1)))
    undone = table.delete(rows(("b", 0, "x", 0)))
    write, stats = begun(table, ("a", 2, "x", 2))
    table.rollback(undone.instant)
    with pytest.raises(WriteConflictError, match=f"{undone.instant} .* has been rolled back since it began"), write:
        write.commit(stats)
    assert content(table) == [("a", 1, "x", 1), ("b", 1, "x", 1)]
