"""``hudiformat set``, ``unset``, ``metadata``, ``diff`` and ``unschedule``."""

from __future__ import annotations

from pathlib import Path

from tests.cli.support import Command
from tests.tables import new_table, rows


def test_properties_are_set_and_unset(command: Command, tmp_path: Path) -> None:
    path = new_table(tmp_path / "t").path
    shown = command("set", path, "hoodie.table.name=other", "owner=data")
    assert (shown.code, shown.lines) == (0, ["hoodie.table.name: t -> other", "owner: not set -> data"])
    assert command("unset", "--json", path, "owner").json == [{"property": "owner", "before": "data", "now": None}]
    refused = command("set", path, "hoodie.table.version=6")
    assert (refused.code, "change_version" in refused.err) == (2, True)


def test_the_metadata_table_is_counted_and_listed(command: Command, tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options={"hoodie.metadata.enable": "true"})
    commit = table.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    [files] = [one for one in command("metadata", "stats", "--json", table.path).json if one["partition"] == "files"]
    assert files["baseFileCount"] + files["logFileCount"] > 0
    assert files["totalBaseFileSizeInBytes"] + files["totalLogFileSizeInBytes"] > 0
    assert any(line.startswith("files ") for line in command("metadata", "stats", table.path).lines)
    listed = command("metadata", "list-files", "--json", table.path).json
    assert [(one["partition"], one["size"]) for one in listed] == [
        (stat.partition_path, stat.file_size_in_bytes) for stat in commit.stats
    ]
    assert len(command("metadata", "list-files", "--partition", "x", table.path).lines) == 2
    refused = command("metadata", "list-files", "--partition", "z", table.path)
    assert (refused.code, "expected a partition" in refused.err) == (2, True)


def test_without_a_metadata_table_there_is_an_error(command: Command, tmp_path: Path) -> None:
    path = new_table(tmp_path / "t", options={"hoodie.metadata.enable": "false"}).path
    shown = command("metadata", "stats", path)
    assert (shown.code, "the table has no metadata table" in shown.err) == (2, True)


def test_two_instants_are_compared(command: Command, tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    first = table.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "x", 2)))
    second = table.upsert(rows(("a", 2, "x", 3), ("c", 1, "x", 4)))
    table.delete(rows(("b", 2, "x", None)))
    shown = command("diff", table.path, first.instant)
    assert shown.lines[:4] == [
        "rows: 1 new, 1 changed, 1 gone",
        "~ k=a, p=x  ts: 1 -> 2, v: 1 -> 3",
        "- k=b, ts=1, p=x, v=2",
        "+ k=c, ts=1, p=x, v=4",
    ]
    assert shown.lines[4].startswith("files: ")
    assert "and 2 more (--limit)" in command("diff", "--limit", 1, table.path, first.instant).lines
    rows_and_files = command("diff", "--json", table.path, first.instant, second.instant).json
    assert rows_and_files[0] == {
        "op": "u",
        "before": {"k": "a", "ts": 1, "p": "x", "v": 1},
        "after": {"k": "a", "ts": 2, "p": "x", "v": 3},
    }
    assert {one["change"] for one in rows_and_files if "change" in one} >= {"added"}


def test_a_compaction_is_unscheduled(command: Command, tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    table.bulk_insert(rows(("a", 1, "x", 1)))
    commit = table.upsert(rows(("a", 2, "x", 2)))
    table.schedule_compaction()
    instant, file_id = table.timeline.pending[0].time, commit.stats[0].file_id
    assert command("unschedule", "--json", table.path, instant, "--file-id", file_id).json == [
        {"instant": instant, "file_id": file_id, "is_planned": True}
    ]
    assert command("unschedule", table.path, instant).lines[0].endswith("taken off the timeline")
    assert table.timeline.pending == ()
