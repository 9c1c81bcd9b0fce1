"""Many new partitions in one write: they are made by threads, and synced together with their data files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudiformat import DataError, Table
from hudiformat.storage.threads import FileCloser
from tests.fire.memory import FakeTime, MemoryStorage
from tests.fire.scenes import Kind, new_table, table_in
from tests.fire.scenes import rows as rows_of_scene
from tests.tables import new_table as table_in_folder
from tests.tables import rows

MANY = [f"p{number:02}" for number in range(80)]


def three_each(partitions: list[str], ts: int = 1) -> pa.Table:
    """Three rows in each of *partitions*, in turns."""
    return rows(*((f"{path}/{number}", ts, path, number) for number in range(3) for path in partitions))


def keys(table: Table) -> list[str]:
    return sorted(table.snapshot(columns=["k"])["k"].to_pylist())


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_rows_of_many_new_partitions_are_there_with_all_that_readers_look_at(tmp_path: Path, table_type: str) -> None:
    table = table_in_folder(tmp_path / "t", table_type=table_type, sync=True)
    commit = table.insert(three_each(MANY))
    assert keys(table) == sorted(three_each(MANY)["k"].to_pylist())
    assert [stat.partition_path for stat in commit.stats] == MANY  # in the order of the rows
    assert all((tmp_path / "t" / path / ".hoodie_partition_metadata").exists() for path in MANY)
    numbers = set()
    for stat in commit.stats:
        file = pq.read_table(tmp_path / "t" / (stat.path or ""), partitioning=None)
        assert set(file["_hoodie_file_name"].to_pylist()) == {(stat.path or "").rpartition("/")[2]}
        assert set(file["_hoodie_partition_path"].to_pylist()) == {stat.partition_path}
        numbers |= set(file["_hoodie_commit_seqno"].to_pylist())
    assert len(numbers) == 3 * len(MANY)
    table.upsert(three_each(MANY[:2], ts=2))
    assert set(table.snapshot(filter="p = 'p01'")["ts"].to_pylist()) == {2}


def test_a_power_cut_after_the_commit_loses_no_partition() -> None:
    kind = Kind(9, "MERGE_ON_READ")
    storage = MemoryStorage({}, FakeTime())
    table = new_table(storage, kind)
    table.insert(rows_of_scene(*((f"{path}/{number}", path, number) for number in range(3) for path in MANY)))
    storage.lose_unsynced()
    assert all(storage.read(f"{path}/.hoodie_partition_metadata") for path in MANY)
    assert len(keys(table_in(storage, storage.time, kind))) == 3 * len(MANY)


@pytest.mark.parametrize("many", [["a", *MANY, "a/b"], ["a/b/c", "a"]])
def test_a_partition_inside_another_one_of_the_same_write_is_refused(tmp_path: Path, many: list[str]) -> None:
    table = table_in_folder(tmp_path / "t")
    with pytest.raises(DataError, match="would be inside the partition 'a'"):
        table.insert(three_each(many))
    assert not list((tmp_path / "t").rglob("*.parquet"))
    assert keys(table) == []


def test_a_file_that_cannot_be_written_ends_the_write_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = table_in_folder(tmp_path / "t", sync=True)
    added = FileCloser.add
    count = iter(range(1000))

    def fail(self: FileCloser, file: object) -> None:
        if next(count) == 50:
            raise OSError(28, "No space left on device")
        added(self, file)  # type: ignore[arg-type]  # a method of the class that is patched

    with monkeypatch.context() as patch:
        patch.setattr(FileCloser, "add", fail)
        with pytest.raises(OSError, match="No space left"):
            table.insert(three_each(MANY))
    table.insert(three_each(MANY[:1]))  # rolls back what failed
    assert keys(table) == sorted(three_each(MANY[:1])["k"].to_pylist())
    assert len(list((tmp_path / "t").rglob("*.parquet"))) == 1
