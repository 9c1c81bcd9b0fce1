"""``hudiformat index``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import pytest

from hudiformat import Table
from tests.cli.support import Command
from tests.metadata_tables import add_secondary_index
from tests.tables import new_table, rows


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = new_table(tmp_path / "t")
    table.upsert(rows(("a", 1, "x", 1)))
    return table


def test_building_showing_and_dropping(command: Command, table: Table) -> None:
    assert command("index", table.path).lines == ["no indexes"]
    result = command("index", table.path, "--create", "column_stats", "--columns", "ts, v")
    assert (result.code, result.lines) == (0, ["column_stats: built", "files: built"])
    assert command("index", table.path).lines == ["column_stats", "files"]
    assert command("index", "--json", table.path, "--create", "record_index").json == [
        {"indexes": ["column_stats", "files", "record_index"], "before": ["column_stats", "files"]}
    ]
    assert command("index", table.path, "--drop", "record_index").lines == [
        "column_stats",
        "files",
        "record_index: dropped",
    ]


def test_indexes_that_need_another_go_with_it_on_request(command: Command, table: Table) -> None:
    command("index", table.path, "--create", "record_index")
    add_secondary_index(Path(table.path), "v")
    result = command("index", table.path, "--drop", "record_index")
    assert (result.code, "--dependents" in result.err) == (2, True)
    assert command("index", table.path, "--drop", "record_index", "--dependents").lines == [
        "files",
        "record_index: dropped",
        "secondary_index_v: dropped",
    ]
    assert "with --dependents" in command("index", table.path, "--dependents").err


def test_an_index_that_there_is_not(command: Command, table: Table) -> None:
    result = command("index", table.path, "--create", "nothing")
    assert result.code == 2
    assert "expected one of files" in result.err


def test_options_that_do_not_go_together(command: Command, table: Table) -> None:
    assert "found both" in command("index", table.path, "--create", "files", "--drop", "files").err
    assert "with --columns" in command("index", table.path, "--columns", "v").err


def test_a_bar_for_each_index(command: Command, table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[object] = []

    @contextmanager
    def bar(title: str, size: int) -> Iterator[object]:
        shown.append(title)
        yield lambda done: shown.append(done == size)

    monkeypatch.setattr(import_module("hudiformat.cli.index"), "progress_bar", bar)
    command("index", table.path, "--create", "column_stats")
    command("index", table.path, "--create", "record_index")
    assert shown == ["building column_stats", True, "building record_index", True]
