"""The history of a table says what each commit did."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tables import new_table, rows


@pytest.mark.parametrize("version", [6, 8, 9])
def test_each_commit_is_a_row(tmp_path: Path, version: int) -> None:
    table = new_table(tmp_path / "t", version=version)
    assert table.history().num_rows == 0
    commits = [
        table.upsert(rows(("a", 1, "x", 1), ("b", 1, "y", 2))),
        table.upsert(rows(("a", 2, "x", 5))),
        table.delete(where="k = 'b'"),
    ]
    found = table.history().to_pylist()
    assert [row["instant"] for row in found] == [commit.instant for commit in reversed(commits)]
    assert [(row["inserted"], row["updated"], row["deleted"]) for row in found] == [(0, 0, 1), (0, 1, 0), (2, 0, 0)]
    assert [row["operation"] for row in found] == ["delete", "upsert", "upsert"]
    assert [row["files"] for row in found] == [1, 1, 2]
    assert all(row["bytes"] > 0 for row in found)
    assert all((row["seconds"] is None) == (row["completed"] is None) for row in found)
    if version > 6:
        assert [row["completed"] for row in found] == [commit.completion_time for commit in reversed(commits)]
