"""What is found in a table's folders that does not belong there."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import StorageError, Table, TableFindingKind, open_table
from hudiformat.file_group.partition_metadata import PARTITION_METADATA_FILE
from hudiformat.storage.local import LocalStorage
from tests.tables import Clock, new_table, rows, unpack

MARKERS = ".hoodie/.temp"


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = new_table(tmp_path / "t")
    table.upsert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    return table


def found(table: Table) -> list[tuple[str, str]]:
    return [(one.kind.name, one.path) for one in table.verify()]


def test_markers_of_writes_that_are_over(table: Table) -> None:
    for name in ("20200101000000000", "99990101000000000"):  # the second may be one that is about to be committed
        Path(table.path, MARKERS, name).mkdir(parents=True)
    assert found(table) == [("LEFTOVER", f"{MARKERS}/20200101000000000")]


def test_a_metadata_table_that_the_properties_do_not_name(tmp_path: Path) -> None:
    path = unpack("v9-mor-metadata-table-h120", tmp_path).table
    properties = path / ".hoodie/hoodie.properties"
    lines = properties.read_text().splitlines(keepends=True)
    properties.write_text("".join(line for line in lines if "metadata.partitions" not in line))
    assert found(open_table(path)) == [("LEFTOVER", ".hoodie/metadata")]


@pytest.mark.parametrize("content", [b"", b"#partition metadata\ncommitTime=1\npartitionDepth=4\n"])
def test_a_partition_metadata_file_that_is_damaged(table: Table, content: bytes) -> None:
    Path(table.path, "x/.hoodie_partition_metadata").write_bytes(content)
    (finding,) = table.verify()
    assert (finding.kind, finding.path) == (TableFindingKind.PARTITION, "x/.hoodie_partition_metadata")
    assert "expected partitionDepth=1, found" in finding.message


def test_a_partition_metadata_file_that_cannot_be_read(table: Table) -> None:
    file = Path(table.path, "x/.hoodie_partition_metadata")
    file.unlink()
    file.symlink_to("/nowhere")
    assert [finding.kind for finding in table.verify()] == [TableFindingKind.PARTITION]


def test_a_partition_whose_metadata_file_is_missing(table: Table) -> None:
    Path(table.path, "y/.hoodie_partition_metadata").unlink()
    assert found(table) == [("PARTITION", "y/.hoodie_partition_metadata")]


def test_partition_metadata_files_in_parquet_and_foreign_folders_are_fine(tmp_path: Path) -> None:
    path = unpack("v9-mor-parquet-partition-file-h120", tmp_path).table
    (path / "elsewhere").mkdir()
    (path / "elsewhere/notes.txt").touch()
    assert found(open_table(path, clock=Clock())) == []


def test_spill_folders_of_this_machine(table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "hudiformat-spill-1"
    monkeypatch.setattr("hudiformat.check.verify.folder_check.find_old_spill_folders", lambda **_: [folder])
    assert found(table) == [("ORPHAN", str(folder))]
    (step,) = table.repair().steps
    assert "outside of the table" in step.reason


def test_a_partition_metadata_file_that_the_storage_does_not_give(table: Table) -> None:
    class Failing(LocalStorage):
        def read(self, path: str) -> bytes:
            if path == f"x/{PARTITION_METADATA_FILE}":
                raise StorageError("input/output error", path=path)
            return super().read(path)

    (finding,) = open_table(Failing(table.path)).verify()
    assert (finding.kind, finding.message) == (TableFindingKind.PARTITION, "input/output error")
