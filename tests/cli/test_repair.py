"""``hudiformat repair``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.check.repair.breaking import BREAKS, UNKNOWN, V9, age, cut_log, lost_properties, properties
from tests.cli.support import Command
from tests.foreign.foreign_tables import unpack as foreign_table
from tests.tables import tree, unpack


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table with a damaged log file, and an orphan."""
    path = unpack(V9, tmp_path).table
    cut_log(path)
    (path / "east/0c2504d5-32eb-4ba6-a8a1-a7fb777ce5c7-0_3-223-412_20261121061956173.parquet").touch()
    age(path)
    return path


def test_a_plan_is_printed_and_nothing_changed(command: Command, table: Path) -> None:
    before = tree(table)
    result = command("repair", table)
    assert result.code == 1
    assert result.lines[0].split() == ["step", "path", "what"]
    assert [line.split()[0] for line in result.lines[1:] if line and not line.startswith(" ")] == ["orphan", "log", "2"]
    assert any(line.startswith("  why: torn tail of") for line in result.lines)
    assert any(line.startswith("  lost: 3992 bytes of") for line in result.lines)
    assert result.lines[-1] == "2 steps to do; --apply does what is not refused"
    assert tree(table) == before


def test_a_plan_is_carried_out(command: Command, table: Path) -> None:
    result = command("repair", "--apply", table)
    assert result.code == 0
    assert [line.split(":")[0] for line in result.lines if line.startswith("done")] == ["done", "done"]
    assert "what was taken away or replaced is in .hoodie/.repair/" in result.lines[-1]
    result = command("repair", table)
    assert (result.code, result.lines) == (0, ["nothing is to be repaired"])
    assert command("verify", table).lines == ["nothing is wrong"]


def test_json(command: Command, table: Path) -> None:
    planned = command("repair", "--json", table)
    assert (planned.code, [step["kind"] for step in planned.json]) == (1, ["ORPHAN", "LOG"])
    assert {step["state"] for step in planned.json} == {"PLANNED"}
    *steps, last = command("repair", "--json", "--apply", table).json
    assert {step["state"] for step in steps} == {"DONE"}
    listed = json.loads((table / last["taken_away"] / "taken.json").read_text())
    assert [one["how"] for one in listed["files"]] == ["taken", "copied"]


def test_properties_that_the_table_does_not_show_are_given(command: Command, tmp_path: Path) -> None:
    path = unpack(V9, tmp_path).table
    lost_properties(path)
    result = command("repair", "--apply", path)
    assert result.code == 1
    assert "--set hoodie.table.version=..." in result.out
    given = [text for item in UNKNOWN.items() for text in ("--set", "=".join(item))]
    assert command("repair", "--apply", *given, path).code == 0
    assert properties(path).exists()


def test_writers_that_may_be_alive(command: Command, tmp_path: Path) -> None:
    broken = next(one for one in BREAKS if one.golden == "v9-mor-inflight-h120")
    path = unpack(broken.golden, tmp_path).table
    result = command("repair", "--apply", path)
    assert result.code == 1
    assert result.lines[-1].startswith("refused: pending ")
    assert command("repair", "--apply", "--dead-after", "0", path).code == 0
    result = command("repair", "--dead-after", "soon", path)
    assert (result.code, "expected a time such as 30s, 5m or 0" in result.err) == (2, True)


def test_keys_are_looked_for_on_request(command: Command, tmp_path: Path) -> None:
    path = unpack("v6-cow-duplicates-h0150", tmp_path).table
    age(path)
    assert command("repair", path).code == 0
    assert command("verify", "--keys", path).code == 1
    result = command("repair", "--keys", path)
    assert (result.code, result.lines[-1]) == (1, "1 step to do; --apply does what is not refused")


def test_there_is_no_table(command: Command, tmp_path: Path) -> None:
    assert command("repair", tmp_path).code == 2


def test_labels_are_looked_at_on_request(command: Command, tmp_path: Path) -> None:
    path = foreign_table("labels-cow9-h111", tmp_path).path
    assert command("verify", path).code == command("repair", path).code == 0
    result = command("verify", "--labels", path)
    assert (result.code, result.lines[1].split()[0]) == (1, "label")
    assert "the file group is written anew, with the labels of the table" in command("repair", "--labels", path).out
    assert command("repair", "--labels", "--apply", "--dead-after", "0", path).code == 0
    assert command("verify", "--labels", path).code == 0
