"""``hudiformat stats``."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import open_table
from tests.cli.support import Command
from tests.tables import unpack


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack("v9-mor-metadata-table-h120", tmp_path_factory.mktemp("golden")).table


def test_a_row_for_each_partition_and_one_for_all(command: Command, table: Path) -> None:
    result = command("stats", table)
    assert (result.code, result.err) == (0, "")
    heading, *rows = [line.split() for line in result.lines]
    assert heading[:3] == ["partition", "file", "groups"]
    assert [row[0] for row in rows] == ["east", "north", "south", "all"]
    numbers = [[int(row[place]) for place in (1, 2, 3, 4, 6, 7)] for row in rows]
    assert [sum(column) for column in zip(*numbers[:-1], strict=True)] == numbers[-1]


def test_totals_are_those_of_the_slices(command: Command, table: Path) -> None:
    finding_as_json = command("stats", "--json", "--small-file-limit", "5000", table).json
    slices = open_table(table).file_slices()
    bases = [item.base_file.size for item in slices if item.base_file is not None]
    logs = [log.size for item in slices for log in item.log_files]
    assert finding_as_json[-1] == {
        "partition": None,
        "file_groups": len(slices),
        "base_files": len(bases),
        "base_bytes": sum(bases),
        "small_base_files": sum(size < 5000 for size in bases),
        "log_files": len(logs),
        "log_bytes": sum(logs),
        "average_base_file": sum(bases) // len(bases),
        "log_ratio": sum(logs) / sum(bases),
    }


def test_a_table_without_files(command: Command, tmp_path: Path) -> None:
    emptied = unpack("v9-mor-emptied-h120", tmp_path).table
    first = open_table(emptied).timeline.completed[0].time
    finding_as_json = command("stats", "--json", "--as-of", str(int(first) - 1), emptied).json
    assert [(item["partition"], item["base_files"], item["log_ratio"]) for item in finding_as_json] == [(None, 0, None)]
    assert command("stats", "--as-of", str(int(first) - 1), emptied).lines[-1].split()[-1] == "-"
