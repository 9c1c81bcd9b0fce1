"""Savepoints, and restoring a table to one."""

from __future__ import annotations

import pytest

from hudiformat import CommitError, Table
from hudiformat.services.savepoints import delete_savepoint, restore, savepoint
from hudiformat.timeline.archive.archiving import ArchiveLimits, archive_instants
from hudiformat.timeline.contents import read_content
from hudiformat.timeline.rollbacks import RestoreMetadata
from tests.tables import content, rows


def test_a_savepoint_keeps_a_write(table: Table) -> None:
    first = table.insert(rows(("a", 1, "x", 1)))
    savepoint(table._context, first.instant, user="me", comment="before the flood")
    with pytest.raises(CommitError, match="has a savepoint; delete the savepoint first"):
        table.rollback(first.instant)
    delete_savepoint(table._context, first.instant)
    table.rollback(first.instant)
    assert content(table) == []
    with pytest.raises(CommitError, match="has no savepoint"):
        delete_savepoint(table._context, first.instant)


def test_restoring_to_a_savepoint(table: Table) -> None:
    table.insert(rows(("a", 1, "x", 1)))
    kept = table.upsert(rows(("b", 1, "x", 1)))
    savepoint(table._context, kept.instant)
    for step in (2, 3):
        table.upsert(rows(("a", step, "x", step), ("c", step, "y", step)))
    (done,) = restore(table._context, kept.instant)
    assert content(table) == [("a", 1, "x", 1), ("b", 1, "x", 1)]
    said = read_content(table._context.storage, table.config, done)
    assert isinstance(said, RestoreMetadata)
    assert len(said.instants_to_rollback) == 2
    assert list(said.instants_to_rollback) == sorted(said.instants_to_rollback, reverse=True)
    table.upsert(rows(("a", 4, "x", 4)))
    assert content(table) == [("a", 4, "x", 4), ("b", 1, "x", 1)]


def test_a_savepoint_of_a_write_that_was_compacted_since_changes_no_rows(table: Table) -> None:
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "x", 1)))
    gone = table.delete(rows(("a", None, "x")).select(["k", "p"]))
    assert table.compact()
    table.upsert(rows(("a", 3, "x", 3)))
    savepoint(table._context, gone.instant)
    assert content(table) == [("a", 3, "x", 3), ("b", 1, "x", 1)]


def test_a_table_that_is_restored_to_a_savepoint_has_the_rows_of_archived_writes(table: Table) -> None:
    for ts in range(4):
        kept = table.bulk_insert(rows((f"k{ts}", ts, "x", ts)))
    savepoint(table._context, kept.instant)
    state = table._context.state()
    assert archive_instants(state.storage, state.config, ArchiveLimits(2, 1, compaction_delta_commits=1))
    table.bulk_insert(rows(("later", 9, "x", 9)))
    restore(table._context, kept.instant)
    assert [key for key, *_ in content(table)] == ["k0", "k1", "k2", "k3"]


def test_a_later_savepoint_keeps_a_table_from_being_restored(table: Table) -> None:
    first = table.insert(rows(("a", 1, "x", 1)))
    second = table.insert(rows(("b", 1, "x", 1)))
    savepoint(table._context, second.instant)
    with pytest.raises(CommitError, match=f"{second.instant} has a savepoint"):
        restore(table._context, first.instant)
