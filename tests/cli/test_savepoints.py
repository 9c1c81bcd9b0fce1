"""``hudiformat savepoint`` and ``restore``."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import Table
from tests.cli.support import Command
from tests.tables import content, new_table, rows


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = new_table(tmp_path / "t")
    table.upsert(rows(("a", 1, "x", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    return table


def test_going_back_to_a_commit(command: Command, table: Table) -> None:
    first = table.timeline.completed[0].time
    result = command("savepoint", table.path, first, "--user", "me", "--comment", "before the import")
    assert (result.code, result.lines, result.err) == (0, [f"{first}: kept"], "")
    result = command("restore", table.path, first)
    assert (result.code, result.err) == (0, "")
    assert result.lines[0].endswith(f": restored to {first}")
    assert content(table) == [("a", 1, "x", 1)]
    assert command("savepoint", "--delete", "--json", table.path, first).json == [{"instant": first}]


def test_a_commit_that_is_not_there(command: Command, table: Table) -> None:
    result = command("restore", table.path, "20200101000000000")
    assert result.code == 2
    assert "20200101000000000" in result.err
    assert content(table) == [("a", 2, "x", 2)]


def test_for_programs(command: Command, table: Table) -> None:
    first = table.timeline.completed[0].time
    [found] = command("restore", "--json", table.path, first).json
    assert found["instant"] == table.timeline.instants[-1].time
