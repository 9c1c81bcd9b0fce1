"""Writes that stop half-way: the last commit reads the same, and the next writer cleans up."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pytest

from hudiformat import CommitError, HudiFormatError, StorageError, Table, TableError, open_table
from hudiformat.naming import WriteToken
from hudiformat.options.values import Operation
from hudiformat.storage import LocalStorage
from hudiformat.timeline import State
from hudiformat.transaction.files import create_marker, marked_files
from hudiformat.transaction.staging import read_staged, stage
from hudiformat.transaction.transaction import Transaction, begin_write
from hudiformat.view import list_partitions
from hudiformat.write.write import WriteTask
from tests.effort import every
from tests.faults import FaultyStorage
from tests.metadata.tables import add_metadata_table, check_listing
from tests.tables import FLAGGED, SCHEMA, Clock, content, data_files, multiset, new_table, rows, tree

T = TypeVar("T")
FIRST = rows(("a", 1, "x", 1), ("b", 1, "x", 2), schema=FLAGGED)
SECOND = rows(("a", 2, "x", 3), ("b", 2, "x", 0, True), ("c", 1, "y", 4), schema=FLAGGED)
BEFORE = [("a", 1, "x", 1), ("b", 1, "x", 2)]
AFTER = [("a", 2, "x", 3), ("c", 1, "y", 4)]


KEPT_UP = "SIMPLE, with a metadata table"
OF_VERSION_6 = "SIMPLE, in a table of version 6"


class Faults:
    """Counts what is done to a storage, and fails from a given moment on: once, or for ever."""

    def __init__(self, moment: int, *, for_ever: bool, after_the_fact: bool) -> None:
        self.moment = moment
        self.count = 0
        self.for_ever = for_ever
        self.after_the_fact = after_the_fact

    def run(self, what: str, action: Callable[[], T]) -> T:
        if what == "close":
            return action()
        self.count += 1
        fails = self.count >= self.moment if self.for_ever else self.count == self.moment
        if fails and self.after_the_fact and not what.startswith("open"):
            action()
        if fails:
            raise StorageError(f"the storage fails at operation {self.count}: {what}")
        return action()


def failing(table: Table, faults: Faults) -> Table:
    return Table(replace(table.context, storage=FaultyStorage(table.context.storage, faults)))


def of_instant(root: Path, instant: str) -> list[str]:
    return [path for path in tree(root) if instant in path]


@pytest.mark.filterwarnings("ignore:.*a service after it failed")  # the storage fails there, too
@pytest.mark.parametrize(
    ("index", "lasting", "when"),
    [
        ("SIMPLE", "once", "before"),
        ("SIMPLE", "once", "after"),
        ("SIMPLE", "for ever", "before"),
        ("SIMPLE", "for ever", "after"),
        ("BUCKET", "once", "after"),
        (KEPT_UP, "once", "after"),
        (OF_VERSION_6, "once", "before"),
        (OF_VERSION_6, "for ever", "after"),
    ],
)
def test_a_write_that_fails_at_any_moment_is_whole_or_not_at_all(
    tmp_path: Path, index: str, lasting: str, when: str
) -> None:
    template = tmp_path / "template"
    kept_up, version, index = index == KEPT_UP, 6 if index == OF_VERSION_6 else 9, index.partition(",")[0]
    new_table(template, schema=FLAGGED, version=version, options={"hoodie.index.type": index}).insert(FIRST)
    if kept_up:
        add_metadata_table(template)
    untouched = tree(template)
    finished = False
    for moment in itertools.count(1, every(7)):
        path = Path(shutil.copytree(template, tmp_path / str(moment)))
        table = open_table(path, options={"hoodie.index.type": index}, clock=Clock())
        faults = Faults(moment, for_ever=lasting == "for ever", after_the_fact=when == "after")
        left = None
        try:
            failing(table, faults).upsert(SECOND)
        except HudiFormatError:
            visible = len(table.timeline.completed) == 2
            # An error says that nothing was written, unless the timeline could not be asked any more.
            assert not visible or (lasting, when) == ("for ever", "after"), moment
            assert content(table) == (AFTER if visible else BEFORE), moment
            left = next((pending.time for pending in table.timeline.pending), None)
            assert left or visible or tree(path) == untouched, moment
        else:
            finished = faults.count < moment
            assert content(table) == AFTER, moment
        quick = open_table(path, options={"hudiformat.sync": "false", "hoodie.index.type": index}, clock=Clock())
        quick.upsert(SECOND)  # the next writer
        assert content(table) == AFTER, moment
        assert table.timeline.pending == ()
        assert left is None or of_instant(path, left) == [], moment
        if kept_up:
            check_listing(path)
        assert moment < 100 + 100 * kept_up
        if finished:
            break
    assert moment > 15


def test_a_failed_write_leaves_the_table_as_it_was(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    table.insert(rows(("a", 1, "x", 1)))
    before = tree(Path(table.path))

    def fail(*_args: object, **_options: object) -> None:
        raise StorageError("the disk is full")

    monkeypatch.setattr("hudiformat.transaction.publishing.complete", fail)
    with pytest.raises(CommitError, match="could not be completed: the disk is full") as caught:
        table.upsert(rows(("a", 2, "x", 2), ("b", 1, "y", 3)))
    assert caught.value.path == table.path
    assert tree(Path(table.path)) == before


def abandoned(table: Table, data: pa.Table) -> Transaction:
    """A write whose writer has written its files, and then is never heard of again."""
    write = begin_write(table.context, Operation.UPSERT)
    with WriteTask(write.plan, WriteToken(0, 0, 0)) as task:
        for batch in data.to_batches():
            task.write_batch(batch)
        task.finish()
    return write


def test_a_writer_that_died_is_invisible_and_cleaned_up_by_the_next(tmp_path: Path, any_index: dict[str, str]) -> None:
    table = new_table(tmp_path / "t", schema=FLAGGED, options=any_index)
    table.insert(FIRST)
    dead = abandoned(table, SECOND).plan.instant
    assert [pending.state for pending in table.timeline.pending] == [State.INFLIGHT]
    assert len(of_instant(tmp_path / "t", dead)) > 4
    assert content(table) == BEFORE
    with pytest.raises(TableError, match=f"{dead} deltacommit .inflight. is not complete"):
        table.snapshot(as_of=dead)
    table.upsert(SECOND)
    assert content(table) == AFTER
    assert of_instant(tmp_path / "t", dead) == []


def test_a_process_that_is_killed(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", schema=FLAGGED, sync=True)
    table.insert(FIRST)
    script = (
        "import os, sys\n"
        "import hudiformat.transaction.publishing as publishing\n"
        "from hudiformat import open_table\n"
        "from tests.table.test_failures import SECOND, Clock\n"
        "publishing.complete = lambda *_a, **_k: os._exit(9)\n"
        "clock = Clock()\n"
        "clock.now = clock.now.replace(hour=13)\n"
        "open_table(sys.argv[1], clock=clock).upsert(SECOND)\n"
    )
    killed = subprocess.run([sys.executable, "-c", script, table.path], check=False, cwd=Path(__file__).parents[2])
    assert killed.returncode == 9
    (pending,) = table.timeline.pending
    assert content(table) == BEFORE
    table.context.clock.now = table.context.clock.now.replace(hour=14)  # type: ignore[attr-defined]
    table.upsert(SECOND)
    assert content(table) == AFTER
    assert of_instant(tmp_path / "t", pending.time) == []


class StopError(Exception):
    """What a writer stops with."""


def stop_after(table: Table, data: pa.Table, *, finish: bool) -> None:
    """A write that stops after its rows were handed over, or after the last file was closed."""
    with begin_write(table.context, Operation.UPSERT) as write, WriteTask(write.plan, WriteToken(0, 0, 0)) as task:
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
    write = begin_write(table.context, Operation.INSERT)
    for _ in range(2):
        write.abandon()
    assert table.timeline.instants == ()
    write = begin_write(table.context, Operation.INSERT)
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
    with begin_write(table.context, Operation.UPSERT) as write:
        for attempt in range(2):
            with WriteTask(write.plan, WriteToken(0, 0, attempt)) as task:
                task.write_batch(data)
                stats = task.finish()  # those of the first attempt never arrive
        assert len(data_files(tmp_path / "t")) == 2
        commit = write.commit(stats)
    assert data_files(tmp_path / "t") == [commit.stats[0].path]
    assert "0-0-1" in (commit.stats[0].path or "")
    assert content(table) == [("a", 1, "x", 1)]


def test_a_rollback_does_not_touch_what_others_wrote(table: Table) -> None:
    table.insert(rows(("a", 1, "x", 1)))
    (Path(table.path) / "x" / "a-file-of-the-users").write_text("mine")
    (Path(table.path) / "x" / ".hidden").write_text("mine")
    before = tree(Path(table.path))
    with begin_write(table.context, Operation.UPSERT) as write:
        abandoned_task = WriteTask(write.plan, WriteToken(0, 0, 0))
        abandoned_task.write_batch(rows(("a", 2, "x", 2), ("b", 2, "x", 2)).to_batches()[0])
        abandoned_task.finish()
    assert tree(Path(table.path)) == before


def test_a_failed_write_of_hudis_whose_markers_are_gone(own_golden: Callable[[str], Path]) -> None:
    """The files that belong to the pending instant are found by their names."""
    path = own_golden("v9-mor-inflight-h120")
    table = open_table(path)
    (pending,) = table.timeline.pending
    expected = multiset(table.snapshot())
    assert any(pending.time in name for name in data_files(path))
    table.delete(table.snapshot().slice(0, 0))
    assert of_instant(path, pending.time) == []
    assert multiset(table.snapshot()) == expected


def test_markers_name_the_files_below_the_table(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    for path in ("p=1/q=2/f.parquet", "g.parquet", "p=1/q=2/f.parquet"):  # a second attempt finds the marker
        create_marker(storage, "1", path)
    storage.create(".hoodie/.temp/1/staged-0-0-0.arrow", b"")
    assert sorted(marked_files(storage, "1")) == ["g.parquet", "p=1/q=2/f.parquet"]
    assert list(marked_files(storage, "2")) == []


def test_a_marker_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / ".hoodie").mkdir()
    (tmp_path / ".hoodie" / ".temp").write_text("in the way")
    with pytest.raises(StorageError):
        create_marker(LocalStorage(tmp_path), "1", "f.parquet")


def test_two_tasks_may_enter_a_new_partition_at_once(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    create = LocalStorage.create

    def slower(storage: LocalStorage, path: str, data: bytes, **options: bool) -> None:
        if path.endswith("_partition_metadata"):
            create(storage, path, b"of the faster task", sync=False)
        create(storage, path, data, **options)

    monkeypatch.setattr(LocalStorage, "create", slower)
    table.insert(rows(("a", 1, "x", 1)))
    assert content(table) == [("a", 1, "x", 1)]
    assert [path for path, _ in list_partitions(table.context.storage)] == ["x"]
    assert (Path(table.path) / "x" / ".hoodie_partition_metadata").read_text() == "of the faster task"


def test_a_pending_compaction_of_hudis_is_left_alone(own_golden: Callable[[str], Path]) -> None:
    path = own_golden("v9-mor-compaction-pending-h120")
    table = open_table(path)
    pending = table.timeline.pending
    assert [instant.action.value for instant in pending] == ["compaction"]
    expected = multiset(table.snapshot())
    table.delete(table.snapshot().slice(0, 0))
    assert table.timeline.pending == pending
    assert multiset(table.snapshot()) == expected


def test_a_rollback_looks_at_names_that_are_not_hudis(table: Table) -> None:
    abandoned(table, rows(("a", 1, "x", 1)))
    (Path(table.path) / "x" / "notes.txt").write_text("mine")
    table.insert(rows(("b", 1, "y", 1)))
    assert sorted(path for path in tree(Path(table.path)) if path.startswith("x")) == [
        "x/",
        "x/.hoodie_partition_metadata",
        "x/notes.txt",
    ]


def test_a_partition_that_cannot_be_made_is_an_error(table: Table) -> None:
    (Path(table.path) / "x").write_text("a file in the way")
    with pytest.raises(StorageError):
        table.insert(rows(("a", 1, "x", 1)))
    assert table.timeline.instants == ()


def test_rows_put_aside_come_back(table: Table) -> None:
    with begin_write(table.context, Operation.UPSERT) as write:
        data = rows(("a", 1, "x", 1), ("b", 1, "y", 2))
        storage, folder = table.context.storage, write.plan.instant
        paths = [
            stage(storage, folder, WriteToken(task, 0, 0), SCHEMA, data.slice(task, 1).to_batches())
            for task in range(2)
        ]
        assert read_staged(storage, SCHEMA, paths).equals(data)
        assert read_staged(storage, SCHEMA, []).num_rows == 0
        assert list(marked_files(table.context.storage, write.plan.instant)) == []
    assert not any("staged" in path for path in tree(Path(table.path)))


def test_a_task_that_goes_on_after_its_write_was_rolled_back_leaves_nothing(table: Table) -> None:
    """The next writer finds the markers of an instant that is nowhere, and takes the files away."""
    table.insert(rows(("a", 1, "x", 1)))
    write = begin_write(table.context, Operation.UPSERT)
    write.abandon()
    with WriteTask(write.plan, WriteToken(0, 0, 0)) as task:
        task.write_batch(rows(("a", 2, "x", 2), ("b", 1, "new", 3)).to_batches()[0])
        task.finish()
    assert len(of_instant(Path(table.path), write.plan.instant)) > 2
    assert content(table) == [("a", 1, "x", 1)]
    table.upsert(rows(("c", 1, "x", 4)))
    assert of_instant(Path(table.path), write.plan.instant) == []
    assert not (Path(table.path) / "new").exists()
    assert content(table) == [("a", 1, "x", 1), ("c", 1, "x", 4)]


@pytest.mark.parametrize("table_type", ["MERGE_ON_READ", "COPY_ON_WRITE"])
def test_a_task_that_goes_on_after_the_commit_leaves_nothing(
    tmp_path: Path, any_index: dict[str, str], table_type: str
) -> None:
    """Such as a speculative attempt that its engine has given up: the next writer takes its files away."""
    table = new_table(tmp_path / "t", table_type=table_type, options=any_index)
    table.insert(rows(("a", 1, "x", 1)))
    data = rows(("a", 2, "x", 2), ("b", 1, "new", 3)).to_batches()[0]
    with begin_write(table.context, Operation.UPSERT) as write:
        attempts = [WriteTask(write.plan, WriteToken(0, 0, number)) for number in range(2)]
        for task in attempts:
            task.write_batch(data)
        commit = write.commit(attempts[0].finish())
        attempts[1].finish()
    expected = [("a", 2, "x", 2), ("b", 1, "new", 3)]
    assert content(table) == expected
    assert len(of_instant(tmp_path / "t", commit.instant)) > len(commit.stats) + 3
    planned = table_type == "MERGE_ON_READ" and table.schedule_compaction() is not None
    table.upsert(rows(("c", 1, "new", 3)))
    late = [path for path in of_instant(tmp_path / "t", commit.instant) if "0-0-1" in path]
    assert bool(late) is planned  # a plan may name them
    if planned:
        table.compact()
    table.upsert(rows(("c", 2, "new", 3)))
    assert [path for path in of_instant(tmp_path / "t", commit.instant) if "0-0-1" in path] == []
    assert not (tmp_path / "t" / ".hoodie" / ".temp" / commit.instant).exists()
    assert content(table) == [*expected, ("c", 2, "new", 3)]


def test_markers_that_stayed_behind_a_commit_mean_nothing(table: Table) -> None:
    commit = table.insert(rows(("a", 1, "x", 1)))
    create_marker(table.context.storage, commit.instant, commit.stats[0].path or "")
    table.upsert(rows(("a", 2, "x", 2)))
    assert content(table) == [("a", 2, "x", 2)]
    assert content(table, as_of=commit.instant) == [("a", 1, "x", 1)]
