"""``hudiformat history``."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.cli.support import Command
from tests.tables import new_table, rows


def test_each_commit_is_a_line(command: Command, tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    first = table.upsert(rows(("a", 1, "x", 1), ("b", 1, "x", 2)))
    second = table.delete(where="k = 'b'")
    result = command("history", table.path)
    assert (result.code, result.err) == (0, "")
    heads, newest, oldest = (line.split() for line in result.lines)
    assert heads == ["instant", "action", "operation", "inserted", "updated", "deleted", "files", "bytes", "seconds"]
    assert newest[:7] == [second.instant, "deltacommit", "delete", "0", "0", "1", "1"]
    assert oldest[:7] == [first.instant, "deltacommit", "upsert", "2", "0", "0", "1"]
    assert len(command("history", "--limit", 10**20, "--json", table.path).json) == len(table.history())
    found = command("history", "--limit", 1, "--json", table.path).json
    assert [one["instant"] for one in found] == [second.instant]
    assert found == table.history().slice(0, 1).to_pylist()


def test_commits_that_a_copy_has_not(command: Command, tmp_path: Path) -> None:
    table, copy = new_table(tmp_path / "t"), tmp_path / "copy"
    first = table.upsert(rows(("a", 1, "x", 1)))
    empty = tmp_path / "empty"
    shutil.copytree(table.path, empty)
    for name in table.timeline.instants:
        for path in (empty / ".hoodie" / "timeline").glob(f"{name.time}*"):
            path.unlink()
    shutil.copytree(table.path, copy)
    later = [table.upsert(rows(("a", number, "x", 1))) for number in (2, 3)]
    newest_first = [one.instant for one in reversed(later)]

    def found(of: object, other: object) -> list[str]:
        return [one["instant"] for one in command("history", of, "--missing-in", other, "--json").json]

    assert found(table.path, copy) == newest_first
    assert found(table.path, empty) == [*newest_first, first.instant]
    assert found(copy, table.path) == []
    assert command("history", table.path, "--missing-in", tmp_path).code == 2


def test_a_folder_that_is_no_table(command: Command, tmp_path: Path) -> None:
    result = command("history", tmp_path)
    assert result.code == 2
    assert "is not a Hudi table" in result.err
