"""``hudiformat read`` and ``write``."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudiformat import Table
from tests.cli.support import Command
from tests.tables import SCHEMA, content, new_table, rows, unpack


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
    (said,) = command("read", "--json", "-o", target, table.path).json
    assert said == {"file": str(target), "rows": 2}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--query", "cdc", "--as-of", "1"], "--as-of goes with snapshot"),
        (["--begin", "1"], "--begin and --end go with incremental"),
        (["-o", "rows.xlsx"], "expected a name that ends in .parquet, .arrow, .jsonl"),
        (["--columns", "kk"], "no column 'kk'"),
    ],
)
def test_what_cannot_be_asked(command: Command, table: Table, arguments: list[str], message: str) -> None:
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


@pytest.mark.parametrize("ending", ["parquet", "arrow", "stream.arrow", "csv", "jsonl"])
def test_writing_a_file(command: Command, table: Table, tmp_path: Path, ending: str) -> None:
    source, new = tmp_path / f"in.{ending}", rows(("a", 3, "x", 3), ("c", 3, "y", 3))
    if ending == "parquet":
        pq.write_table(new, source)
    elif ending.endswith("arrow"):
        make = pa.ipc.new_stream if "stream" in ending else pa.ipc.new_file
        with make(source, SCHEMA) as writer:
            writer.write_table(new)
    elif ending == "csv":
        source.write_text("k,ts,p,v\na,3,x,3\nc,3,y,3\n")
    else:
        source.write_text("".join(json.dumps(row) + "\n" for row in new.to_pylist()))
    result = command("write", table.path, source)
    assert (result.code, result.err) == (0, "")
    assert result.lines[0].split()[1:] == ["deltacommit:", "2", "written,", "0", "deleted"]
    assert content(table) == [("a", 3, "x", 3), ("b", 1, "x", 1), ("c", 3, "y", 3)]


def test_deleting_by_a_file(command: Command, table: Table, tmp_path: Path) -> None:
    (tmp_path / "keys.csv").write_text("k,p\na,x\n")
    (said,) = command("write", "--operation", "delete", "--json", table.path, tmp_path / "keys.csv").json
    assert (said["writes"], said["deletes"], len(said["files"])) == (0, 1, 1)
    assert content(table) == [("b", 1, "x", 1)]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (("in.xlsx", ""), "expected a file that ends in .parquet, .arrow, .csv, .jsonl"),
        (("missing.parquet", None), "cannot read"),
        (("in.parquet", "no parquet"), "cannot be read as .parquet"),
        (("in.csv", "k,ts,p,v\na,x,x,1\n"), "cannot be read as .csv"),
        (("in.jsonl", "{"), "cannot be read as .jsonl"),
        (("in.csv", "k,ts\na,1\n"), "p"),
    ],
)
def test_input_that_cannot_be_written(
    command: Command, table: Table, tmp_path: Path, source: tuple[str, str | None], message: str
) -> None:
    name, text = source
    if text is not None:
        (tmp_path / name).write_text(text)
    before = table.timeline
    result = command("write", table.path, tmp_path / name)
    assert result.code == 2
    assert message in result.err
    assert table.timeline == before


def test_damage_is_passed_over_or_fails_or_is_warned_of(command: Command, tmp_path: Path) -> None:
    path = unpack("v9-mor-damaged-h120-flip-size", tmp_path).table
    silent = command("read", "--json", "--columns", "k", path)
    assert (silent.code, silent.err, len(silent.json)) == (0, "", 32)
    skipped = command("read", "--json", "--columns", "k", "--damage", "skip", path)
    assert (skipped.code, skipped.json) == (0, silent.json)
    assert "lost to damage" in skipped.err
    failed = command("read", "--json", "--damage", "fail", path)
    assert failed.code == 2
    assert "are no block" in failed.err
