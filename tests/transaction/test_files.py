"""Markers, the files of a file group, and the statistics of a write."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import StorageError
from hudiformat.storage import LocalStorage
from hudiformat.transaction.files import create_marker, decode_write_stats, encode_write_stats, marked_files
from tests.tables import FLAGGED, new_table, rows


def test_markers_name_the_files_below_the_table(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    for path in ("p=1/q=2/f.parquet", "g.parquet", "p=1/q=2/f.parquet"):  # a second attempt finds the marker
        create_marker(storage, "1", path)
    storage.create(".hoodie/.temp/1/staged-0-0-0.arrow", b"")
    assert sorted(marked_files(storage, "1")) == ["g.parquet", "p=1/q=2/f.parquet"]
    assert list(marked_files(storage, "2")) == []


def test_a_marker_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / ".hoodie").mkdir()
    (tmp_path / ".hoodie" / ".temp").write_text("in the way")
    with pytest.raises(StorageError):
        create_marker(LocalStorage(tmp_path), "1", "f.parquet")


def test_statistics_travel_between_processes(tmp_path: Path) -> None:
    options = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1", "hoodie.logfile.max.size": "900"}
    table = new_table(tmp_path / "t", schema=FLAGGED, options=options)
    first = rows(*((f"k{i}", 1, "xy"[i % 2], i) for i in range(30)), schema=FLAGGED)
    second = rows(*((f"k{i}", 2, "xy"[i % 2], i, i % 5 == 0) for i in range(20, 40)), schema=FLAGGED)
    for commit in (table.insert(first), table.upsert(second), table.delete(first.slice(0, 10))):
        assert commit.stats
        assert decode_write_stats(encode_write_stats(commit.stats)) == commit.stats
    assert decode_write_stats(encode_write_stats([])) == ()
