"""Writers without options, at the same time: in threads, in processes, and beside one that is slow."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from hudiformat import (
    CommitError,
    HudiFormatWarning,
    LockError,
    StorageError,
    Table,
    WriteConflictError,
    open_table,
)
from hudiformat.storage.local import LocalStorage
from hudiformat.table.options.values import Operation
from hudiformat.timeline.timeline import Instant
from hudiformat.write.commit.publishing import publish
from hudiformat.write.commit.rollback import roll_back
from hudiformat.write.commit.transaction import begin_write
from tests.faults import FaultyStorage
from tests.tables import content, new_table, rows

pytestmark = pytest.mark.unmeasured

T = TypeVar("T")

PATIENT = {"hudiformat.sync": "false"}
HASTY = {
    **PATIENT,
    "hoodie.write.lock.client.num_retries": "1",
    "hoodie.write.lock.client.wait_time_ms_between_retry": "1",
}


def in_thread(action: Callable[[], object]) -> BaseException | None:
    """What *action* raises in another thread."""
    found: list[BaseException | None] = [None]

    def run() -> None:
        try:
            action()
        except BaseException as error:  # noqa: BLE001 - it is the answer
            found[0] = error

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["MERGE_ON_READ", "COPY_ON_WRITE"])
@pytest.mark.parametrize("shares", [True, False])
def test_threads_write_one_after_the_other(tmp_path: Path, kind: str, shares: bool) -> None:
    path = new_table(tmp_path / "t", table_type=kind).path
    one = open_table(path, options=PATIENT)
    failures: list[BaseException] = []
    start = threading.Barrier(3)

    def write(number: int) -> None:
        table = one if shares else open_table(path, options=PATIENT)
        start.wait()
        try:
            for step in range(4):
                table.upsert(rows((f"{number}-{step}", 1, "x", number), ("same", step, "x", number)))
        except BaseException as error:  # noqa: BLE001 - a failure of a thread is one of the test
            failures.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    keys = [row[0] for row in content(open_table(path))]
    assert keys == sorted(["same", *(f"{number}-{step}" for number in range(3) for step in range(4))], key=repr)


PROCESS = """
import sys
from hudiformat import HudiFormatError, open_table
from tests.tables import rows
table = open_table(sys.argv[1], options={"hudiformat.sync": "false"})
sys.stdin.readline()
for step in range(3):
    try:
        table.upsert(rows((f"{sys.argv[2]}-{step}", 1, "x", 1), ("same", step, "x", 1)))
        print(f"{sys.argv[2]}-{step}", flush=True)
    except HudiFormatError:
        pass
"""


@pytest.mark.slow
def test_what_processes_are_told_is_committed_is_there_once(tmp_path: Path) -> None:
    path = new_table(tmp_path / "t").path
    command = [sys.executable, "-c", PROCESS, path]
    running = [
        subprocess.Popen([*command, str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for number in range(3)
    ]
    for process in running:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    acknowledged = [key for process in running for key in process.communicate()[0].split()]
    assert acknowledged
    keys = [row[0] for row in content(open_table(path))]
    assert len(keys) == len(set(keys))
    assert set(acknowledged) <= set(keys) <= {"same", *(f"{number}-{step}" for number in range(3) for step in range(3))}
    assert open_table(path).verify() == []


def test_a_thread_waits_until_the_write_of_another_is_over(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    hasty = open_table(table.path, options=HASTY, clock=table._context.clock)
    with begin_write(table._context, Operation.UPSERT):
        error = in_thread(lambda: hasty.upsert(rows(("a", 1, "x"))))
        assert isinstance(error, LockError)
        assert "another thread of this process has been writing to the table" in str(error)
    assert in_thread(lambda: hasty.upsert(rows(("a", 1, "x")))) is None
    assert content(table, ["k"]) == [("a",)]


def test_a_write_that_was_dropped_keeps_nobody_waiting(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    begin_write(table._context, Operation.UPSERT)
    gc.collect()
    hasty = open_table(table.path, options=HASTY, clock=table._context.clock)
    assert in_thread(lambda: hasty.upsert(rows(("a", 1, "x")))) is None


def test_a_write_that_its_own_thread_left_open_is_rolled_back_and_says_so(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    with begin_write(table._context, Operation.UPSERT) as write:
        table.upsert(rows(("a", 1, "x")))
        with pytest.raises(CommitError, match="is no longer on the timeline"):
            write.commit([])
    assert content(table, ["k"]) == [("a",)]


def begun_elsewhere(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on this thread's writes are those of a process that does not look at others before it begins."""
    monkeypatch.setattr("hudiformat.write.commit.transaction.end_failed_writes", lambda state: state)


@pytest.mark.parametrize("commits", [True, False])
def test_of_two_that_begin_at_once_at_most_one_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commits: bool
) -> None:
    table = new_table(tmp_path / "t")
    first = begin_write(table._context, Operation.UPSERT)
    begun_elsewhere(table, monkeypatch)
    if commits:
        table.upsert(rows(("a", 1, "x")))
    second = None if commits else begin_write(table._context, Operation.UPSERT)
    with (
        first,
        pytest.raises(WriteConflictError, match="another writer has begun .* in the meantime, and neither uses a lock"),
    ):
        first.commit([])
    assert (second is None) == commits
    assert content(table, ["k"]) == ([("a",)] if commits else [])


def test_a_service_of_another_process_is_no_conflict(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options={"hoodie.index.type": "INMEMORY"})
    table.upsert(rows(("a", 1, "x")))
    with begin_write(table._context, Operation.UPSERT) as write:
        table.compact()
        assert write.commit([]).instant == write.instant.time


def test_a_commit_that_another_was_rolling_back_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = new_table(tmp_path / "t")
    write = begin_write(table._context, Operation.UPSERT)

    def rolled_back_just_before(*arguments: Any) -> Instant:
        roll_back(table._context.state(), write.instant)
        return publish(*arguments)

    monkeypatch.setattr("hudiformat.write.commit.transaction.publish", rolled_back_just_before)
    with write, pytest.raises(CommitError):
        write.commit([])
    assert not table.timeline.completed_writes


def test_a_write_that_commits_before_its_rollback_begins_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = new_table(tmp_path / "t")
    write = begin_write(table._context, Operation.UPSERT)
    state = table._context.state()
    write.commit([])
    roll_back(state, write.instant)
    assert [done.time for done in table.timeline.completed] == [write.instant.time]
    assert not table.timeline.pending


@dataclass
class GoesDown:
    """A fault at every listing of the timeline once a commit is on it."""

    is_down: bool = False

    def run(self, what: str, action: Callable[[], T]) -> T:
        if self.is_down and what == "list .hoodie/timeline":
            raise StorageError(f"the storage fails: {what}")
        found = action()
        self.is_down = self.is_down or (what.startswith("create ") and what.endswith(".deltacommit"))
        return found


def test_a_commit_stays_where_nobody_can_look_whether_it_was_rolled_back(tmp_path: Path) -> None:
    new_table(tmp_path / "t").insert(rows(("a", 1, "x", 1)))
    storage = FaultyStorage(LocalStorage(tmp_path / "t"), GoesDown())
    table = open_table(storage, options={"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"})
    with pytest.warns(HudiFormatWarning, match="is committed; whether another writer was rolling it back is not known"):
        commit = table.upsert(rows(("a", 2, "x", 2)))
    assert commit.num_writes == 1
    assert content(open_table(tmp_path / "t")) == [("a", 2, "x", 2)]
