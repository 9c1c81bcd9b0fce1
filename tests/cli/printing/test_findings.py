"""Findings of a log file as rows and as JSON."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.cli.support import DATA, DELETES, HIDDEN, ROLLBACK, Command

Log = Callable[[bytes], Path]


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
