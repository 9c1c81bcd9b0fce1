"""``hudiformat read``."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudiformat import Table
from tests.cli.support import Command
from tests.tables import content, new_table, rows, unpack


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = new_table(tmp_path / "t", options={"hoodie.index.type": "INMEMORY"})
    table.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "x", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    return table


def test_the_newest_rows(command: Command, table: Table) -> None:
    result = command("read", "--columns", "k,v", table.path)
    assert (result.code, result.err) == (0, "")
    assert [line.split() for line in result.lines] == [["k", "v"], ["b", "1"], ["a", "2"]]
    assert command("read", "--json", "--columns", "k", "--limit", "1", table.path).json == [{"k": "b"}]
    assert command("read", "--limit", "0", table.path).out == ""
    assert len(command("read", "--json", "--limit", 10**20, table.path).json) == 2


def test_rows_of_another_time_and_of_base_files(command: Command, table: Table) -> None:
    first, second = (done.time for done in table.timeline.completed_writes)
    asked = ("--json", "--columns", "v", "--as-of", first, table.path)
    assert command("read", *asked).json == [{"v": 1}, {"v": 1}]
    assert command("read", "--query", "read_optimized", *asked[:3], table.path).json == [{"v": 1}, {"v": 1}]
    completed = table.timeline.completed_writes[0].completion_time
    changed = command("read", "--query", "incremental", "--begin", completed, "--json", "--columns", "k", table.path)
    assert changed.json == [{"k": "a"}]
    assert second > first


def test_changes(command: Command, tmp_path: Path) -> None:
    path = unpack("v9-mor-cdc-h120", tmp_path).table
    changes = command("read", "--query", "cdc", "--json", path).json
    assert {change["op"] for change in changes} <= {"i", "u", "d"}
    some = command("read", "--query", "cdc", "--json", "--columns", "ts_ms,op", path).json
    assert some == [{"ts_ms": change["ts_ms"], "op": change["op"]} for change in changes]
    assert len(changes) > 10


@pytest.mark.parametrize("ending", ["parquet", "arrow", "jsonl"])
def test_rows_into_a_file(command: Command, table: Table, tmp_path: Path, ending: str) -> None:
    target = tmp_path / f"out.{ending}"
    result = command("read", "--columns", "k,ts,p,v", "-o", target, table.path)
    assert result.lines == [f"2 rows in {target}"]
    if ending == "jsonl":
        found = [json.loads(line) for line in target.read_text().splitlines()]
    elif ending == "arrow":
        found = pa.ipc.open_file(target).read_all().to_pylist()
    else:
        found = pq.read_table(target).to_pylist()
    assert sorted(tuple(row.values()) for row in found) == content(table)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    (report,) = command("read", "--json", "-o", target, table.path).json
    assert report == {"file": str(target), "rows": 2}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--query", "cdc", "--as-of", "1"], "--as-of goes with snapshot"),
        (["--begin", "1"], "--begin and --end go with incremental"),
        (["-o", "rows.xlsx"], "expected a file that ends in .parquet, .arrow, .csv, .jsonl"),
        (["--columns", "kk"], "no column 'kk'"),
    ],
)
def test_options_that_contradict_each_other(command: Command, table: Table, arguments: list[str], message: str) -> None:
    result = command("read", *arguments, table.path)
    assert result.code == 2
    assert message in result.err


def test_a_file_that_cannot_be_completed_is_not_there(command: Command, table: Table, tmp_path: Path) -> None:
    for path in (tmp_path / "t" / "x").glob("*.parquet"):
        path.write_bytes(b"PAR1 no longer")
    result = command("read", "-o", tmp_path / "out.parquet", table.path)
    assert result.code == 2
    assert "not a readable base file" in result.err
    assert {path.name for path in tmp_path.iterdir()} == {"t"}


def test_a_folder_that_is_not_there_is_named(command: Command, table: Table, tmp_path: Path) -> None:
    result = command("read", table.path, "-o", str(tmp_path / "none" / "rows.csv"))
    assert (result.code, result.out) == (2, "")
    assert result.err == f"hudiformat: {tmp_path}/none/rows.csv: there is no folder {tmp_path}/none\n"


def test_a_file_that_cannot_be_written_is_named(
    command: Command, table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, *given: Any, **more: Any) -> Any:
        if path.suffix == ".part":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return opened(path, *given, **more)

    opened = Path.open
    monkeypatch.setattr(Path, "open", refuse)
    result = command("read", table.path, "-o", str(tmp_path / "rows.csv"))
    assert result.code == 2
    assert result.err.startswith(f"hudiformat: cannot write {tmp_path}/.rows.csv.")
    assert result.err.endswith(".part: Permission denied\n")


def test_damage_is_skipped_or_fails_or_gives_a_warning(command: Command, tmp_path: Path) -> None:
    path = unpack("v9-mor-damaged-h120-flip-size", tmp_path).table
    silent = command("read", "--json", "--columns", "k", path)
    assert (silent.code, silent.err, len(silent.json)) == (0, "", 32)
    skipped = command("read", "--json", "--columns", "k", "--damage", "skip", path)
    assert (skipped.code, skipped.json) == (0, silent.json)
    assert "lost to damage" in skipped.err
    failed = command("read", "--json", "--damage", "fail", path)
    assert failed.code == 2
    assert "are no block" in failed.err


def test_rows_by_a_condition(command: Command, tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    table.upsert(rows(("a", 1, "x", 1), ("b", 1, "y", 2)))
    for query in ([], ["--query", "incremental"]):
        found = command("read", "--where", "p = 'y' and v > 1", "--columns", "k", "--json", *query, table.path).json
        assert found == [{"k": "b"}]
    result = command("read", "--where", "P = 'y'", table.path)
    assert result.code == 2
    assert "no column 'P'; did you mean 'p'?" in result.err
