"""Files of the archived timeline are merged as Hudi merges them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat.errors import CorruptTableError
from hudiformat.timeline.archive.archived import ArchivedInstant
from hudiformat.timeline.archive.archiving import _choose_files, archive_instants, merge_history, read_archived
from hudiformat.timeline.archive.history import add_history, latest_manifest
from hudiformat.timeline.commit_metadata import CommitMetadata
from hudiformat.timeline.timeline import Action, Instant, State
from tests.timeline.support import FEW, Table

MB = 1 << 20


def times(table: Table) -> list[str]:
    return [one.instant.time for one in read_archived(table.storage, table.config)]


def fill(table: Table, first: int, count: int) -> None:
    """A file for each of *count* archived commits."""
    for number in range(first, first + count):
        instant = Instant(f"{number:017d}", Action.COMMIT, State.COMPLETED, completion_time=f"{number:017d}")
        add_history(table.storage, table.config, [ArchivedInstant(instant, CommitMetadata("UPSERT"))])


def files(table: Table) -> dict[str, int]:
    return latest_manifest(table.storage, table.config.history_folder)[1]


def on_disk(table: Table) -> set[str]:
    return {info.name for info in table.storage.list(table.config.history_folder)}


def test_fewer_than_ten_files_stay(newest: Table) -> None:
    fill(newest, 0, 9)
    before = on_disk(newest)
    assert merge_history(newest.storage, newest.config) == 0
    assert on_disk(newest) == before


def test_ten_files_become_one_of_the_next_level(newest: Table) -> None:
    fill(newest, 0, 11)
    assert merge_history(newest.storage, newest.config) == 1
    assert list(files(newest)) == [f"{10:017d}_{10:017d}_0.parquet", f"{0:017d}_{9:017d}_1.parquet"]
    assert times(newest) == [f"{number:017d}" for number in range(11)]
    assert {type(one.metadata) for one in read_archived(newest.storage, newest.config)} == {CommitMetadata}


def test_levels_are_merged_one_after_the_other(newest: Table) -> None:
    for first in range(0, 100, 10):
        fill(newest, first, 10)
        merge_history(newest.storage, newest.config)
    assert list(files(newest)) == [f"{0:017d}_{99:017d}_2.parquet"]
    assert times(newest) == [f"{number:017d}" for number in range(100)]


def test_replaced_files_stay_as_long_as_a_kept_manifest_names_them(newest: Table) -> None:
    fill(newest, 0, 10)
    merge_history(newest.storage, newest.config)
    assert len([name for name in on_disk(newest) if name.endswith("_0.parquet")]) == 10
    fill(newest, 10, 10)
    merge_history(newest.storage, newest.config)
    left = on_disk(newest)
    assert sorted(name for name in left if name.startswith("manifest")) == [f"manifest_{n}" for n in (19, 20, 21, 22)]
    assert f"{0:017d}_{0:017d}_0.parquet" not in left
    assert set(files(newest)) <= left


def test_a_file_that_a_crashed_writer_left_is_replaced(newest: Table) -> None:
    fill(newest, 0, 10)
    newest.storage.create(f"{newest.config.history_folder}/{0:017d}_{9:017d}_1.parquet", b"half")
    merge_history(newest.storage, newest.config)
    assert times(newest) == [f"{number:017d}" for number in range(10)]


def test_a_damaged_file_stops_the_merge_before_anything_is_replaced(newest: Table) -> None:
    fill(newest, 0, 10)
    folder = newest.config.history_folder
    newest.storage.create(f"{folder}/{3:017d}_{3:017d}_0.parquet", b"PAR1", overwrite=True)
    before = on_disk(newest)
    with pytest.raises(CorruptTableError, match="cannot read the archived timeline"):
        merge_history(newest.storage, newest.config)
    assert on_disk(newest) == before


def test_archiving_merges(newest: Table) -> None:
    for number in range(1, 24):
        newest.add(number, Action.COMMIT)
        archive_instants(newest.storage, newest.config, FEW)
    assert [name.rpartition("_")[2] for name in files(newest)] == ["1.parquet", "0.parquet"]
    assert len(times(newest)) == 22


@pytest.mark.parametrize(
    ("sizes", "chosen"),
    [
        ([1] * 12, 10),
        ([600 * MB] * 10, 2),
        ([2 * MB, 700 * MB, 900 * MB, 5 * MB], 3),
        ([1200 * MB, 1 * MB, 1 * MB], 2),
        ([1200 * MB] * 10, 0),
    ],
)
def test_large_files_are_merged_as_hudi_chooses_them(sizes: list[int], chosen: int, tmp_path: Path) -> None:
    assert len(_choose_files([(str(number), size) for number, size in enumerate(sizes)])) == chosen
