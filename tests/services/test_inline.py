"""Compaction right after a write, when it is due."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import HudiFormatWarning, StorageError, Table, create_table, open_table
from hudiformat.timeline.archive.archiving import read_archived
from hudiformat.timeline.timeline import Action
from tests.tables import SCHEMA, Clock, content, data_files, new_table, rows

DUE = {
    "hoodie.compact.inline": "true",
    "hoodie.compact.inline.max.delta.commits": "2",
    "hoodie.index.type": "INMEMORY",
}


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return new_table(tmp_path / "table", options=DUE)


def compactions(table: Table) -> int:
    return sum(done.action is Action.COMMIT for done in table.timeline.completed)


def test_every_second_delta_commit_is_followed_by_a_compaction(table: Table) -> None:
    done = []
    for number in range(4):
        table.upsert(rows(("a", number, "x", number)))
        done.append(compactions(table))
    assert done == [0, 1, 1, 2]
    assert table.read_optimized()["ts"].to_pylist() == [3]


def test_nobody_compacts_who_was_not_asked_to(table: Table) -> None:
    quiet = open_table(table.path)
    for number in range(6):
        quiet.upsert(rows(("a", number, "x", number)))
    assert compactions(quiet) == 0


def test_copy_on_write_tables_have_nothing_to_compact(tmp_path: Path) -> None:
    table = create_table(
        tmp_path / "cow", name="t", schema=SCHEMA, record_key=["k"], table_type="COPY_ON_WRITE",
        options={**DUE, "hoodie.compact.inline.max.delta.commits": "1"},
    )  # fmt: skip
    table.upsert(rows(("a", 1, "x", 1)))
    assert len(table.timeline.instants) == 1


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
    assert read_archived(table._context.storage, table.config, contents=False)
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
