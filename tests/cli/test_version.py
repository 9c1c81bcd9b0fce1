"""``hudiformat version``."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import Table, open_table
from tests.cli.support import Command
from tests.tables import content, new_table, rows


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = new_table(tmp_path / "t", version=6)
    table.upsert(rows(("a", 1, "x", 1)))
    return table


def test_showing_the_version(command: Command, table: Table) -> None:
    assert command("version", table.path).lines == ["version 6"]
    assert command("version", "--json", table.path).json == [{"version": 6, "before": 6}]


def test_changing_the_version(command: Command, table: Table) -> None:
    result = command("version", table.path, "--to", "9")
    assert (result.code, result.lines) == (0, ["changed from version 6 to version 9"])
    assert command("version", "--json", table.path, "--to", "8").json == [{"version": 8, "before": 9}]
    assert content(open_table(table.path)) == [("a", 1, "x", 1)]


def test_a_version_that_there_is_not(command: Command, table: Table) -> None:
    result = command("version", table.path, "--to", "7")
    assert result.code == 2
    assert "'6', '8', '9'" in result.err
