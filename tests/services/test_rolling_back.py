"""Rolling back the newest write."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import CommitError, Table
from hudiformat.timeline import Action
from tests.services.support import logged
from tests.tables import content, data_files, rows


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


def test_a_compaction_can_be_rolled_back(table: Table) -> None:
    table = logged(table)
    before, files = content(table), data_files(Path(table.path))
    (commit,) = table.compact()
    table.rollback(commit.instant)
    assert content(table) == before
    assert data_files(Path(table.path)) == files
    assert not table.timeline.pending


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
