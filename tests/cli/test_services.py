"""``hudiformat compact``, ``cluster``, ``clean`` and ``rollback``."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import Table, open_table
from tests.cli.support import Command
from tests.tables import new_table, rows


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = new_table(tmp_path / "t", options={"hoodie.index.type": "INMEMORY"})
    table.bulk_insert(rows(("a", 1, "x", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    return table


def test_compacting(command: Command, table: Table) -> None:
    result = command("compact", table.path)
    assert (result.code, result.err) == (0, "")
    assert result.lines[0].split()[1] == "commit:"
    assert result.lines[2].split()[0] == "x"
    assert not table.file_slices()[0].log_files
    assert command("compact", table.path).lines == ["nothing to compact"]


def test_compacting_for_programs(command: Command, table: Table) -> None:
    (result,) = command("compact", "--json", table.path).json
    assert [(file["records"], file["size"] > 0) for file in result["files"]] == [(1, True)]
    assert result["files"][0]["path"].startswith("x/")
    assert command("compact", "--json", table.path).json == [{"instant": None}]


def test_planning_a_compaction(command: Command, table: Table) -> None:
    (result,) = command("compact", "--schedule", "--json", table.path).json
    assert [pending.time for pending in table.timeline.pending] == [result["instant"]]
    assert command("compact", "--schedule", table.path).lines == ["nothing to compact"]
    assert command("compact", "--json", table.path).json[0]["instant"] == result["instant"]


def test_clustering(command: Command, tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options={"hoodie.parquet.small.file.limit": "0"})
    for number in range(3):
        table.insert(rows((f"k{number}", 1, "x", 10 - number)))
    (planned,) = command("cluster", "--schedule", "--sort", "v,k", "--layout", "linear", "--json", table.path).json
    assert [pending.time for pending in table.timeline.pending] == [planned["instant"]]
    (result,) = command("cluster", "--json", table.path).json
    assert result["instant"] == planned["instant"]
    assert [(file["records"], file["size"] > 0) for file in result["files"]] == [(3, True)]
    assert table.snapshot(columns=["v"])["v"].to_pylist() == [8, 9, 10]
    assert command("cluster", table.path).lines == ["nothing to cluster"]
    refused = command("cluster", "--sort", "nothing", table.path)
    assert (refused.code, refused.out) == (2, "")
    assert "cannot sort by the column nothing" in refused.err


def test_cleaning(command: Command, table: Table) -> None:
    table.compact()
    keep_one = ("-o", "hoodie.clean.policy=KEEP_LATEST_FILE_VERSIONS", "-o", "hoodie.clean.fileversions.retained=1")
    result = command("clean", *keep_one, table.path)
    assert (result.code, result.err) == (0, "")
    assert result.lines[0].split()[1] == "clean"
    assert [line.split()[0] for line in result.lines[2:]] == ["x", "x"]
    assert command("clean", *keep_one, table.path).lines == ["nothing to clean"]


def test_rolling_back(command: Command, table: Table) -> None:
    newest = table.timeline.completed_writes[-1].time
    (result,) = command("rollback", "--json", table.path, newest).json
    assert [len(names) for names in result["deleted"].values()] == [1]
    assert open_table(table.path).timeline.completed_writes[-1].time < newest
    refused = command("rollback", table.path, newest)
    assert refused.code == 2
    assert "there is no write" in refused.err


def test_an_option_without_a_value(command: Command, table: Table) -> None:
    result = command("clean", "-o", "hoodie.clean.policy", table.path)
    assert result.code == 2
    assert "expected KEY=VALUE" in result.err
