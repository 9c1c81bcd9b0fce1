"""What the list of files is given of an action."""

from __future__ import annotations

from hudiformat.metadata_table.changes import Change
from hudiformat.metadata_table.kinds.files import entries_of
from hudiformat.metadata_table.records import FileEntry
from hudiformat.timeline.commit_metadata import WriteStat
from tests.metadata_table.tables import ALL


def live(size: int) -> FileEntry:
    return FileEntry(size, is_deleted=False)


dead = FileEntry(0, is_deleted=True)


def test_a_commit_names_its_files_the_change_data_and_every_partition() -> None:
    stats = {
        "x/y": (
            WriteStat(path="x/y/a.parquet", file_size_in_bytes=5, cdc_stats={"x/y/.a.log.1_0-0-0.cdc": 2}),
            WriteStat(path=None),
        ),
        "": (WriteStat(path="b.parquet", file_size_in_bytes=7),),
    }
    assert entries_of(Change(is_commit=True, written=stats)) == {
        ALL: {"x/y": live(0), ".": live(0)},
        "x/y": {"a.parquet": live(5), ".a.log.1_0-0-0.cdc": live(2)},
        ".": {"b.parquet": live(7)},
    }


def test_a_commit_without_files_lists_no_partition() -> None:
    assert entries_of(Change(is_commit=True)) == {ALL: {}}
    assert entries_of(Change()) == {}


def test_deleted_files_and_partitions_are_marked() -> None:
    assert entries_of(Change(deleted={"": ["a"]})) == {".": {"a": dead}}
    assert entries_of(Change(deleted={"x": ["a"]}, gone=["x"])) == {ALL: {"x": dead}, "x": {"a": dead}}
