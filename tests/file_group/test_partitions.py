"""Partitions are listed by their metadata files, while the collection of cycles is paused."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat.file_group.partition_metadata import PARTITION_METADATA_FILE
from hudiformat.file_group.partitions import list_partitions
from hudiformat.storage.local import LocalStorage


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    storage = LocalStorage(tmp_path)
    storage.create(".hoodie/hoodie.properties", b"")
    return storage


def make(storage: LocalStorage, folder: str, *files: str) -> None:
    for name in files:
        storage.create(f"{folder}/{name}" if folder else name, b"x", sync=False)


def paths(storage: LocalStorage) -> list[str]:
    return [path for path, _ in list_partitions(storage)]


def test_partitions_come_in_order_with_their_files(storage: LocalStorage) -> None:
    make(storage, "b", PARTITION_METADATA_FILE, "f.parquet")
    make(storage, "a", PARTITION_METADATA_FILE)
    make(storage, "a/folder", "not-a-file-of-the-partition")
    found = dict(list_partitions(storage))
    assert list(found) == ["a", "b"]
    assert [(entry.name, entry.size) for entry in found["b"]] == [(PARTITION_METADATA_FILE, 1), ("f.parquet", 1)]
    assert [entry.name for entry in found["a"]] == [PARTITION_METADATA_FILE]


def test_partitions_may_be_nested(storage: LocalStorage) -> None:
    for folder in ("year=2024/month=02", "year=2024/month=01", "year=2023/month=12", "deep/er/still"):
        make(storage, folder, PARTITION_METADATA_FILE)
    assert paths(storage) == ["deep/er/still", "year=2023/month=12", "year=2024/month=01", "year=2024/month=02"]


def test_a_folder_without_the_file_is_no_partition(storage: LocalStorage) -> None:
    make(storage, "a", "f_0-0-0_10.parquet")
    assert paths(storage) == []
    make(storage, "a/b", PARTITION_METADATA_FILE)
    assert paths(storage) == ["a/b"]


def test_the_file_may_be_of_the_base_format(storage: LocalStorage) -> None:
    make(storage, "a", f"{PARTITION_METADATA_FILE}.parquet")
    assert paths(storage) == ["a"]


def test_a_table_without_partitions_is_its_own_folder(storage: LocalStorage) -> None:
    make(storage, "", PARTITION_METADATA_FILE, "f.parquet")
    make(storage, "a", PARTITION_METADATA_FILE)
    assert paths(storage) == [""]


def test_the_hoodie_folder_has_no_partitions(storage: LocalStorage) -> None:
    make(storage, ".hoodie/metadata/files", PARTITION_METADATA_FILE)
    make(storage, "a/.hoodie", PARTITION_METADATA_FILE)  # below the top it is a value like any other
    assert paths(storage) == ["a/.hoodie"]


def test_an_empty_folder_has_none(tmp_path: Path) -> None:
    assert paths(LocalStorage(tmp_path / "nothing")) == []
