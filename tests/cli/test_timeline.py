"""``hudiformat timeline``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.support import Command
from tests.timeline.conftest import GOLDEN, unpacked_table


@pytest.fixture
def archived(tmp_path: Path) -> Path:
    """A table of version 9 of which a part has been archived."""
    return unpacked_table(GOLDEN / "v9-mor-archived-h120.zip", tmp_path)


def test_the_active_timeline_is_a_table(command: Command, archived: Path) -> None:
    result = command("timeline", archived)
    assert (result.code, result.err) == (0, "")
    assert [line.split() for line in result.lines] == [
        ["instant", "completed", "action", "state", "archived"],
        ["20261121060123455", "20261121060124118", "deltacommit", "COMPLETED"],
        ["20261121060124282", "20261121060124368", "clean", "COMPLETED"],
        ["20261121060124383", "20261121060124581", "commit", "COMPLETED"],
        ["20261121060124787", "20261121060125179", "deltacommit", "COMPLETED"],
    ]


def test_archived_instants_come_first(command: Command, archived: Path) -> None:
    found = command("timeline", "--archived", "--json", archived).json
    assert [instant["archived"] for instant in found] == [True] * 12 + [False] * 4
    assert found[0] == {
        "instant": "20261121060117105",
        "completion_time": "20261121060117515",
        "action": "deltacommit",
        "state": "COMPLETED",
        "archived": True,
    }
    assert command("timeline", "--archived", archived).lines[1].endswith("  COMPLETED  yes")


def test_pending_instants_have_no_completion_time(command: Command, tmp_path: Path) -> None:
    table = unpacked_table(GOLDEN / "v6-mor-compaction-pending-h120.zip", tmp_path)
    (pending,) = [one for one in command("timeline", "--json", table).json if one["state"] != "COMPLETED"]
    assert (pending["action"], pending["state"], pending["completion_time"]) == ("compaction", "REQUESTED", None)
    assert any("  -                  compaction     REQUESTED" in line for line in command("timeline", table).lines)


def test_an_instant_that_is_archived_and_not_yet_deleted_is_active(command: Command, archived: Path) -> None:
    (archived / ".hoodie/timeline/20261121060117105_20261121060117515.deltacommit").touch()
    found = command("timeline", "--archived", "--json", archived).json
    assert [one["archived"] for one in found if one["instant"] == "20261121060117105"] == [False]


def test_a_damaged_archive_is_one_line(command: Command, archived: Path) -> None:
    manifest = archived / ".hoodie/timeline/history/manifest_4"
    manifest.write_text("{")
    assert command("timeline", archived).code == 0
    result = command("timeline", "--archived", archived)
    assert result.code == 2
    assert result.err.startswith(f"hudiformat: {manifest}: expected the archived timeline's manifest")
    assert result.err.count("\n") == 1


def test_a_path_that_is_not_a_table_is_one_line(command: Command, tmp_path: Path) -> None:
    result = command("timeline", tmp_path)
    assert (result.code, result.err) == (
        2,
        f"hudiformat: {tmp_path} is not a Hudi table: it has no folder .hoodie\n",
    )


def test_the_help_has_examples(command: Command) -> None:
    result = command("timeline", "--help")
    assert "\n  Examples:\n    hudiformat timeline " in result.out
    assert result.code == 0
