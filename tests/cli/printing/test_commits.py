"""A commit as a line with its files, and as one JSON object."""

from __future__ import annotations

import json

import pytest

from hudiformat import Commit
from hudiformat.cli.results import print_commit
from hudiformat.timeline.commit_metadata import WriteStat

PATH = "p/a_0-1-1_1.parquet"
STAT = WriteStat("a", PATH, num_writes=3, num_inserts=1, num_update_writes=2, partition_path="p", file_size_in_bytes=9)
COMMIT = Commit("1", "commit", (STAT,))


def test_files_are_rows_below_the_line_of_the_commit(capsys: pytest.CaptureFixture[str]) -> None:
    print_commit(COMMIT, as_json=False)
    head, titles, row = capsys.readouterr().out.splitlines()
    assert head == "1 commit: 3 written, 0 deleted"
    assert titles.split() == ["partition", "file", "records", "size"]
    assert row.split() == ["p", "a_0-1-1_1.parquet", "3", "9"]


def test_programs_get_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    print_commit(COMMIT, as_json=True)
    assert json.loads(capsys.readouterr().out) == {
        "instant": "1",
        "action": "commit",
        "writes": 3,
        "deletes": 0,
        "files": [{"path": PATH, "records": 3, "size": 9}],
    }
