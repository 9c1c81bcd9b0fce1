"""What a rollback deletes, and what it leaves alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hudiformat import CommitError, Table, WriteConflictError, open_storage, open_table
from hudiformat.naming.file_names import WriteToken
from hudiformat.storage.local import LocalStorage
from hudiformat.table.options.values import Operation
from hudiformat.write.commit.files import refuse_finished_write
from hudiformat.write.commit.markers import create_marker, marked_instants
from hudiformat.write.commit.rollback import rollback_requests
from hudiformat.write.commit.transaction import begin_write
from hudiformat.write.write import WriteTask
from tests.requests import RecordingStorage
from tests.tables import content, data_files, multiset, new_table, rows, tree
from tests.write.commit.support import abandoned, of_instant


def test_a_rollback_does_not_touch_what_others_wrote(table: Table) -> None:
    table.insert(rows(("a", 1, "x", 1)))
    (Path(table.path) / "x" / "a-file-of-the-users").write_text("mine")
    (Path(table.path) / "x" / ".hidden").write_text("mine")
    before = tree(Path(table.path))
    with begin_write(table._context, Operation.UPSERT) as write:
        abandoned_task = WriteTask(write.plan, WriteToken(0, 0, 0))
        abandoned_task.write_batch(rows(("a", 2, "x", 2), ("b", 2, "x", 2)).to_batches()[0])
        abandoned_task.finish()
    assert tree(Path(table.path)) == before


def test_a_write_with_a_savepoint_whose_completion_is_lost_is_not_rolled_back(table: Table) -> None:
    """The savepoint keeps its files; a rollback took the savepoint for the completion, and writers tried for ever."""
    table.insert(rows(("a", 1, "x", 1)))
    commit = table.upsert(rows(("a", 2, "x", 2)))
    table.savepoint(commit)
    (lost,) = Path(table.path).rglob(f"{commit.instant}*.deltacommit")
    lost.unlink()
    before = data_files(Path(table.path))
    with pytest.raises(CommitError, match="has a savepoint and is not complete: its completed file is lost"):
        table.upsert(rows(("b", 3, "x", 3)))
    assert data_files(Path(table.path)) == before
    table.delete_savepoint(commit)
    table.upsert(rows(("b", 3, "x", 3)))
    assert content(table) == [("a", 1, "x", 1), ("b", 3, "x", 3)]


def test_a_log_file_that_its_writer_deletes_meanwhile_stops_no_rollback(tmp_path: Path) -> None:
    """In table version 6 the blocks of log files say whose they are; another writer gives up, and deletes its own."""
    path = tmp_path / "t"
    table = new_table(path, version=6, table_type="MERGE_ON_READ")
    table.insert(rows(("a", 1, "x", 1)))
    last = table.upsert(rows(("a", 2, "x", 2)))
    (log,) = path.glob("x/.*.log.1_*")
    other = log.with_name(log.name.replace(".log.1_", ".log.2_"))
    other.write_bytes(log.read_bytes())
    storage = RecordingStorage(open_storage(path))

    def delete(number: int) -> None:
        asked = storage.requests[number]
        if asked.kind == "map" and asked.path.endswith(other.name):
            other.unlink()

    storage.before = delete
    (request,) = rollback_requests(storage, last.instant)
    assert [Path(name).name for name in request.log_blocks_to_be_deleted or ()] == [log.name]
    assert not other.exists()


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


def test_a_rollback_looks_at_names_that_are_not_hudis(table: Table) -> None:
    abandoned(table, rows(("a", 1, "x", 1)))
    (Path(table.path) / "x" / "notes.txt").write_text("mine")
    table.insert(rows(("b", 1, "y", 1)))
    assert sorted(path for path in tree(Path(table.path)) if path.startswith("x")) == [
        "x/",
        "x/.hoodie_partition_metadata",
        "x/notes.txt",
    ]


def test_a_task_that_goes_on_after_its_write_was_rolled_back_leaves_nothing(table: Table) -> None:
    """The next writer finds the markers of an instant that is nowhere, and takes the files away."""
    table.insert(rows(("a", 1, "x", 1)))
    write = begin_write(table._context, Operation.UPSERT)
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
    with begin_write(table._context, Operation.UPSERT) as write:
        attempts = [WriteTask(write.plan, WriteToken(0, 0, number)) for number in range(2)]
        for task in attempts:
            task.write_batch(data)
        commit = write.commit(attempts[0].finish())
        attempts[1].finish()
    expected = [("a", 2, "x", 2), ("b", 1, "new", 3)]
    assert content(table) == expected
    assert len(of_instant(tmp_path / "t", commit.instant)) > len(commit.stats) + 3
    planned = table_type == "MERGE_ON_READ" and bool(table.schedule_compaction())
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
    create_marker(table._context.storage, commit.instant, commit.stats[0].path or "")
    table.upsert(rows(("a", 2, "x", 2)))
    assert content(table) == [("a", 2, "x", 2)]
    assert content(table, as_of=commit.instant) == [("a", 1, "x", 1)]


def test_a_task_that_ends_after_its_write_was_given_up_deletes_its_files(table: Table) -> None:
    """Its marker was there before, the file comes after, so that nothing of it is found by others any more."""
    table.insert(rows(("a", 1, "x", 1)))
    write = begin_write(table._context, Operation.UPSERT)
    task = WriteTask(write.plan, WriteToken(0, 0, 0))
    task.write_batch(rows(("a", 2, "x", 2), ("b", 1, "new", 3)).to_batches()[0])
    stats = task.finish()
    paths = [Path(table.path) / (stat.path or "") for stat in stats]
    made = [path.read_bytes() for path in paths]
    write.abandon()
    for path, content_of in zip(paths, made, strict=True):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content_of)
    with pytest.raises(WriteConflictError, match="to wait for this task, found it over"):
        refuse_finished_write(table._context.storage, write.plan.config, write.plan.instant, stats)
    assert [path for path in paths if path.exists()] == []
    assert content(table) == [("a", 1, "x", 1)]


def test_a_task_that_ends_after_its_write_was_committed_leaves_no_marker(table: Table) -> None:
    table.insert(rows(("a", 1, "x", 1)))
    with begin_write(table._context, Operation.UPSERT) as write:
        first, slow = (WriteTask(write.plan, WriteToken(0, 0, attempt)) for attempt in range(2))
        for task in (first, slow):
            task.write_batch(rows(("a", 2, "x", 2)).to_batches()[0])
        commit = write.commit(first.finish())
    stats = slow.finish()
    assert marked_instants(table._context.storage) == [commit.instant]
    with pytest.raises(WriteConflictError, match="to wait for this task, found it over"):
        refuse_finished_write(table._context.storage, write.plan.config, write.plan.instant, stats)
    assert marked_instants(table._context.storage) == []
    assert content(table) == [("a", 2, "x", 2)]
    assert table.verify() == []


def test_a_write_that_is_given_up_finds_what_a_task_makes_meanwhile(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task still sees its marker, and so believes that its write goes on."""
    write = abandoned(table, rows(("a", 1, "x", 1)))
    (name,) = [name for name in tree(Path(table.path)) if name.startswith("x/") and write.plan.instant in name]
    late, data = Path(table.path) / name, (Path(table.path) / name).read_bytes()
    delete_folder = LocalStorage.delete_folder

    def delete(storage: LocalStorage, path: str) -> bool:
        if path.endswith(write.plan.instant) and storage.exists(path):
            late.parent.mkdir(exist_ok=True)
            late.write_bytes(data)
        return delete_folder(storage, path)

    monkeypatch.setattr(LocalStorage, "delete_folder", delete)
    write.abandon()
    assert of_instant(Path(table.path), write.plan.instant) == []


