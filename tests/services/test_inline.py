"""Compaction right after a write, when it is due."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import Table, create_table, open_table
from hudiformat.timeline import Action
from tests.tables import SCHEMA, new_table, rows

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
