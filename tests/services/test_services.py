"""Cleaning, rolling back, savepoints and restoring."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hudiformat import CommitError, Table, open_table
from hudiformat.services import clean, delete_savepoint, plan_clean, restore, roll_back, savepoint
from hudiformat.table.service_options import BY_HOURS, BY_VERSIONS, ServiceOptions
from hudiformat.timeline import Action, CleanMetadata, RestoreMetadata, read_content
from tests.table.golden import unpack
from tests.table.support import Clock, content, data_files, new_table, rows


def served(table: Table, **options: object) -> Table:
    """*table* with other options of services."""
    services = ServiceOptions(**options)  # type: ignore[arg-type]
    return Table(replace(table.context, options=replace(table.context.options, services=services)))


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return new_table(tmp_path / "table", clock=Clock())


def test_rolling_back_the_newest_write(table: Table) -> None:
    table.insert(rows(("a", 1, "x", 1)))
    before = data_files(Path(table.path))
    second = table.upsert(rows(("a", 2, "x", 2), ("b", 2, "y", 2)))
    done = roll_back(table.context, second.instant)
    assert done.action is Action.ROLLBACK
    assert content(table) == [("a", 1, "x", 1)]
    assert data_files(Path(table.path)) == before
    assert not table.timeline.pending


def test_older_writes_are_not_rolled_back_before_newer_ones(table: Table) -> None:
    first = table.insert(rows(("a", 1, "x", 1)))
    second = table.upsert(rows(("a", 2, "x", 2)))
    with pytest.raises(CommitError, match=f"before the writes after it: {second.instant}"):
        roll_back(table.context, first.instant)
    assert content(table) == [("a", 2, "x", 2)]


def test_what_is_no_write_cannot_be_rolled_back(table: Table) -> None:
    first = table.insert(rows(("a", 1, "x", 1)))
    with pytest.raises(CommitError, match=f"there is no write '1' on the active timeline; .* are {first.instant}"):
        roll_back(table.context, "1")


def test_a_savepoint_keeps_a_write(table: Table) -> None:
    first = table.insert(rows(("a", 1, "x", 1)))
    savepoint(table.context, first.instant, user="me", comment="before the flood")
    with pytest.raises(CommitError, match="has a savepoint; delete that first"):
        roll_back(table.context, first.instant)
    delete_savepoint(table.context, first.instant)
    roll_back(table.context, first.instant)
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


@pytest.mark.parametrize(("policy", "left"), [(BY_HOURS, 5), (BY_VERSIONS, 2)])
def test_other_policies(table: Table, policy: str, left: int) -> None:
    table = served(table, clean_policy=policy, clean_versions=2)
    for step in range(5):
        table.insert(rows((f"k{step}", step, "x", step)))
    assert (clean(table.context) is None) is (left == 5)
    assert len([file for file in data_files(Path(table.path)) if file.endswith(".parquet")]) == left
    assert len(content(table)) == 5


def test_what_a_savepoint_keeps_is_not_cleaned(table: Table) -> None:
    table = served(table, clean_policy=BY_VERSIONS, clean_versions=1)
    commits = [table.insert(rows((f"k{step}", step, "x", step))) for step in range(3)]
    savepoint(table.context, commits[0].instant)
    assert clean(table.context) is not None
    assert len(content(table, as_of=commits[0].instant)) == 1


def test_replaced_file_groups_are_cleaned(tmp_path: Path) -> None:
    table = served(open_table(unpack("v9-cow-replaced-h120", tmp_path).table), clean_commits=1)
    before = content(table, columns=["_hoodie_record_key"])
    files = data_files(Path(table.path))
    plan = plan_clean(table.context)
    assert plan is not None
    done = clean(table.context)
    assert done is not None
    said = read_content(table.context.storage, table.config, done)
    assert isinstance(said, CleanMetadata)
    assert said.total_files_deleted == len(files) - len(data_files(Path(table.path))) > 0
    assert content(table, columns=["_hoodie_record_key"]) == before
    assert clean(table.context) is None