def test_a_folder_with_the_name_of_a_data_file_is_nobodys_to_delete(table: Table) -> None:
    table.insert(rows(("b", 1, "x", 1)))
    instant = abandoned(table, rows(("a", 1, "x", 1))).instant.time
    folder = Path(table.path) / "x" / f"0a000000-0000-4000-8000-000000000000-0_0-0-0_{instant}.parquet"
    folder.mkdir()
    (folder / "mine").write_text("mine")
    table.insert(rows(("c", 1, "y", 1)))
    assert (folder / "mine").read_text() == "mine"
    assert content(table) == [("b", 1, "x", 1), ("c", 1, "y", 1)]


def test_a_task_that_begins_a_file_after_the_commit_deletes_it(table: Table) -> None:
    """It has made a marker of its own since, so that there are markers again."""
    write = begin_write(table._context, Operation.UPSERT)
    slow, quick = (WriteTask(write.plan, WriteToken(0, 0, number)) for number in (1, 2))
    batch = rows(("a", 1, "x", 1)).to_batches()[0]
    quick.write_batch(batch)
    write.commit(quick.finish_apart())
    slow.write_batch(batch)
    with pytest.raises(WriteConflictError, match="to wait for this task, found it over"):
        slow.finish_apart()
    assert [name for name in data_files(Path(table.path)) if "_0-0-1" in name] == []
    assert content(table) == [("a", 1, "x", 1)]
