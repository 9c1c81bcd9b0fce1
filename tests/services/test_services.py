"""Cleaning, rolling back, savepoints and restoring."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hudiformat import CommitError, HudiFormatWarning, StorageError, Table, UnsupportedFeatureError, open_table
from hudiformat.options.values import CleanPolicy, ServiceOptions
from hudiformat.services import clean, delete_savepoint, plan_clean, restore, savepoint
from hudiformat.timeline import Action, CleanMetadata, RestoreMetadata, State, read_archived, read_content
from tests.tables import Clock, content, data_files, new_table, rows, unpack


def served(table: Table, **options: object) -> Table:
    """*table* with other options of services."""
    by_hand: dict[str, Any] = {"clean_automatic": False, "archive_automatic": False}
    services = ServiceOptions(**{**by_hand, **options})
    return Table(replace(table.context, options=replace(table.context.options, services=services)))


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return new_table(tmp_path / "table", clock=Clock())


def test_rolling_back_the_newest_write(table: Table) -> None:
    table.insert(rows(("a", 1, "x", 1)))
    before = data_files(Path(table.path))
    second = table.upsert(rows(("a", 2, "x", 2), ("b", 2, "y", 2)))
    done = table.rollback(second.instant)
    assert done.action is Action.ROLLBACK
    assert content(table) == [("a", 1, "x", 1)]
    assert data_files(Path(table.path)) == before
    assert not table.timeline.pending


def test_older_writes_are_not_rolled_back_before_newer_ones(table: Table) -> None:
    first = table.insert(rows(("a", 1, "x", 1)))
    second = table.upsert(rows(("a", 2, "x", 2)))
    with pytest.raises(CommitError, match=f"before the writes after it: {second.instant}"):
        table.rollback(first.instant)
    assert content(table) == [("a", 2, "x", 2)]


def test_what_is_no_write_cannot_be_rolled_back(table: Table) -> None:
    first = table.insert(rows(("a", 1, "x", 1)))
    with pytest.raises(CommitError, match=f"there is no write '1' on the active timeline; .* are {first.instant}"):
        table.rollback("1")


def test_a_savepoint_keeps_a_write(table: Table) -> None:
    first = table.insert(rows(("a", 1, "x", 1)))
    savepoint(table.context, first.instant, user="me", comment="before the flood")
    with pytest.raises(CommitError, match="has a savepoint; delete that first"):
        table.rollback(first.instant)
    delete_savepoint(table.context, first.instant)
    table.rollback(first.instant)
    assert content(table) == []
    with pytest.raises(CommitError, match="has no savepoint"):
        delete_savepoint(table.context, first.instant)


def test_restoring_to_a_savepoint(table: Table) -> None:
    table.insert(rows(("a", 1, "x", 1)))
    kept = table.upsert(rows(("b", 1, "x", 1)))
    savepoint(table.context, kept.instant)
    for step in (2, 3):
        table.upsert(rows(("a", step, "x", step), ("c", step, "y", step)))
    done = restore(table.context, kept.instant)
    assert content(table) == [("a", 1, "x", 1), ("b", 1, "x", 1)]
    said = read_content(table.context.storage, table.config, done)
    assert isinstance(said, RestoreMetadata)
    assert len(said.instants_to_rollback) == 2
    assert list(said.instants_to_rollback) == sorted(said.instants_to_rollback, reverse=True)
    table.upsert(rows(("a", 4, "x", 4)))
    assert content(table) == [("a", 4, "x", 4), ("b", 1, "x", 1)]


def test_a_later_savepoint_keeps_a_table_from_being_restored(table: Table) -> None:
    first = table.insert(rows(("a", 1, "x", 1)))
    second = table.insert(rows(("b", 1, "x", 1)))
    savepoint(table.context, second.instant)
    with pytest.raises(CommitError, match=f"{second.instant} has a savepoint"):
        restore(table.context, first.instant)


def test_cleaning_keeps_the_newest_slice_and_those_of_the_window(table: Table) -> None:
    table = served(table, clean_commits=2)
    commits = [table.insert(rows((f"k{step}", step, "x", step))) for step in range(5)]  # each rewrites the small file
    bases = [file for file in data_files(Path(table.path)) if file.endswith(".parquet")]
    assert len(bases) == 5
    done = clean(table.context)
    assert done is not None
    kept = [file for file in data_files(Path(table.path)) if file.endswith(".parquet")]
    assert sorted(kept) == sorted(file for file in bases if any(one.instant in file for one in commits[2:]))
    assert len(content(table)) == 5
    assert len(content(table, as_of=commits[3].instant)) == 4
    assert clean(table.context) is None


@pytest.mark.parametrize(("policy", "left"), [(CleanPolicy.BY_HOURS, 5), (CleanPolicy.BY_VERSIONS, 2)])
def test_other_policies(table: Table, policy: str, left: int) -> None:
    table = served(table, clean_policy=policy, clean_versions=2)
    for step in range(5):
        table.insert(rows((f"k{step}", step, "x", step)))
    assert (clean(table.context) is None) is (left == 5)
    assert len([file for file in data_files(Path(table.path)) if file.endswith(".parquet")]) == left
    assert len(content(table)) == 5


def test_what_a_savepoint_keeps_is_not_cleaned(table: Table) -> None:
    table = served(table, clean_policy=CleanPolicy.BY_VERSIONS, clean_versions=1)
    commits = [table.insert(rows((f"k{step}", step, "x", step))) for step in range(3)]
    savepoint(table.context, commits[0].instant)
    assert clean(table.context) is not None
    assert len(content(table, as_of=commits[0].instant)) == 1


def test_replaced_file_groups_are_cleaned(tmp_path: Path) -> None:
    table = served(open_table(unpack("v9-cow-replaced-h120", tmp_path).table), clean_commits=1)
    before = content(table, columns=["_hoodie_record_key"])
    files = data_files(Path(table.path))
    plan = plan_clean(table.context.state())
    assert plan is not None
    done = clean(table.context)
    assert done is not None
    said = read_content(table.context.storage, table.config, done)
    assert isinstance(said, CleanMetadata)
    assert said.total_files_deleted == len(files) - len(data_files(Path(table.path))) > 0
    assert content(table, columns=["_hoodie_record_key"]) == before
    assert clean(table.context) is None


def logged(table: Table) -> Table:
    """*table* with a file group that has a base file and two log files."""
    bucketed = new_table(Path(table.path).parent / "logged", clock=Clock(), options={"hoodie.index.type": "INMEMORY"})
    bucketed.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "x", 1), ("c", 1, "x", 1)))
    bucketed.upsert(rows(("a", 2, "x", 2)))
    bucketed.delete(rows(("b", 9, "x")))
    return bucketed


def test_compaction_merges_log_files_into_a_base_file(table: Table) -> None:
    table = logged(table)
    before = content(table)
    (commit,) = table.compact()
    assert (commit.action, len(commit.stats)) == ("commit", 1)
    (found,) = table.file_slices()
    assert (found.base_instant, found.log_files) == (commit.instant, ())
    assert content(table) == before == [("a", 2, "x", 2), ("c", 1, "x", 1)]
    assert table.read_optimized().num_rows == 2
    names = table.snapshot(columns=["_hoodie_file_name"]).column(0).unique().to_pylist()
    assert found.base_file is not None
    assert names == [str(found.base_file.name)]
    assert not (Path(table.path) / ".hoodie" / ".temp" / commit.instant).exists()


def test_nothing_to_compact(table: Table) -> None:
    table.insert(rows(("a", 1, "x", 1)))
    assert table.schedule_compaction() is None
    assert table.compact() == []


def test_what_is_written_after_a_compaction_was_planned_stays_in_log_files(table: Table) -> None:
    table = logged(table)
    planned = table.schedule_compaction()
    assert planned is not None
    table.upsert(rows(("c", 2, "x", 5)))
    assert table.schedule_compaction() is None  # the file group is being compacted already
    assert content(table) == [("a", 2, "x", 2), ("c", 2, "x", 5)]
    (commit,) = table.compact()
    assert commit.instant == planned.time
    (found,) = table.file_slices()
    assert (found.base_instant, len(found.log_files)) == (planned.time, 1)
    assert content(table) == [("a", 2, "x", 2), ("c", 2, "x", 5)]


def test_a_compaction_that_was_stopped_is_run_again(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    table = logged(table)

    def stop(*_arguments: object, **_more: object) -> None:
        raise StorageError("the disk is full")

    monkeypatch.setattr("hudiformat.transaction.publishing.complete", stop)
    with pytest.raises(StorageError, match="disk is full"):
        table.compact()
    monkeypatch.undo()
    assert [pending.state for pending in table.timeline.pending] == [State.INFLIGHT]
    before = content(table)
    (commit,) = table.compact()
    assert content(table) == before
    assert not table.timeline.pending
    bases = [file for file in data_files(Path(table.path)) if commit.instant in file]
    assert len(bases) == 1


def test_a_compaction_that_cannot_write_leaves_its_plan(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    table = logged(table)

    def fail(*_arguments: object) -> None:
        raise StorageError("the disk is full")

    monkeypatch.setattr("hudiformat.write.handles.base_file.OpenBaseFile.write", fail)
    with pytest.raises(StorageError, match="disk is full"):
        table.compact()
    monkeypatch.undo()
    assert content(table) == [("a", 2, "x", 2), ("c", 1, "x", 1)]
    assert len(table.compact()) == 1


@pytest.mark.parametrize("options", [{"compaction_log_files": 3}, {"compaction_log_size": 10**6}])
def test_slices_that_are_not_worth_a_compaction(table: Table, options: dict[str, int]) -> None:
    assert served(logged(table), **options).schedule_compaction() is None


def test_a_compaction_takes_the_largest_logs_first_and_no_more_than_its_target(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", clock=Clock(), options={"hoodie.index.type": "INMEMORY"})
    table.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    table.upsert(rows(*((f"k{n}", 2, "y", 2) for n in range(100))))
    assert len(served(table, compaction_target_io_mb=1).compact()[0].stats) == 2
    table.upsert(rows(("a", 3, "x", 3)))
    table.upsert(rows(*((f"k{n}", 3, "y", 3) for n in range(100))))
    tiny = served(table, compaction_target_io_mb=0)
    (commit,) = tiny.compact()
    assert [stat.partition_path for stat in commit.stats] == ["y"]


def test_copy_on_write_tables_have_nothing_to_compact(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE")
    with pytest.raises(UnsupportedFeatureError, match="a copy-on-write table has no log files"):
        table.compact()


def test_a_compaction_can_be_rolled_back(table: Table) -> None:
    table = logged(table)
    before, files = content(table), data_files(Path(table.path))
    (commit,) = table.compact()
    table.rollback(commit.instant)
    assert content(table) == before
    assert data_files(Path(table.path)) == files
    assert not table.timeline.pending


def test_services_follow_a_write(tmp_path: Path) -> None:
    options = {
        "hoodie.index.type": "INMEMORY",
        "hoodie.compact.inline": "true",
        "hoodie.compact.inline.max.delta.commits": "2",
        "hoodie.clean.commits.retained": "2",
        "hoodie.keep.min.commits": "3",
        "hoodie.keep.max.commits": "4",
    }
    table = new_table(tmp_path / "t", clock=Clock(), options=options)
    table.bulk_insert(rows(("a", 0, "x", 0), ("b", 0, "y", 0)))
    for step in range(1, 12):
        table.upsert(rows(("a", step, "x", step)))
    actions = [done.action for done in table.timeline.completed]
    assert Action.COMMIT in actions
    assert Action.CLEAN in actions
    assert len(table.timeline.completed_writes) <= 6
    assert read_archived(table.context.storage, table.config, contents=False)
    assert content(table) == [("a", 11, "x", 11), ("b", 0, "y", 0)]
    assert len([file for file in data_files(Path(table.path)) if file.startswith("x/") and "parquet" in file]) <= 3


def test_a_service_that_fails_leaves_the_write(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object) -> None:
        raise StorageError("the disk is full")

    monkeypatch.setattr("hudiformat.services.inline.clean", fail)
    table = open_table(table.path, options={"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS"})
    with pytest.warns(HudiFormatWarning, match="is committed, but a service after it failed: the disk is full"):
        table.insert(rows(("a", 1, "x", 1)))
    assert content(table) == [("a", 1, "x", 1)]


def test_without_automatic_services_nothing_follows(tmp_path: Path) -> None:
    off = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
    table = new_table(tmp_path / "t", options={**off, "hoodie.clean.commits.retained": "1"})
    for step in range(4):
        table.insert(rows((f"k{step}", step, "x", step)))
    assert {done.action for done in table.timeline.completed} == {Action.DELTA_COMMIT}


def test_a_write_that_is_to_be_compacted_is_not_rolled_back(table: Table) -> None:
    table = logged(table)
    newest = table.timeline.completed_writes[-1].time
    planned = table.schedule_compaction()
    assert planned is not None
    with pytest.raises(CommitError, match=f"while {planned.time} compaction .* is going to read its files"):
        table.rollback(newest)
    table.rollback(planned.time)
    table.rollback(newest)
    assert content(table) == [("a", 2, "x", 2), ("b", 1, "x", 1), ("c", 1, "x", 1)]
