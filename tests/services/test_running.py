"""All services that are due, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from hudiformat import LockError, OptionError, StorageError, Table, UnsupportedFeatureError
from hudiformat.services import running
from hudiformat.services.deciding import Service
from hudiformat.services.running import maintain
from hudiformat.table.options.values import Operation
from hudiformat.timeline.timeline import Action
from hudiformat.write.commit.transaction import Transaction, begin_write
from tests.check.verify.support import KEEP_FEW, OPTIMISTIC, grown, of, opened
from tests.effort import only_long
from tests.tables import Clock, content, new_table, rows, tree

ALL = {
    **KEEP_FEW,
    "hoodie.log.compaction.enable": "true",
    "hoodie.clustering.async.enabled": "true",
    "hoodie.metadata.enable": "true",
}
BOTH = [("a", 6, "x", 6), ("b", 6, "y", 6)]


def test_what_is_due_is_done_and_reported(tmp_path: Path) -> None:
    table = opened(grown(tmp_path / "t"), **ALL)
    report = table.maintain()
    assert [one.service for one in report.services] == [service.value for service in Service]
    assert [one.service for one in report.services if one.done] == ["metadata", "compaction"]
    assert report.failed == ()
    done = of(report, "compaction")
    newest = table.timeline.completed_writes[-1]
    assert (done.done, done.instants, done.error) == ("2 files written", (newest.time,), None)
    assert done.before is not None
    assert done.after is not None
    assert (done.before.files, done.after.files, done.before.stored_files, done.after.stored_files) == (12, 2, 12, 14)
    assert done.after.bytes < done.after.stored_bytes
    assert done.seconds > 0
    assert content(table) == BOTH
    assert table.verify() == []
    assert [one.service for one in table.maintain().services if one.done] == []


@only_long
@pytest.mark.slow
def test_services_that_follow_each_other_each_see_what_the_others_did(tmp_path: Path) -> None:
    table = opened(grown(tmp_path / "t"), **ALL)
    for step in range(3):
        for number in range(5):
            table.bulk_insert(rows((f"{step}{number}", 1, "x", 1)))
        table.maintain()
    assert len(content(table)) == 17
    assert {Action.CLEAN, Action.REPLACE_COMMIT} <= {one.action for one in table.timeline.completed}
    assert table.verify() == []


def test_a_dry_run_changes_nothing(tmp_path: Path) -> None:
    table = opened(grown(tmp_path / "t"), **ALL)
    before = tree(Path(table.path))
    report = table.maintain(dry_run=True)
    assert report.is_dry_run
    due = [one.service for one in report.services if one.is_due]
    assert due == ["metadata", "compaction", "log-compaction", "clustering", "archive"]
    assert not any(one.done or one.before for one in report.services)
    assert tree(Path(table.path)) == before


def test_a_service_that_is_named_is_turned_on(tmp_path: Path) -> None:
    table = grown(tmp_path / "t")
    report = table.maintain(only=["log-compaction"])
    assert [(one.service, one.is_due) for one in report.services] == [("log-compaction", True)]
    assert of(report, "log-compaction").instants
    report = table.maintain(only=["archive", "clean"], dry_run=True)
    assert [one.service for one in report.services] == ["clean", "archive"]


def test_an_unknown_service_is_an_error(table: Table) -> None:
    with pytest.raises(OptionError, match="expected names of services .*found 'vacuum'"):
        table.maintain(only=["vacuum"])


def test_plans_of_others_are_run(tmp_path: Path) -> None:
    table = grown(tmp_path / "t", commits=1)
    planned = table.schedule_compaction()
    assert planned
    assert of(table.maintain(), "compaction").instants == (planned.time,)
    for number in range(2):
        table.bulk_insert(rows((f"k{number}", 1, "x", 1)))
    planned = table.schedule_clustering()
    assert planned
    assert of(table.maintain(), "clustering").instants == (planned.time,)
    assert table.timeline.pending == ()


def test_expired_partitions_are_removed(tmp_path: Path, clock: Clock) -> None:
    table = grown(tmp_path / "t", clock=clock, commits=1)
    clock.now += timedelta(days=2)
    table.insert(rows(("c", 1, "z", 1)))
    done = of(opened(table, **{"hoodie.partition.ttl.strategy.days.retain": "1"}).maintain(), "ttl")
    assert (done.done, len(done.instants)) == ("removed", 1)
    assert content(table) == [("c", 1, "z", 1)]


def test_a_clean_that_was_left_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = grown(tmp_path / "t", commits=3)
    table.compact()
    table.upsert(rows(("a", 6, "x", 6), ("b", 6, "y", 6)))
    table = opened(table, **KEEP_FEW)

    def fail(*_arguments: object) -> None:
        raise StorageError("the disk is gone")

    with monkeypatch.context() as patch:
        patch.setattr("hudiformat.services.cleaning._delete", fail)
        failed = of(table.maintain(), "clean")
    assert (failed.error, failed.done, failed.is_due) == ("the disk is gone", "", True)
    again = of(table.maintain(), "clean")
    assert (again.why, again.done) == ("a clean was left half-way", "6 files deleted")
    assert content(table) == BOTH


def test_a_service_that_fails_does_not_stop_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = opened(grown(tmp_path / "t"), **KEEP_FEW)

    def fail(*_arguments: object) -> None:
        raise MemoryError("too many rows")

    monkeypatch.setitem(running._RUNNERS, Service.COMPACTION, fail)
    report = table.maintain()
    assert [(one.service, one.error) for one in report.failed] == [("compaction", "MemoryError: too many rows")]
    assert of(report, "archive").done
    assert content(table) == BOTH


def test_no_service_begins_once_it_is_to_stop(tmp_path: Path) -> None:
    table = opened(grown(tmp_path / "t"), **ALL)
    answers: Iterator[bool] = iter([False, False, True])
    report = maintain(table._context, is_stopped=lambda: next(answers))
    assert [one.service for one in report.services] == ["rollback", "metadata"]


@pytest.mark.parametrize("in_tasks", [False, True])
def test_beside_a_single_writer_at_work_it_is_refused(tmp_path: Path, *, in_tasks: bool) -> None:
    table = grown(tmp_path / "t")
    with begin_write(table._context, Operation.UPSERT, in_tasks=in_tasks) as write:
        with pytest.raises(LockError, match="maintenance beside a writer is refused.*OPTIMISTIC_CONCURRENCY_CONTROL"):
            table.maintain()
        assert write.instant in table.timeline.pending
        assert table.maintain(dry_run=True).services
    assert table.maintain().failed == ()


def test_a_single_writer_that_begins_meanwhile_stops_what_is_left(tmp_path: Path) -> None:
    table = grown(tmp_path / "t")
    begun: list[Transaction | None] = []

    def is_stopped() -> bool:
        begun.append(begin_write(table._context, Operation.UPSERT, in_tasks=False) if len(begun) == 2 else None)
        return False

    report = maintain(table._context, is_stopped=is_stopped)
    assert [one.service for one in report.failed][:2] == ["ttl", "compaction"]
    assert "expected no write to be under way" in (of(report, "compaction").error or "")
    write = begun[2]
    assert write is not None
    write.commit(())


def test_beside_writers_with_a_lock_it_runs(tmp_path: Path) -> None:
    table = opened(grown(tmp_path / "t"), **OPTIMISTIC, **KEEP_FEW)
    with begin_write(table._context, Operation.UPSERT, in_tasks=False) as write:
        report = table.maintain()
        assert report.failed == ()
        assert of(report, "compaction").done
        write.commit(())
    assert content(table) == BOTH


def test_what_writers_that_died_have_left_is_rolled_back(tmp_path: Path) -> None:
    table = opened(grown(tmp_path / "t"), **OPTIMISTIC)
    write = begin_write(table._context, Operation.UPSERT, in_tasks=False)
    assert not of(table.maintain(), "rollback").is_due
    write._heartbeat.stop()
    done = of(table.maintain(), "rollback")
    assert (done.instants, done.done) == ((write.instant.time,), "1 rolled back")
    assert table.timeline.pending == ()


def test_a_table_that_cannot_be_written_is_refused(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_state: object) -> None:
        raise UnsupportedFeatureError("not this one", feature="it")

    monkeypatch.setattr(running, "refuse_unwritable", refuse)
    with pytest.raises(UnsupportedFeatureError, match="not this one"):
        table.maintain()


def test_non_blocking_writers_keep_their_partitions(tmp_path: Path, clock: Clock) -> None:
    options = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}
    table = new_table(tmp_path / "t", clock=clock, options=options)
    table.insert(rows(("a", 1, "x", 1)))
    clock.now += timedelta(days=2)
    mode = {**OPTIMISTIC, "hoodie.write.concurrency.mode": "NON_BLOCKING_CONCURRENCY_CONTROL"}
    table = opened(table, **options, **mode, **{"hoodie.partition.ttl.strategy.days.retain": "1"})
    assert "DELETE_PARTITION removes file groups" in (of(table.maintain(), "ttl").error or "")
    assert content(table) == [("a", 1, "x", 1)]
