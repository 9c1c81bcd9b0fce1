"""The progress bar on standard error."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hudiformat.cli.app import run
from tests.cli.support import HIDDEN, SOUND, Command

Log = Callable[[bytes], Path]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_terminals(monkeypatch: pytest.MonkeyPatch, *names: str) -> Terminal:
    """Where *names*, of ``sys``, go; from within a test, for pytest sets them between a fixture and its test."""
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    for name in names:
        monkeypatch.setattr(sys, name, terminal)
    return terminal


def large(log: Path) -> Path:
    """Return *log*, with zeros at its end that take no room on a disk."""
    os.truncate(log, 64 << 20)
    return log


@pytest.mark.parametrize("arguments", [("verify",), ("salvage", "-o", "out")], ids=" ".join)
def test_a_large_file_has_a_bar_on_a_terminal(
    command: Command, log: Log, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    path = large(log(HIDDEN))
    monkeypatch.chdir(path.parent)
    terminal = on_terminals(monkeypatch, "stderr")
    result = command(*arguments, path)
    assert "ing" in terminal.getvalue()
    assert "hidden block" in result.out
    assert "hidden block" not in terminal.getvalue()


def test_rows_are_printed_above_the_bar_if_both_are_on_a_terminal(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminals(monkeypatch, "stdout", "stderr")
    assert run(["verify", str(large(log(HIDDEN)))]) == 1
    assert "hidden block" in terminal.getvalue()


def test_a_small_file_has_no_bar(command: Command, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminals(monkeypatch, "stderr")
    assert command("verify", log(SOUND)).code == 0
    assert terminal.getvalue() == ""


def test_there_is_no_bar_without_a_terminal(command: Command, log: Log) -> None:
    assert command("verify", large(log(SOUND))).err == ""
