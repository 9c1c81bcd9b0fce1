"""Files of rows, and standard input and output, in all formats."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as csv_files
import pyarrow.json as json_files
import pyarrow.parquet as pq
import pytest

from hudiformat import Table
from hudiformat.cli.app import run
from hudiformat.cli.files import FORMATS, Batches, _Objects, open_rows, write_rows
from hudiformat.errors import DataError
from tests.cli.support import Command
from tests.codec.parquet.support import with_fewer_values
from tests.tables import SCHEMA, content, new_table, rows

DATA = rows(("a", 1, "x", 1), ("b", 2, "y", 2))


class Pipe(io.RawIOBase):
    """Bytes that can be read once, as those of a pipe."""

    def __init__(self, data: bytes) -> None:
        self._rest = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, into: bytearray) -> int:  # type: ignore[override]  # a pipe gives bytes alone
        return self._rest.readinto(into)


def piped(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Pipe(data))))  # type: ignore[type-var]  # a pipe of the test


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return new_table(tmp_path / "t", options={"hoodie.index.type": "INMEMORY"})


@pytest.mark.parametrize("format_", FORMATS)
def test_what_is_written_is_read_again(tmp_path: Path, format_: str) -> None:
    path = str(tmp_path / f"rows.{format_}")
    assert write_rows(path, format_, SCHEMA, iter(DATA.to_batches())) == 2
    with open_rows(path, format_, SCHEMA) as found:
        assert found.read_all().to_pylist() == DATA.to_pylist()
    assert list(tmp_path.iterdir()) == [Path(path)]


@pytest.mark.parametrize("format_", FORMATS)
def test_rows_pass_from_standard_output_to_standard_input(
    capfdbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
    table: Table,
    tmp_path: Path,
    format_: str,
) -> None:
    table.upsert(DATA)
    assert run(["read", "--columns", "k,ts,p,v", "-o", "-", "--format", format_, table.path]) == 0
    data = capfdbinary.readouterr().out
    copy = new_table(tmp_path / "copy", options={"hoodie.index.type": "INMEMORY"})
    piped(monkeypatch, data)
    assert run(["write", copy.path, "-", "--format", format_]) == 0
    assert content(copy) == content(table)


def test_standard_input_has_json_lines_by_default(
    command: Command, monkeypatch: pytest.MonkeyPatch, table: Table
) -> None:
    piped(monkeypatch, b'{"k": "a", "ts": 1, "p": "x", "v": 1}\n')
    assert command("write", table.path, "-").code == 0
    assert content(table) == [("a", 1, "x", 1)]


def test_what_csv_cannot_hold(tmp_path: Path) -> None:
    nested = pa.table({"id": [["a"]]})
    path = tmp_path / "rows.csv"
    with pytest.raises(Exception, match="cannot be written as CSV: .*; pick columns, or write"):
        write_rows(str(path), "csv", nested.schema, iter(nested.to_batches()))
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_damaged_further_down(tmp_path: Path, command: Command, table: Table) -> None:
    path = tmp_path / "rows.csv"
    lines = [f"k{number},{number},x,{number}\n" for number in range(200_000)]
    path.write_text("".join(["k,ts,p,v\n", *lines, "k,not a number,x,1\n"]))
    result = command("write", table.path, path)
    assert result.code == 2
    assert "rows.csv: cannot be read as .csv: " in result.err
    assert content(table) == []


def test_a_parquet_file_of_which_a_column_has_lost_rows(tmp_path: Path, command: Command, table: Table) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(DATA, path)
    path.write_bytes(with_fewer_values(path.read_bytes(), 0))
    result = command("write", table.path, path)
    assert result.code == 2
    assert f"rows.parquet: cannot be read as .parquet: expected {DATA.num_rows} rows" in result.err
    assert content(table) == []


def test_json_is_read_as_a_whole_where_arrow_is_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "rows.jsonl")
    write_rows(path, "jsonl", SCHEMA, iter(DATA.to_batches()))
    monkeypatch.delattr(json_files, "open_json", raising=False)
    with open_rows(path, "jsonl", SCHEMA) as found:
        assert found.read_all().to_pylist() == DATA.to_pylist()


def test_large_files_are_read_batch_by_batch(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    many = rows(*((f"k{number}", 1, "x", number) for number in range(70_000)))
    pq.write_table(many, path)
    csv_files.write_csv(many, tmp_path / "rows.csv")
    with open_rows(str(path), "parquet", SCHEMA) as found:
        batches: Batches = iter(found)
        assert next(batches).num_rows == 65_536
    with open_rows(str(tmp_path / "rows.csv"), "csv", SCHEMA) as found:
        assert next(iter(found)).num_rows < 70_000


def read_in_parts(text: bytes, size: int) -> None:
    file = _Objects(b"", io.BytesIO(text))
    while file.read(size):
        pass


def test_null_is_found_where_parts_of_a_file_meet() -> None:
    for size in range(1, 12):
        with pytest.raises(DataError, match="found null"):
            read_in_parts(b'{"k": "null"}\n  null\n', size)
    read_in_parts(b'{"k":\n"null", "\xc3\xbc": null}\n', 1)


def test_only_an_empty_field_of_csv_is_null(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('code,v\nNA,1.5\nnull,nan\n,\n"",2\n')
    schema = pa.schema([("code", pa.string()), ("v", pa.float64())])
    with open_rows(str(path), "csv", schema) as found:
        table = found.read_all()
    assert table["code"].to_pylist() == ["NA", "null", None, ""]
    assert str(table["v"].to_pylist()) == "[1.5, nan, None, 2.0]"


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "rows.jsonl"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert write_rows(str(pipe), "jsonl", SCHEMA, iter(DATA.to_batches())) == 2
    assert os.read(reader, 1000).count(b"\n") == 2
    os.close(reader)
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]
