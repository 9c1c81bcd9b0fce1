"""``hudiformat slices``."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import open_table
from tests.cli.support import Command
from tests.tables import unpack


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack("v9-mor-metadata-table-h120", tmp_path_factory.mktemp("golden")).table


def test_each_slice_is_a_row(command: Command, table: Path) -> None:
    result = command("slices", table)
    assert (result.code, result.err) == (0, "")
    heading, *rows = [line.split() for line in result.lines]
    assert heading == ["partition", "file", "id", "instant", "base", "file", "log", "files", "size"]
    assert len(rows) == 6
    assert rows[1] == ["east", "b361a50f-1a8b-4340-8b48-e9c575c63c53-0", "20261121062436847", "5060", "4", "9728"]


def test_each_slice_is_an_object(command: Command, table: Path) -> None:
    result = command("slices", "--json", table)
    expected = open_table(table).file_slices()
    assert result.code == 0
    assert [(item["partition"], item["file_id"], item["instant"], item["size"]) for item in result.json] == [
        (item.partition_path, item.file_id, item.base_instant, item.size) for item in expected
    ]
    assert result.json[0] == {
        "partition": "east",
        "file_id": "a5ba4823-306f-4e13-98ef-fc16e8e71bd9-0",
        "instant": "20261121062442876",
        "base_file": {
            "name": "a5ba4823-306f-4e13-98ef-fc16e8e71bd9-0_3-4758-8472_20261121062442876.parquet",
            "size": 4659,
        },
        "log_files": [],
        "size": 4659,
    }


def test_one_partition_as_of_an_instant(command: Command, table: Path) -> None:
    result = command("slices", "--json", "--partition", "north", "--as-of", "20261121062440349", table)
    assert [(item["partition"], item["instant"], item["log_files"]) for item in result.json] == [
        (
            "north",
            "20261121062436847",
            [{"name": ".3d19e35a-710b-4d81-82f8-67c4e16e93a0-0_20261121062440349.log.1_2-4731-8413", "size": 1374}],
        )
    ]
    nothing = command("slices", "--json", "--partition", "nort", table)
    assert (nothing.code, nothing.out) == (2, "")
    assert (
        nothing.err
        == "hudiformat: --partition: expected a partition of the table, found 'nort'; did you mean 'north'?\n"
    )


def test_a_slice_without_a_base_file_has_none(command: Command, tmp_path: Path) -> None:
    log_only = unpack("v9-mor-log-only-h120", tmp_path).table
    finding_as_json = [item for item in command("slices", "--json", log_only).json if item["base_file"] is None]
    assert finding_as_json
    assert all(item["log_files"] for item in finding_as_json)
    rows = [line.split() for line in command("slices", log_only).lines[1:]]
    assert sum("-" in row for row in rows) == len(finding_as_json)


def test_an_unreadable_metadata_table_is_skipped_with_one_line(command: Command, table: Path, tmp_path: Path) -> None:
    damaged = unpack("v9-mor-metadata-table-h120", tmp_path).table
    for file in (damaged / ".hoodie" / "metadata" / "files").glob("*.hfile"):
        file.write_bytes(b"junk")
    result = command("slices", damaged)
    assert (result.code, result.out) == (0, command("slices", table).out)
    assert result.err.startswith(f"hudiformat: {damaged}: the metadata table is not used, as it cannot be read: ")
    assert result.err.count("\n") == 1


def test_a_path_that_is_not_a_table_is_one_line(command: Command, tmp_path: Path) -> None:
    result = command("slices", tmp_path)
    assert (result.code, result.out) == (2, "")
    assert result.err == f"hudiformat: {tmp_path} is not a Hudi table: it has no folder .hoodie\n"


def test_a_text_that_is_not_an_instant_is_one_line(command: Command, table: Path) -> None:
    result = command("slices", "--as-of", "yesterday", table)
    assert (result.code, result.out) == (2, "")
    assert "(10 or 13 digits), found 'yesterday'" in result.err
