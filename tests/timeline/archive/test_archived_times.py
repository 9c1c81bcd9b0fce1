from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from hudiformat import open_table
from hudiformat.errors import CorruptTableError
from hudiformat.storage.local import LocalStorage
from hudiformat.timeline.archive.archived_times import ArchivedTimes
from hudiformat.timeline.config_files import load_table_config
from tests.requests import RecordingStorage
from tests.tables import content, new_table, rows
from tests.write.commit.support import SHARED, begun

pytestmark = pytest.mark.unmeasured

FEW = {
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
    "hoodie.clean.commits.retained": "1",
    "hoodie.compact.inline": "false",
}


def archived(path: Path, version: int = 9) -> tuple[str, str]:
    """A table whose only log file is of a write that is archived: its instant, and its completion time."""
    table = new_table(path, version=version, options=SHARED)
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "x", 1)))
    table.upsert(rows(("b", 2, "x", 2)))
    slow, stats = begun(table, ("a", 3, "x", 3))
    assert table.compact()
    commit = slow.commit(stats)
    (done,) = (one for one in table.timeline.completed if one.time == commit.instant)
    other = open_table(path, options={**SHARED, **FEW})
    for step in range(6):
        other.upsert(rows(("c", step, "z", step)))
    assert commit.instant not in {one.time for one in table.timeline.instants}
    assert done.completion_time is not None
    return commit.instant, done.completion_time


@pytest.mark.slow
@pytest.mark.parametrize("version", [8, 9])
def test_a_log_file_stays_in_the_slice_that_was_the_newest_when_it_was_completed(tmp_path: Path, version: int) -> None:
    """The compaction was planned after the write had begun, and has not merged its log file."""
    archived(tmp_path / "t", version)
    table = open_table(tmp_path / "t", options=SHARED)
    assert content(table) == [("a", 3, "x", 3), ("b", 2, "x", 2), ("c", 5, "z", 5)]
    assert table.compact()
    open_table(tmp_path / "t", options={**SHARED, **FEW}).clean()
    assert content(table) == [("a", 3, "x", 3), ("b", 2, "x", 2), ("c", 5, "z", 5)]
    assert table.verify() == []


def test_times_are_read_once_and_sent_along(tmp_path: Path) -> None:
    instant, time = archived(tmp_path)
    storage = RecordingStorage(LocalStorage(tmp_path))
    times = ArchivedTimes(storage, load_table_config(storage))
    storage.clear()
    assert times.of(instant) == time
    assert storage.requests
    storage.clear()
    assert times.of(instant) == time
    assert storage.requests == []
    local = ArchivedTimes(LocalStorage(tmp_path), times.config)
    assert pickle.loads(pickle.dumps(local)).of(instant) == time


def test_a_table_reads_them_once(tmp_path: Path) -> None:
    archived(tmp_path)
    storage = RecordingStorage(LocalStorage(tmp_path))
    table = open_table(storage)
    rows_then = content(table)
    storage.clear()
    assert content(table) == rows_then
    assert [one.path for one in storage.requests if "history" in one.path] == []


def test_an_instant_that_is_not_archived_has_its_own_time(tmp_path: Path) -> None:
    archived(tmp_path)
    storage = LocalStorage(tmp_path)
    times = ArchivedTimes(storage, load_table_config(storage))
    assert times.of("20200101000000000") == "20200101000000000"
    assert times.of("29990101000000000") == "29990101000000000"


def test_a_damaged_archive_is_an_error(tmp_path: Path) -> None:
    instant, _ = archived(tmp_path)
    for file in (tmp_path / ".hoodie/timeline/history").glob("*.parquet"):
        file.write_bytes(b"damage")
    storage = LocalStorage(tmp_path)
    with pytest.raises(CorruptTableError, match="cannot read the archived timeline"):
        ArchivedTimes(storage, load_table_config(storage)).of(instant)
