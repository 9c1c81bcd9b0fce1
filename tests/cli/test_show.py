"""``hudiformat show``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hudiformat.cli.timeline import show
from tests.cli.support import Command
from tests.timeline.conftest import GOLDEN, unpacked_table

TABLES = sorted(path.name for path in GOLDEN.glob("v*.zip") if "damaged" not in path.name)


def actions(command: Command, table: Path) -> dict[str, str]:
    """An instant of each action of a table."""
    return {one["action"]: one["instant"] for one in command("timeline", "--archived", "--json", table).json}


def with_values(value: Any) -> Any:
    """Without fields that are null or 0, as those are that later releases have added."""
    if isinstance(value, dict):
        return {key: with_values(item) for key, item in value.items() if with_values(item)}
    return [with_values(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", TABLES)
def test_every_instant_of_hudi_is_shown(command: Command, tmp_path: Path, name: str) -> None:
    table = unpacked_table(GOLDEN / name, tmp_path)
    for action, instant in actions(command, table).items():
        shown = command("show", table, instant)
        assert (shown.code, shown.err) == (0, ""), action
        assert any(line.startswith(f"{instant}  {action}  ") for line in shown.lines)
        found = [one for one in command("show", "--json", table, instant).json if one["action"] == action]
        assert found[0]["plan"] or found[0]["metadata"] or found[0]["state"] != "COMPLETED"


def test_a_commit_has_the_fields_of_its_file(command: Command, tmp_path: Path) -> None:
    table = unpacked_table(GOLDEN / "v6-mor-avro-h0150.zip", tmp_path)
    for file in (table / ".hoodie").glob("*.deltacommit"):
        (shown,) = command("show", "--json", table, file.stem).json
        assert with_values(shown["metadata"]) == with_values(json.loads(file.read_bytes()))
        assert (shown["plan"], shown["archived"], shown["completion_time"]) == (None, False, None)


def test_a_compaction_has_its_plan_and_what_was_written(command: Command, tmp_path: Path) -> None:
    table = unpacked_table(GOLDEN / "v9-mor-compacted-h120.zip", tmp_path)
    lines = command("show", table, actions(command, table)["commit"]).lines
    assert lines[0].endswith("  commit  COMPLETED at 20261121055637777")
    assert [line for line in lines if not line.startswith("   ")][1:] == [
        "plan",
        "  operations:",
        "  version: 2",
        "  preserveHoodieMetadata: False",
        "metadata",
        "  partitionToWriteStats:",
        "  compacted: True",
        "  extraMetadata:",
        "  operationType: COMPACT",
    ]
    at = lines.index("  operations:")
    assert lines[at + 1].split()[:4] == ["baseInstantTime", "deltaFilePaths", "dataFilePath", "fileId"]
    assert len(lines[at + 2 : lines.index("  version: 2")]) == 3


def test_a_plan_alone_is_shown_of_an_instant_that_is_pending(command: Command, tmp_path: Path) -> None:
    table = unpacked_table(GOLDEN / "v9-mor-compaction-pending-h120.zip", tmp_path)
    (shown,) = command("show", "--json", table, actions(command, table)["compaction"]).json
    assert (shown["state"], shown["metadata"], len(shown["plan"]["operations"])) == ("REQUESTED", None, 1)


def test_an_instant_is_found_by_the_time_at_which_it_was_completed(command: Command, tmp_path: Path) -> None:
    table = unpacked_table(GOLDEN / "v9-mor-archived-h120.zip", tmp_path)
    for requested, completed in (
        ("20261121060124282", "20261121060124368"),
        ("20261121060117105", "20261121060117515"),
    ):
        assert command("show", table, requested).out == command("show", table, completed).out
    assert command("show", table, "20261121060117105").lines[0].endswith("COMPLETED at 20261121060117515, archived")


def test_groups_of_a_clustering_and_files_of_a_savepoint(command: Command, tmp_path: Path) -> None:
    table = unpacked_table(GOLDEN / "v9-mor-clustered-h120.zip", tmp_path)
    lines = command("show", table, actions(command, table)["replacecommit"]).lines
    assert "  clusteringPlan:" in lines
    assert "    inputGroups:" in lines
    assert [line for line in lines if line.strip() in ("1:", "2:", "3:")] == ["      1:", "      2:", "      3:"]
    assert sum("file:" in line for line in lines) == 6, "the slices of three groups"
    restored = unpacked_table(GOLDEN / "v6-mor-restore-h0150.zip", tmp_path / "restored")
    (_, saved) = command("show", "--json", restored, actions(command, restored)["savepoint"]).json
    (files,) = [one["savepointDataFile"] for one in saved["metadata"]["partitionMetadata"].values()]
    assert len(files) == 2


def test_more_texts_than_a_cell_takes_are_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    for count, expected in ((6, ["  p:", "    files", "    0, 1, 2, 3, 4, 5"]), (7, None)):
        show._print_record({"p": [{"files": [str(number) for number in range(count)]}]}, "  ")
        lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
        assert lines == (expected or ["  p:", "    1:", "      files:", *(f"        {n}" for n in range(count))])


def test_the_metadata_table_has_instants_too(command: Command, tmp_path: Path) -> None:
    table = unpacked_table(GOLDEN / "v9-mor-metadata-table-h120.zip", tmp_path) / ".hoodie" / "metadata"
    assert command("show", table, actions(command, table)["deltacommit"]).code == 0


def test_an_instant_that_is_not_there_is_a_line_with_one_that_is(command: Command, tmp_path: Path) -> None:
    table = unpacked_table(GOLDEN / "v9-mor-archived-h120.zip", tmp_path)
    result = command("show", table, "20261121060124283")
    assert (result.code, result.out) == (2, "")
    assert "found '20261121060124283'; 20261121060124282 is one, and hudiformat timeline --archived lists" in result.err


def test_a_table_without_instants(command: Command, tmp_path: Path) -> None:
    assert command("create", tmp_path / "t", "--column", "k=string", "--record-key", "k").code == 0
    assert "found '5'; it has none yet" in command("show", tmp_path / "t", "5").err
