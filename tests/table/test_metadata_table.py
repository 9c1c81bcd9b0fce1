"""A table whose properties name a metadata table.

It is read for the listing; a write drops it, as Hudi's writers without one do.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hudiformat import HudiFormatWarning, Table, open_table
from hudiformat.storage import FileInfo, LocalStorage
from hudiformat.timeline import parse_properties
from tests.table.support import multiset

PARTITIONS = "hoodie.table.metadata.partitions"
NAME = "v9-mor-metadata-table-h120"


@pytest.fixture
def path(own_golden: Callable[[str], Path]) -> Path:
    return own_golden(NAME)


def properties(path: Path) -> dict[str, str]:
    return dict(parse_properties((path / ".hoodie" / "hoodie.properties").read_bytes()))


def some_keys(table: Table, count: int) -> object:
    names = [*table.config.record_key_fields, *table.config.partition_fields]
    return table.snapshot(columns=names).slice(0, count)


def test_reading_leaves_the_metadata_table_alone(path: Path) -> None:
    before = properties(path)
    open_table(path).snapshot()
    assert properties(path) == before
    assert (path / ".hoodie" / "metadata").is_dir()


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


def without_metadata_table(path: Path) -> Table:
    return open_table(path, options={"hoodie.metadata.enable": "false"})


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
    assert [Path(warning.filename).name for warning in caught] == ["test_metadata_table.py"]
    with pytest.warns(HudiFormatWarning, match="cannot be read"):
        assert table.file_slices("north") == [item for item in expected if item.partition_path == "north"]


def test_a_metadata_table_that_another_writer_dropped_is_not_looked_for(path: Path) -> None:
    table = open_table(path)
    expected = table.file_slices()
    other = without_metadata_table(path)
    other.delete(some_keys(other, 1))
    assert len(table.file_slices()) == len(expected)  # a warning would be an error


def test_a_write_drops_it_with_a_warning_and_keeps_every_other_property(path: Path) -> None:
    before = properties(path)
    assert before[PARTITIONS]
    table = open_table(path)
    rows = table.snapshot()
    with pytest.warns(HudiFormatWarning, match="the metadata table cannot be kept up yet and is dropped"):
        commit = table.delete(some_keys(table, 3))
    assert not (path / ".hoodie" / "metadata").exists()
    assert properties(path) == {**before, PARTITIONS: "", f"{PARTITIONS}.inflight": ""}
    assert commit.num_deletes == 3
    assert table.snapshot().num_rows == rows.num_rows - 3
    assert open_table(path).config.metadata_partitions == ()


def test_the_second_write_has_nothing_to_drop(path: Path) -> None:
    table = open_table(path)
    with pytest.warns(HudiFormatWarning):
        table.delete(some_keys(table, 1))
    before = (path / ".hoodie" / "hoodie.properties").read_bytes()
    table.delete(some_keys(table, 1))  # a warning would be an error
    assert (path / ".hoodie" / "hoodie.properties").read_bytes() == before


def test_a_write_that_is_refused_drops_nothing(path: Path) -> None:
    before = properties(path)
    table = open_table(path)
    rows = table.snapshot()
    with pytest.raises(ValueError, match="is missing"):
        table.delete(rows.drop_columns(list(table.config.record_key_fields)))
    assert properties(path) == before
    assert multiset(table.snapshot()) == multiset(rows)


def test_a_writer_that_says_so_drops_it_without_a_warning(path: Path) -> None:
    table = open_table(path, options={"hoodie.metadata.enable": "false"})
    table.delete(some_keys(table, 1))
    assert open_table(path).config.metadata_partitions == ()
    assert not (path / ".hoodie" / "metadata").exists()
