"""What commands print, in which colour and with which characters."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import hudiformat
from hudiformat.cli.app import run
from hudiformat.cli.printing import Column, Table, format_size, narrow_columns, print_warnings, printable, truncate
from hudiformat.codec.log.block import encode_block
from hudiformat.codec.log.build import data_block
from hudiformat.errors import HudiFormatWarning
from tests.cli.support import DAMAGED, Command
from tests.tables import new_table, rows

Log = Callable[[bytes], Path]
ROOT = Path(hudiformat.__file__).parents[1]


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [({"TERM": "xterm"}, True), ({"TERM": "dumb"}, False), ({"TERM": "xterm", "NO_COLOR": "1"}, False)],
    ids=str,
)
def test_colour_is_for_terminals_that_want_it(
    command: Command, log: Log, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], *, coloured: bool
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert ("\x1b[31m" in command("blocks", log(DAMAGED)).out) is coloured
    assert "\x1b" not in command("blocks", "--json", log(DAMAGED)).out


def test_there_is_no_colour_in_a_pipe(command: Command, log: Log) -> None:
    assert "\x1b" not in command("blocks", log(DAMAGED)).out


@pytest.mark.slow
def test_text_that_a_terminal_cannot_show_is_escaped(log: Log) -> None:
    path = log(encode_block(data_block(pa.record_batch({"s": ["日é"]}), instant="1")))
    process = subprocess.run(
        [sys.executable, "-m", "hudiformat", "records", path],
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert process.stdout.splitlines()[-1] == rb"  \u65e5\xe9"


def test_a_cell_that_is_too_long_shifts_the_rest_of_its_row(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(Column("n", 3, right=True), Column("name", 4), Column("end"), indent="> ")
    table.row(1, "a", None)
    table.row(12345, "日本語", "x")
    assert capsys.readouterr().out.splitlines() == [
        ">   n  name  end",
        ">   1  a     -",
        "> 12345  日本語  x",
    ]


def test_control_characters_are_escaped() -> None:
    assert printable("a\x1b[31m\nb") == "a\\x1b[31m\\nb"
    assert printable("日é") == "日é"


def test_long_text_is_truncated_by_its_width_on_a_terminal() -> None:
    assert truncate("abcdef", 6) == "abcdef"
    assert truncate("abcdefg", 6) == "abcde…"
    assert truncate("日本語", 5) == "日本…"


def test_only_our_own_warnings_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with print_warnings():
        warnings.warn("the metadata table\ncannot be read", HudiFormatWarning, stacklevel=1)
    assert capsys.readouterr().err == "hudiformat: the metadata table cannot be read\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal of 60 characters on standard output."""
    found = Terminal()
    monkeypatch.setattr(sys, "stdout", found)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("NO_COLOR", "1")
    return found


def test_a_table_fits_the_terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    terminal = on_terminal(monkeypatch)
    table = new_table(tmp_path / "t")
    table.bulk_insert(rows(("a", 1, "a partition with a long name", 1)))
    assert run(["slices", table.path]) == 0
    lines = terminal.getvalue().splitlines()
    assert max(map(len, lines)) <= 60
    assert "…" in lines[1]
    assert lines[1].endswith("KB")


def test_a_wide_table_has_whole_values(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    terminal = on_terminal(monkeypatch)
    table = new_table(tmp_path / "t")
    table.bulk_insert(rows(("a", 1, "a partition with a long name", 1)))
    assert run(["slices", "--wide", table.path]) == 0
    [one] = table.file_slices()
    assert f"a partition with a long name  {one.file_id}" in terminal.getvalue()
    assert terminal.getvalue().endswith(f" {one.size}\n")


def test_a_terminal_shows_meta_fields_where_they_are_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    terminal = on_terminal(monkeypatch)
    table = new_table(tmp_path / "t")
    table.bulk_insert(rows(("a", 1, "x", 1)))
    assert run(["read", table.path]) == 0
    assert terminal.getvalue().split() == ["k", "ts", "p", "v", "a", "1", "x", "1"]
    assert run(["read", "--columns", "_hoodie_record_key", table.path]) == 0
    assert terminal.getvalue().split()[8:] == ["_hoodie_record_key", "a"]


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1.0 KB"),
        (9_940, "9.9 KB"),
        (9_950, "10 KB"),
        (34_400_000, "34 MB"),
        (999_600, "1.0 MB"),
        (10**19, "10000 PB"),
    ],
)
def test_bytes_are_said_as_people_say_them(size: int, text: str) -> None:
    assert format_size(size) == text


def test_columns_that_do_not_fit_are_left_out() -> None:
    columns = [Column(str(number), 10) for number in range(10)]
    assert [column.width for column in narrow_columns(columns, 22)] == [6, 6, 6]
    assert narrow_columns(columns[:1], 1) == (Column("0", 6),)
    assert narrow_columns(columns[:2], 22) == tuple(columns[:2])
