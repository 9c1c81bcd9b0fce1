"""``hudiformat write``."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.json
import pyarrow.parquet as pq
import pytest

from hudiformat import Table
from tests.cli.support import Command
from tests.tables import SCHEMA, content, new_table, rows


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = new_table(tmp_path / "t", options={"hoodie.index.type": "INMEMORY"})
    table.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "x", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    return table


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
    (result,) = command("write", "--operation", "delete", "--json", table.path, tmp_path / "keys.csv").json
    assert (result["writes"], result["deletes"], len(result["files"])) == (0, 1, 1)
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
        (("in.jsonl", '{"k": "a", "ts": 9, "p": "x"}\n'), "the rows lack columns of the table: v"),
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


def test_a_line_of_json_may_lack_what_others_have(command: Command, table: Table, tmp_path: Path) -> None:
    lines = ['{"k": "a", "ts": 3, "p": "x", "v": 3}', '{"k": "b", "ts": 3, "p": "x"}']
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    assert command("write", table.path, tmp_path / "in.jsonl").code == 0
    assert content(table) == [("a", 3, "x", 3), ("b", 3, "x", None)]


@pytest.mark.skipif(not hasattr(pyarrow.json, "open_json"), reason="this pyarrow reads JSON as a whole")
def test_a_column_that_comes_late_in_lines_of_json_is_an_error(command: Command, table: Table, tmp_path: Path) -> None:
    lines = ['{"k": "a", "ts": 3, "p": "x"}', '{"k": "b", "ts": 3, "p": "x", "v": 3}']
    (tmp_path / "in.jsonl").write_text(("\n" * (16 << 20)).join(lines))  # the columns are those of the first 16 MiB
    result = command("write", table.path, tmp_path / "in.jsonl")
    assert (result.code, "unexpected field" in result.err) == (2, True)
    assert content(table) == [("a", 2, "x", 2), ("b", 1, "x", 1)]


@pytest.mark.parametrize("text", ["", "\n"])
def test_no_lines_of_json_are_no_rows(command: Command, table: Table, tmp_path: Path, text: str) -> None:
    (tmp_path / "in.jsonl").write_text(text)
    (result,) = command("write", "--json", table.path, tmp_path / "in.jsonl").json
    assert (result["writes"], result["deletes"]) == (0, 0)
