"""Which files a table has, by its metadata table or by its folders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest

from hudiformat import HudiFormatWarning, open_table
from hudiformat.metadata_table.listing import listing
from hudiformat.storage.local import LocalStorage
from hudiformat.storage.protocol import FileInfo
from hudiformat.table.listing import list_files, list_metadata_table
from tests.metadata_tables import NAME, properties, some_keys, without_metadata_table


@pytest.fixture
def path(own_golden: Callable[[str], Path]) -> Path:
    return own_golden(NAME)


@pytest.fixture
def folders_seen(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders that were listed, but for those below ``.hoodie``."""
    seen: list[str] = []
    list_folder = LocalStorage.list

    def note(storage: LocalStorage, path: str) -> list[FileInfo]:
        if not path.startswith(".hoodie"):
            seen.append(path)
        return list_folder(storage, path)

    monkeypatch.setattr(LocalStorage, "list", note)
    return seen


def test_reading_leaves_the_metadata_table_alone(path: Path) -> None:
    before = properties(path)
    open_table(path).snapshot()
    assert properties(path) == before
    assert (path / ".hoodie" / "metadata").is_dir()


def test_slices_are_those_of_the_folders_and_no_folder_is_listed(path: Path, folders_seen: list[str]) -> None:
    table = open_table(path)
    found = table.file_slices()
    moments = [instant.time for instant in table.timeline.completed]
    found_then = [table.file_slices(as_of=moment) for moment in moments]
    found_there = table.file_slices("north")
    assert folders_seen == []
    other = without_metadata_table(path)
    assert found == sorted(other.file_slices(), key=lambda item: (item.partition_path, item.file_id))
    assert sorted(set(folders_seen)) == ["", "east", "north", "south"]
    assert found_there == other.file_slices("north")
    for moment, slices in zip(moments, found_then, strict=True):
        assert slices == other.file_slices(as_of=moment)
    assert len(found) == 6
    assert table.file_slices("no/such/partition") == []


def test_what_a_failed_write_left_is_in_no_slice(path: Path) -> None:
    """It lies in the folder alone: a write that did not complete says nothing to the metadata table."""
    before = open_table(path).file_slices()
    left = path / "north" / "ffffffff-0_0-0-0_20991231000000000.parquet"
    left.write_bytes(b"")
    assert open_table(path).file_slices() == before == without_metadata_table(path).file_slices()


def test_an_unreadable_metadata_table_is_passed_over_with_one_warning(path: Path) -> None:
    expected = without_metadata_table(path).file_slices()
    for file in (path / ".hoodie" / "metadata" / "files").glob("*.hfile"):
        file.write_bytes(b"junk")
    table = open_table(path)
    with pytest.warns(HudiFormatWarning, match="the metadata table is not used, as it cannot be read: ") as caught:
        assert table.file_slices() == expected
    assert [Path(warning.filename).name for warning in caught] == ["test_listing.py"]
    with pytest.warns(HudiFormatWarning, match="cannot be read"):
        assert table.file_slices("north") == [item for item in expected if item.partition_path == "north"]


def test_a_metadata_table_that_another_writer_dropped_is_not_looked_for(path: Path) -> None:
    table = open_table(path)
    expected = table.file_slices()
    other = without_metadata_table(path)
    other.delete(some_keys(other, 1))
    assert len(table.file_slices()) == len(expected)  # a warning would be an error


class North:
    """Keeps the partition ``north``."""

    def may_hold(self, path: str) -> bool:
        return path == "north"

    def holding(self, paths: Sequence[str]) -> list[str]:
        return [path for path in paths if path == "north"]

    def entering(self, folders: Sequence[str]) -> list[str]:
        return self.holding(folders)


def test_folders_of_other_partitions_are_not_entered(path: Path, folders_seen: list[str]) -> None:
    storage = LocalStorage(path)
    [(found, files)] = list_files(storage, None, pruner=North())
    assert sorted(folders_seen) == ["", "north"]
    assert found == "north"
    assert sorted(one.name for one in files) == sorted(one.name for one in (path / "north").iterdir())
    [(_, alone)] = list_files(storage, "north")
    assert sorted(alone, key=str) == sorted(files, key=str)
    assert [found for found, _ in list_files(storage, None)] == ["east", "north", "south"]


def test_the_metadata_table_lists_what_the_folders_hold(path: Path) -> None:
    storage, state = LocalStorage(path), open_table(path)._context.state()
    expected = {found: names(files) for found, files in list_files(storage, None)}
    opened = partial(listing, storage, state.config, state.timeline)
    found = list_metadata_table(opened, storage.root, None)
    assert found is not None
    assert {partition: names(files) for partition, files in found} == expected
    for partition, pruner in (("north", None), (None, North())):
        found = list_metadata_table(opened, storage.root, partition, pruner=pruner)
        assert found is not None
        assert {partition: names(files) for partition, files in found} == {"north": expected["north"]}


def test_the_metadata_table_is_opened_once_for_one_partition_after_the_other(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def seen(storage: LocalStorage, path: str) -> object:
        opened.append(path)
        return map_file(storage, path)

    map_file = LocalStorage.map
    monkeypatch.setattr(LocalStorage, "map", seen)
    state = open_table(path)._context.state()
    expected = {found: names(files) for found, files in list_files(LocalStorage(path), None)}
    first = names(state.partition_files("north"))
    once = len([name for name in opened if "metadata/files" in name])
    assert (first, names(state.partition_files("south"))) == (expected["north"], expected["south"])
    assert len([name for name in opened if "metadata/files" in name]) == once > 0


def names(files: list[FileInfo]) -> set[str]:
    return {one.name for one in files if not one.name.startswith(".hoodie_partition")}
