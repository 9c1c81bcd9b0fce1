"""``hudiformat verify`` and ``hudiformat salvage``."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hudiformat.cli import progress, run
from tests.cli.support import DAMAGED, DATA, DELETES, EVOLVED, JUNK, ROLLBACK, SOUND, UNDECODABLE, Command

Log = Callable[[bytes], Path]
HIDDEN = DATA + ROLLBACK + JUNK + DELETES[:-5]


def test_a_sound_file_is_said_to_be_so(command: Command, log: Log) -> None:
    result = command("verify", log(SOUND))
    assert (result.code, result.out, result.err) == (0, f"nothing is wrong, in {len(SOUND)} bytes\n", "")
    assert command("verify", "--json", log(SOUND)).out == ""


def test_findings_are_rows(command: Command, log: Log) -> None:
    result = command("verify", log(HIDDEN))
    assert result.code == 1
    at = len(DATA)
    torn = at + len(ROLLBACK) + 37
    head, hidden, junk, tail = (line.split() for line in result.lines)
    assert head == ["kind", "offset", "length", "type", "instants", "message"]
    instants = "20260101000000003,20260101000000001"
    assert hidden[:6] == ["hidden", "block", str(at), str(len(ROLLBACK)), "COMMAND", instants]
    assert junk[:5] == ["junk", str(at + len(ROLLBACK)), "37", "-", "-"]
    assert tail[:6] == ["torn", "tail", str(torn), str(len(DELETES) - 5), "DELETE", "20260101000000002"]


def test_findings_are_json(command: Command, log: Log) -> None:
    result = command("verify", "--json", log(HIDDEN))
    assert result.code == 1
    assert [finding["kind"] for finding in result.json] == ["HIDDEN", "JUNK", "TORN_TAIL"]
    assert result.json[0] == {
        "kind": "HIDDEN",
        "offset": len(DATA),
        "length": len(ROLLBACK),
        "type": "COMMAND",
        "instants": ["20260101000000003", "20260101000000001"],
        "message": "intact, but queries skip it: the bytes around it are damaged",
    }
    assert (result.json[1]["type"], result.json[1]["instants"]) == (None, [])


def test_contents_are_looked_at_unless_told_otherwise(command: Command, log: Log) -> None:
    path = log(UNDECODABLE)
    assert [finding["kind"] for finding in command("verify", "--json", path).json] == ["CONTENT"]
    assert command("verify", "--no-contents", path).code == 0


def test_a_salvage_says_what_it_kept_recovered_and_lost(command: Command, log: Log, tmp_path: Path) -> None:
    target = tmp_path / "out"
    result = command("salvage", log(HIDDEN), "-o", target)
    assert (result.code, target.read_bytes()) == (1, DATA + ROLLBACK)
    assert result.lines[:4] == [
        f"kept       2 blocks, {len(DATA + ROLLBACK)} bytes: {target}",
        "recovered  1 of them, which queries skip",
        f"lost       2 spans, {37 + len(DELETES) - 5} bytes",
        "affected   20260101000000002",
    ]
    assert [line.split()[0] for line in result.lines[4:]] == ["kind", "hidden", "junk", "torn"]


def test_a_salvage_is_one_object_of_json(command: Command, log: Log, tmp_path: Path) -> None:
    target = tmp_path / "out"
    result = command("salvage", "--json", log(HIDDEN), "--output", target)
    [report] = result.json
    assert (result.code, report["target"], report["blocks"]) == (1, str(target), 2)
    assert (report["size"], report["instants"]) == (len(DATA + ROLLBACK), ["20260101000000002"])
    assert [finding["kind"] for finding in report["recovered"]] == ["HIDDEN"]
    assert [(finding["kind"], finding["length"]) for finding in report["lost"]] == [
        ("JUNK", 37),
        ("TORN_TAIL", len(DELETES) - 5),
    ]


def test_a_salvage_without_a_loss_is_fine(command: Command, log: Log, tmp_path: Path) -> None:
    result = command("salvage", log(DATA), "-o", tmp_path / "out")
    assert result.code == 0
    assert result.lines == [
        f"kept       1 block, {len(DATA)} bytes: {tmp_path / 'out'}",
        "recovered  0 of them, which queries skip",
        "lost       0 spans, 0 bytes",
    ]


def test_a_loss_may_name_no_instant(command: Command, log: Log, tmp_path: Path) -> None:
    result = command("salvage", log(JUNK + EVOLVED), "-o", tmp_path / "out")
    assert (result.code, result.lines[3]) == (1, "affected   no instant that can be told")


def test_a_target_that_is_there_is_not_touched(command: Command, log: Log, tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_bytes(b"mine")
    result = command("salvage", log(DAMAGED), "-o", target)
    assert (result.code, result.out, target.read_bytes()) == (2, "", b"mine")
    assert result.err == f"hudiformat: cannot create {target}: File exists\n"


# The bar


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


@pytest.mark.parametrize("arguments", [("verify",), ("salvage", "-o", "out")], ids=" ".join)
def test_a_large_file_has_a_bar_on_a_terminal(
    command: Command, log: Log, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    path = log(HIDDEN)
    monkeypatch.chdir(path.parent)
    monkeypatch.setattr(progress, "_LARGE", 0)
    terminal = on_terminals(monkeypatch, "stderr")
    result = command(*arguments, path)
    assert "ing" in terminal.getvalue()
    assert "hidden block" in result.out
    assert "hidden block" not in terminal.getvalue()


def test_rows_go_above_the_bar_where_both_are_on_a_terminal(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_LARGE", 0)
    terminal = on_terminals(monkeypatch, "stdout", "stderr")
    assert run(["verify", str(log(HIDDEN))]) == 1
    assert "hidden block" in terminal.getvalue()


def test_a_small_file_has_no_bar(command: Command, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminals(monkeypatch, "stderr")
    assert command("verify", log(SOUND)).code == 0
    assert terminal.getvalue() == ""


def test_there_is_no_bar_without_a_terminal(command: Command, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_LARGE", 0)
    assert command("verify", log(SOUND)).err == ""
