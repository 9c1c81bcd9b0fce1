"""What is found wrong with properties, instants and the archived timeline."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import Table, open_table
from hudiformat.check.verify.timeline_check import findings_of_archive, findings_of_instants, findings_of_properties
from hudiformat.codec.log.block import LogBlock, encode_block
from hudiformat.codec.log.frame import BlockHeader, BlockType, HeaderKey
from hudiformat.storage.local import LocalStorage
from tests.tables import new_table, rows, unpack


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = new_table(tmp_path / "t")
    table.upsert(rows(("a", 1, "x", 1)))
    return table


def of_properties(table: Table) -> list[tuple[str, str]]:
    return [(one.kind.name, one.path) for one in findings_of_properties(table._context.storage)]


def of_instants(table: Table) -> list[tuple[str, str]]:
    return [(one.kind.name, one.message) for one in findings_of_instants(table._context.state())]


def of_archive(table: Table) -> list[tuple[str, str]]:
    return [(one.kind.name, one.path) for one in findings_of_archive(table._context.storage, table.config)]


def test_sound_properties(table: Table) -> None:
    assert of_properties(table) == []


def test_properties_that_end_within_a_line_or_are_damaged_or_gone(table: Table) -> None:
    file = Path(table.path, ".hoodie/hoodie.properties")
    text = file.read_text()
    file.write_text(text.rstrip("\n"))
    assert of_properties(table) == [("DAMAGED", ".hoodie/hoodie.properties")]
    file.write_text(text[: len(text) // 3])
    assert of_properties(table) == [("DAMAGED", ".hoodie/hoodie.properties")]
    file.with_suffix(".properties.backup").write_text(text)
    file.unlink()
    assert of_properties(table) == [
        ("MISSING", ".hoodie/hoodie.properties"),
        ("LEFTOVER", ".hoodie/hoodie.properties.backup"),
    ]


def test_a_completed_instant_that_is_empty(table: Table) -> None:
    (done,) = Path(table.path, ".hoodie/timeline").glob("*.deltacommit")
    done.write_bytes(b"")
    ((kind, message),) = of_instants(table)
    assert (kind, "is empty" in message) == ("DAMAGED", True)


def test_plans_that_are_missing_or_damaged(table: Table) -> None:
    timeline = Path(table.path, ".hoodie/timeline")
    (timeline / "99990101000000000.compaction.requested").touch()
    found = of_instants(table)
    assert [kind for kind, _ in found] == ["UNCOMMITTED", "DAMAGED"]
    assert "has no plan" in found[1][1]
    (timeline / "99990101000000000.compaction.inflight").touch()
    (timeline / "99990101000000000.compaction.requested").write_bytes(b"Obj\x01 no longer")
    assert [kind for kind, _ in of_instants(table)] == ["UNCOMMITTED", "DAMAGED"]


def test_a_damaged_plan_that_is_the_newest_state_is_found_once(table: Table) -> None:
    Path(table.path, ".hoodie/timeline/99990101000000000.clustering.requested").write_bytes(b"Obj\x01 no longer")
    assert [kind for kind, _ in of_instants(table)] == ["UNCOMMITTED", "DAMAGED"]


def test_archives_of_both_layouts_are_sound(tmp_path: Path) -> None:
    for name in ("v6-mor-archived-h0150", "v9-mor-archived-h120"):
        assert of_archive(open_table(unpack(name, tmp_path).table)) == []


def test_a_missing_file_of_the_archive(tmp_path: Path) -> None:
    table = open_table(unpack("v9-mor-archived-h120", tmp_path).table)
    gone = min(Path(table.path, table.config.history_folder).glob("*.parquet"))
    gone.unlink()
    assert ("DAMAGED", f"{table.config.history_folder}/{gone.name}") in of_archive(table)


def test_an_archive_log_whose_records_cannot_be_read(tmp_path: Path) -> None:
    table = open_table(unpack("v6-mor-archived-h0150", tmp_path).table)
    path = f"{table.config.history_folder}/.commits_.archive.9_1-0-1"
    block = LogBlock(BlockType.AVRO_DATA, BlockHeader({HeaderKey.SCHEMA: '"string"'}), b"\0\0\0\3\0\0\0\1\0\0\0\1\x7f")
    LocalStorage(table.path).create(path, encode_block(block))
    assert of_archive(table) == [("DAMAGED", path)]
