"""The metadata files of partitions: texts, and empty files in the format of base files."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from hudiformat import Table, create_table, open_table
from hudiformat.errors import CorruptTableError, StorageError
from hudiformat.file_group.partition_metadata import (
    PARTITION_METADATA_FILE,
    PARTITION_METADATA_FILES,
    PartitionMetadata,
    encode_partition_metadata,
    find_metadata_file,
    read_partition_metadata,
)
from hudiformat.storage.local import LocalStorage
from tests.tables import SCHEMA, rows

FORMATS = ("PARQUET", "ORC")


def new_table(path: Path, base_format: str = "PARQUET", **options: str) -> Table:
    return create_table(
        path,
        name="t",
        schema=SCHEMA,
        record_key="k",
        ordering="ts",
        partition_by="p",
        table_type="COPY_ON_WRITE",
        options={
            "hoodie.table.base.file.format": base_format,
            "hoodie.partition.metafile.use.base.format": "true",
            **options,
        },
    )


def metadata_files(folder: Path) -> list[str]:
    return sorted(str(one.relative_to(folder)) for one in folder.rglob(".hoodie_partition*"))


@pytest.mark.parametrize("name", sorted(PARTITION_METADATA_FILES))
@pytest.mark.parametrize(("folder", "depth"), [("", 0), ("a", 1), ("a/b", 2)])
def test_a_file_says_when_its_partition_was_created_and_how_deep_it_is(
    name: str, folder: str, depth: int, tmp_path: Path
) -> None:
    storage = LocalStorage(tmp_path)
    storage.create(f"{folder}/{name}".lstrip("/"), encode_partition_metadata(name, folder, "20240101000000000"))
    assert read_partition_metadata(storage, folder, name) == PartitionMetadata("20240101000000000", depth)


def test_the_files_have_what_hudi_s_have(tmp_path: Path) -> None:
    for end in (".parquet", ".orc"):
        (tmp_path / end).write_bytes(encode_partition_metadata(PARTITION_METADATA_FILE + end, "x", "1"))
    parquet, found = pq.ParquetFile(tmp_path / ".parquet"), orc.ORCFile(tmp_path / ".orc")
    assert (parquet.metadata.num_rows, found.nrows) == (0, 0)
    assert {b"commitTime": b"1", b"partitionDepth": b"1"} == parquet.metadata.metadata == dict(found.metadata or {})
    text = encode_partition_metadata(PARTITION_METADATA_FILE, "x", "1")
    assert text == b"#partition metadata\ncommitTime=1\npartitionDepth=1\n"


def test_a_text_of_hudi_s_and_a_file_that_is_damaged_or_gone(tmp_path: Path) -> None:
    storage, name = LocalStorage(tmp_path), PARTITION_METADATA_FILE
    storage.create(name, b"#partition metadata\n#Sat Nov 28\ncommitTime=2\npartitionDepth=1\n")
    assert read_partition_metadata(storage, "", name) == PartitionMetadata("2", 1)
    storage.create(name, b"nothing", overwrite=True)
    assert read_partition_metadata(storage, "", name) == PartitionMetadata(None, None)
    for end in (".parquet", ".orc"):
        with pytest.raises(StorageError, match="does not exist"):
            read_partition_metadata(storage, "", name + end)
        storage.create(name + end, b"nothing")
        with pytest.raises(CorruptTableError, match="not a readable base file"):
            read_partition_metadata(storage, "", name + end)


def test_a_text_comes_before_other_files() -> None:
    assert find_metadata_file(["a.parquet", *sorted(PARTITION_METADATA_FILES, reverse=True)]) == PARTITION_METADATA_FILE
    assert find_metadata_file(["a.parquet"]) is None


@pytest.mark.parametrize("base_format", FORMATS)
def test_a_table_has_one_kind_in_all_its_partitions(base_format: str, tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", base_format)
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "y", 2)))
    table.upsert(rows(("a", 2, "x", 3), ("c", 1, "z", 4)))
    end = base_format.lower()
    assert metadata_files(tmp_path / "t") == [f"{one}/{PARTITION_METADATA_FILE}.{end}" for one in "xyz"]
    assert open_table(tmp_path / "t").verify() == []
    assert table.count() == 3


def test_a_partition_with_a_text_gets_no_second_file(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    table.insert(rows(("a", 1, "x", 1)))
    folder = tmp_path / "t" / "x"
    (folder / f"{PARTITION_METADATA_FILE}.parquet").unlink()
    (folder / PARTITION_METADATA_FILE).write_bytes(encode_partition_metadata(PARTITION_METADATA_FILE, "x", "1"))
    open_table(tmp_path / "t").upsert(rows(("a", 2, "x", 3)))
    assert metadata_files(folder) == [PARTITION_METADATA_FILE]


@pytest.mark.parametrize("damage", ["gone", "damaged", "of another depth"])
@pytest.mark.parametrize("base_format", FORMATS)
def test_a_lost_or_damaged_file_is_found_and_made_again(base_format: str, damage: str, tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", base_format)
    table.insert(rows(("a", 1, "x", 1)))
    path = tmp_path / "t" / "x" / f"{PARTITION_METADATA_FILE}.{base_format.lower()}"
    if damage == "gone":
        path.unlink()
    else:
        content = b"nothing" if damage == "damaged" else encode_partition_metadata(path.name, "x/y", "1")
        path.write_bytes(content)
    found = open_table(tmp_path / "t").verify()
    assert [one.path for one in found] == [f"x/{path.name}"]
    open_table(tmp_path / "t").repair(apply=True)
    assert open_table(tmp_path / "t").verify() == []
    assert open_table(tmp_path / "t").count() == 1


@pytest.mark.parametrize("base_format", FORMATS)
def test_a_failed_write_takes_its_partitions_with_it(base_format: str, tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", base_format)
    table.insert(rows(("a", 1, "x", 1)))
    second = table.insert(rows(("b", 1, "y", 1)))
    table.rollback(second)
    assert [one.split("/")[0] for one in metadata_files(tmp_path / "t")] == ["x"]


def test_an_emptied_partition_goes_with_a_clean(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", "ORC", **{"hoodie.clean.commits.retained": "1"})
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    table.delete_partitions(["y"])
    for number in range(3):
        table.upsert(rows(("a", 2 + number, "x", 1)))
    table.clean()
    assert not (tmp_path / "t" / "y").exists()
