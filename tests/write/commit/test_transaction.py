"""A write from its instant to its commit, and one that is begun anew or abandoned."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudiformat import Commit, CommitError, HudiFormatWarning, StorageError, Table, WriteConflictError, open_table
from hudiformat.naming.file_names import WriteToken
from hudiformat.storage.local import LocalStorage
from hudiformat.storage.opening import open_storage
from hudiformat.table.options.values import Operation
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.timeline.timeline import read_metadata
from hudiformat.write.commit.transaction import Transaction, begin_write
from hudiformat.write.write import WriteTask
from tests.requests import RecordingStorage
from tests.tables import content, data_files, new_table, rows, tree
from tests.write.commit.support import SHARED, abandoned, begun, shared_table


class StopError(Exception):
    """What a writer stops with."""


def stop_after(table: Table, data: pa.Table, *, finish: bool) -> None:
    """A write that stops after its rows were handed over, or after the last file was closed."""
    with begin_write(table._context, Operation.UPSERT) as write, WriteTask(write.plan, WriteToken(0, 0, 0)) as task:
        for batch in data.to_batches():
            task.write_batch(batch)
        if finish:
            task.finish()
        raise StopError


@pytest.mark.parametrize("finish", [False, True])
def test_leaving_the_block_rolls_back(tmp_path: Path, any_index: dict[str, str], finish: bool) -> None:
    table = new_table(tmp_path / "t", options={**any_index, "hoodie.logfile.data.block.max.size": "1"})
    table.insert(rows(("a", 1, "x", 1)))
    before = tree(tmp_path)
    with pytest.raises(StopError):
        stop_after(table, rows(("a", 2, "x", 2), ("b", 1, "new/deep", 3)), finish=finish)
    assert tree(tmp_path) == before


def test_abandoning_twice_and_after_the_commit_does_nothing(table: Table) -> None:
    write = begin_write(table._context, Operation.INSERT)
    for _ in range(2):
        write.abandon()
    assert table.timeline.instants == ()
    write = begin_write(table._context, Operation.INSERT)
    commit = write.commit([])
    write.abandon()
    assert [done.time for done in table.timeline.completed] == [commit.instant]


def test_a_write_that_was_rolled_back_by_another_cannot_commit(table: Table) -> None:
    write = abandoned(table, rows(("a", 1, "x", 1)))
    table.insert(rows(("b", 1, "x", 2)))
    with pytest.raises(CommitError, match="it has been rolled back"):
        write.commit([])
    assert content(table) == [("b", 1, "x", 2)]


def test_files_of_failed_attempts_are_gone_before_the_commit(tmp_path: Path, any_index: dict[str, str]) -> None:
    table = new_table(tmp_path / "t", options=any_index)
    data = rows(("a", 1, "x", 1)).to_batches()[0]
    with begin_write(table._context, Operation.UPSERT) as write:
        for attempt in range(2):
            with WriteTask(write.plan, WriteToken(0, 0, attempt)) as task:
                task.write_batch(data)
                stats = task.finish()  # those of the first attempt never arrive
        assert len(data_files(tmp_path / "t")) == 2
        commit = write.commit(stats)
    assert data_files(tmp_path / "t") == [commit.stats[0].path]
    assert "0-0-1" in (commit.stats[0].path or "")
    assert content(table) == [("a", 1, "x", 1)]


def test_a_write_is_begun_anew_after_a_conflict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = shared_table(tmp_path, **{"hoodie.write.num.retries.on.conflict.failures": "1"})
    table.insert(rows(("a", 1, "x", 1)))
    other, other_stats = begun(table, ("a", 2, "x", 2))
    commit = Transaction.commit

    def after_the_other(write: Transaction, *arguments: Any) -> Commit:
        monkeypatch.undo()
        commit(other, other_stats)
        return commit(write, *arguments)

    monkeypatch.setattr(Transaction, "commit", after_the_other)
    assert table.upsert(rows(("a", 3, "x", 3))).num_writes == 1
    assert content(table) == [("a", 3, "x", 3)]
    assert not table.timeline.pending


def test_a_conflict_is_raised_when_the_retries_are_used_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = shared_table(tmp_path, **{"hoodie.write.num.retries.on.conflict.failures": "2"})
    tries = []

    def always(_self: Transaction, *_arguments: object) -> None:
        tries.append(1)
        raise WriteConflictError("another writer was faster")

    monkeypatch.setattr(Transaction, "commit", always)
    with pytest.raises(WriteConflictError, match="was faster"):
        table.upsert(rows(("a", 3, "x", 3)))
    assert len(tries) == 3
    assert not table.timeline.instants


@pytest.mark.parametrize("moment", ["begin_instant", "write_plan"])
def test_a_beginning_that_is_interrupted_leaves_no_instant_and_no_heartbeat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    def interrupt(*_arguments: object, **_options: object) -> None:
        raise KeyboardInterrupt

    table, before = shared_table(tmp_path), set(threading.enumerate())
    with monkeypatch.context() as patch:
        patch.setattr(f"hudiformat.write.commit.transaction.{moment}", interrupt)
        with pytest.raises(KeyboardInterrupt):
            begin_write(table._context, Operation.UPSERT)
    assert table.timeline.instants == ()
    assert list((tmp_path / ".hoodie").glob(".heartbeat/*")) == []
    assert not any(thread.name.startswith("heartbeat") for thread in set(threading.enumerate()) - before)


def test_a_commit_whose_lock_cannot_be_given_back_is_returned_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = shared_table(tmp_path)
    delete = LocalStorage.delete

    def fail(storage: LocalStorage, path: str) -> bool:
        if path.endswith("/lock") and table.timeline.completed:
            raise StorageError("the network is gone")
        return delete(storage, path)

    monkeypatch.setattr(LocalStorage, "delete", fail)
    with pytest.warns(HudiFormatWarning, match="the lock could not be released"):
        commit = table.insert(rows(("a", 1, "x", 1)))
    assert [done.time for done in table.timeline.completed] == [commit.instant]


@pytest.mark.parametrize("retries", ["0", "1"])
def test_a_log_file_of_version_6_that_another_writer_gives_up_is_a_conflict(tmp_path: Path, retries: str) -> None:
    """Its name does not say whose it is, and the other may be off the timeline before it was seen there."""
    new_table(tmp_path / "t", version=6, options=SHARED).insert(rows(("a", 1, "x", 1)))
    other = open_table(tmp_path / "t", options=SHARED)
    pending: list[Transaction] = []

    def meanwhile(number: int) -> None:
        kind, path = storage.requests[number].kind, storage.requests[number].path
        if kind == "list" and path == "x" and not pending:
            pending.append(abandoned(other, rows(("a", 2, "x", 2))))
        if ".log." in path and pending:
            pending[0].abandon()

    storage = RecordingStorage(open_storage(tmp_path / "t"), before=meanwhile)
    options = {**SHARED, "hoodie.write.num.retries.on.conflict.failures": retries}
    table = open_table(storage, options=options)
    if retries == "0":
        with pytest.raises(
            WriteConflictError, match="other writers have archived, cleaned or rolled back files that it reads"
        ):
            table.upsert(rows(("a", 3, "x", 3)))
    else:
        table.upsert(rows(("a", 3, "x", 3)))
    assert pending
    assert content(other) == [("a", 3, "x", 3) if retries == "1" else ("a", 1, "x", 1)]


def test_what_a_slow_attempt_of_a_task_makes_until_the_commit_is_deleted(tmp_path: Path) -> None:
    """It has looked whether the write waits for it before the write was over."""
    new_table(tmp_path / "t")
    batch = rows(("a", 1, "x", 1)).to_batches()[0]

    def attempt(number: int) -> list[WriteStat]:
        with WriteTask(write.plan, WriteToken(0, 0, number)) as task:
            task.write_batch(batch)
            return task.finish_apart()

    def meanwhile(number: int) -> None:
        if storage.requests[number].kind == "create" and storage.requests[number].path.endswith(".deltacommit"):
            attempt(2)

    storage = RecordingStorage(open_storage(tmp_path / "t"), before=meanwhile)
    table = open_table(storage)
    with begin_write(table._context, Operation.UPSERT) as write:
        write.commit(attempt(1))
    assert [name for name in data_files(tmp_path / "t") if "_0-0-2" in name] == []
    assert content(open_table(tmp_path / "t")) == [("a", 1, "x", 1)]


@pytest.mark.parametrize("version", [6, 8, 9])
def test_what_is_kept_of_a_commit_is_what_its_file_says(tmp_path: Path, version: int) -> None:
    table = new_table(tmp_path / "t", version=version, options={"hoodie.metadata.enable": "true"})
    for commit in (table.insert(rows(("a", 1, "x", 1))), table.upsert(rows(("a", 2, "x", 2), ("b", 1, "y", 1)))):
        kept = {done.time: metadata for done, metadata in table._context.parsed.commits.items()}
        done = next(one for one in table.timeline.completed if one.time == commit.instant)
        assert kept[commit.instant] == read_metadata(table._context.storage, table.config, done)
        assert all(stat.indexed is None for stat in kept[commit.instant].write_stats)
