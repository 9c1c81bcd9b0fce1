"""``hudiformat plan``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.support import Command
from tests.tables import new_table, rows, unpack

LOGS = "has log files, whose records the index cannot find"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Partition x with a base file under a log file, and y with a base file alone."""
    made = new_table(tmp_path / "t")
    made.insert(rows(("a", 1, "x"), ("b", 1, "y")))
    made.upsert(rows(("a", 2, "x")))
    return tmp_path / "t"


def test_every_group_has_the_reason_why_it_takes_rows_or_not(command: Command, table: Path) -> None:
    result = command("plan", "--inserts", "200000", table)
    assert (result.code, result.err) == (0, "")
    assert result.lines[0] == "partition 'x': 200000 new rows"
    assert result.lines[1] == "  a row has 1024 bytes, the configured estimate; a new file group takes 122880"
    assert result.lines[2].endswith(": 0 bytes, but no records")
    assert result.lines[4].split() == ["file", "id", "size", "room", "takes", "why"]
    assert result.lines[5].endswith(LOGS)
    assert [line.split()[:4] for line in result.lines[6:8]] == [
        ["new", "-", "122880", "122880"],
        ["new", "-", "122880", "77120"],
    ]
    y = result.lines[8:]
    assert y[0] == "partition 'y': 200000 new rows"
    assert y[-2].split()[2:4] == ["122877", "122877"]
    assert y[-2].endswith("takes records")


def test_each_partition_is_an_object(command: Command, table: Path) -> None:
    (found,) = command("plan", "--json", "--partition", "x", table).json
    (group,) = found.pop("groups")
    passed_over = found.pop("passed_over")
    assert found == {
        "partition": "x",
        "inserts": 1,
        "record_size": 1024,
        "record_size_of": None,
        "records_per_group": 122880,
        "new_groups": [1],
    }
    assert len(passed_over) == 2
    assert (group["verdict"], group["reason"], group["room"], group["records"]) == ("HAS_LOGS", LOGS, None, 0)


def test_options_and_the_rules_are_chosen(command: Command, table: Path) -> None:
    off = command("plan", "--json", "-o", "hoodie.parquet.small.file.limit=0", "--inserts", "5", table)
    assert {group["verdict"] for found in off.json for group in found["groups"]} == {"DISABLED"}
    flink = command("plan", "--json", "--engine", "flink", "--inserts", "5", table).json
    assert [found["groups"][0]["verdict"] for found in flink] == ["HAS_LOGS", "TAKEN"]  # as without a bucket index
    measured = command("plan", "-o", "hoodie.record.size.estimation.threshold=0", "--partition", "y", table)
    assert "of commit 2024" in measured.lines[1]


def test_a_text_that_is_not_an_option_is_wrong_usage(command: Command, table: Path) -> None:
    result = command("plan", "-o", "hoodie.parquet.small.file.limit", table)
    assert result.code == 2
    assert "expected KEY=VALUE" in result.err


def test_more_rows_than_a_plan_can_name_are_wrong_usage(command: Command, table: Path) -> None:
    result = command("plan", "--inserts", str(10**21), str(table))
    assert (result.code, "is not in the range 0<=x<=100000000000" in result.err) == (2, True)


def test_a_bucket_index_leaves_nothing_to_plan(command: Command, tmp_path: Path) -> None:
    new_table(tmp_path / "b", options={"hoodie.index.type": "BUCKET"}).insert(rows(("a", 1, "x")))
    result = command("plan", tmp_path / "b")
    assert result.code == 2
    assert "a bucket index, which assigns rows by the hash of their keys" in result.err


def test_tables_of_hudi_are_planned_for(command: Command, tmp_path: Path) -> None:
    small = unpack("v9-cow-small-files-h120", tmp_path).table
    found = command("plan", "--json", small).json
    assert found
    assert all(group["verdict"] in ("TAKEN", "SMALL") for item in found for group in item["groups"])
