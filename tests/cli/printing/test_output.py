"""What commands print, in which colour and with which characters."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import hudiformat
from hudiformat.blocks import data_block, encode_block
from hudiformat.cli.printing.output import Column, Table, printable, printed_warnings, shortened
from hudiformat.errors import HudiFormatWarning
from tests.cli.support import DAMAGED, Command

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
    assert shortened("abcdef", 6) == "abcdef"
    assert shortened("abcdefg", 6) == "abcde…"
    assert shortened("日本語", 5) == "日本…"


def test_only_our_own_warnings_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with printed_warnings():
        warnings.warn("the metadata table\ncannot be read", HudiFormatWarning, stacklevel=1)
    assert capsys.readouterr().err == "hudiformat: the metadata table cannot be read\n"
