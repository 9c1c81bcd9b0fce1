"""Markers, the files of a file group, and the statistics of a write."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pytest

from hudiformat import LogReader, StorageError, Table
from hudiformat.codec.log.build import data_block
from hudiformat.codec.log.writer import AppendResult
from hudiformat.codec.statistics import ColumnStatistics
from hudiformat.naming.file_names import BaseFileName, LogFileName, WriteToken
from hudiformat.spark.write.staging import stage
from hudiformat.storage.local import LocalStorage
from hudiformat.storage.protocol import Storage
from hudiformat.table.options.values import Operation
from hudiformat.timeline.commit_metadata import IndexedFile, WriteStat
from hudiformat.write.commit.files import (
    GroupTarget,
    LogFileStats,
    WriteCounts,
    base_file_stat,
    decode_write_stats,
    delete_files,
    delete_strays,
    encode_write_stats,
    files_of,
    named_files,
)
from hudiformat.write.commit.markers import MarkerFile, create_marker, delete_markers, marked_files, marked_instants
from hudiformat.write.commit.plan import write_plan
from tests.faults import FaultyStorage, NoAnswer
from tests.requests import RemoteStorage
from tests.tables import FLAGGED, SCHEMA, new_table, rows

T = TypeVar("T")


def test_markers_name_the_files_below_the_table(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    for path in ("p=1/q=2/f.parquet", "g.parquet", "p=1/q=2/f.parquet"):  # a second attempt finds the marker
        create_marker(storage, "1", path)
    storage.create(".hoodie/.temp/1/staged-0-0-0.arrow", b"")
    assert sorted(marked_files(storage, "1")) == ["g.parquet", "p=1/q=2/f.parquet"]
    assert list(marked_files(storage, "2")) == []


def test_lines_of_a_file_are_markers_too(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    markers = MarkerFile(storage, "1")
    markers.begin(16, ["p=1", "x/y"])
    assert markers.add("p=1/f.parquet")
    assert markers.add("x/y/.f-0_1.log.2_0-0-0", appends=True)
    markers.close()
    folder = tmp_path / ".hoodie" / ".temp" / "1"
    assert (folder / "MARKERS.type").read_bytes() == b"TIMELINE_SERVER_BASED"
    assert (folder / "MARKERS0").read_text() == ("p=1/f.parquet.marker.CREATE\nx/y/.f-0_1.log.2_0-0-0.marker.APPEND\n")
    of_hudi = "g.parquet.marker.MERGE\n../../out.parquet.marker.CREATE\n/etc/passwd.marker.CREATE\nh.parquet.mark"
    (folder / "MARKERS12").write_text(of_hudi)
    assert sorted(marked_files(storage, "1")) == ["g.parquet", "p=1/f.parquet", "x/y/.f-0_1.log.2_0-0-0"]
    delete_markers(storage, "1")
    assert not folder.exists()


def test_markers_of_a_write_that_ends_meanwhile_are_none(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    markers = MarkerFile(storage, "1")
    markers.begin(16, ["p"])
    markers.add("p/f.parquet")
    markers.close()

    class Ending:
        def run(self, what: str, action: Callable[[], T]) -> T:
            if what.endswith("MARKERS0"):
                delete_markers(storage, "1")
            return action()

    with pytest.raises(StorageError, match="no answer"):
        list(marked_files(FaultyStorage(storage, NoAnswer("MARKERS0")), "1"))
    assert list(marked_files(FaultyStorage(storage, Ending()), "1")) == []


@pytest.mark.parametrize("reason", ["few", "a line break", "a remote storage", "another task", "a single marker"])
def test_markers_are_files_of_their_own(tmp_path: Path, reason: str) -> None:
    storage: Storage = LocalStorage(tmp_path)
    if reason == "another task":
        create_marker(storage, "1", "theirs.parquet")
    markers = MarkerFile(RemoteStorage(storage) if reason == "a remote storage" else storage, "1")
    if reason == "a single marker":
        assert not markers.add("f.parquet")
    markers.begin(15 if reason == "few" else 16, ["a\nb"] if reason == "a line break" else ["p"])
    assert not markers.add("p/f.parquet")
    markers.close()
    assert not list(tmp_path.rglob("MARKERS*"))


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


def test_markers_of_appends_have_hudis_other_name_and_are_found_too(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    create_marker(storage, "1", "x/.f-0_1.log.2_0-0-0", appends=True)
    create_marker(storage, "1", "x/f-0_0-0-0_1.parquet")
    folder = tmp_path / ".hoodie" / ".temp" / "1" / "x"
    assert sorted(path.name for path in folder.iterdir()) == [
        ".f-0_1.log.2_0-0-0.marker.APPEND",
        "f-0_0-0-0_1.parquet.marker.CREATE",
    ]
    assert sorted(marked_files(storage, "1")) == ["x/.f-0_1.log.2_0-0-0", "x/f-0_0-0-0_1.parquet"]


def test_instants_have_markers_until_those_are_deleted(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    for instant in ("20240229120000000", "20240229120000001"):
        create_marker(storage, instant, "f.parquet")
    stage(storage, "stream-q", WriteToken(0, 0, 0), SCHEMA, [])  # a stream's folder is no instant's
    assert sorted(marked_instants(storage)) == ["20240229120000000", "20240229120000001"]
    delete_markers(storage, "20240229120000000")
    assert marked_instants(storage) == ["20240229120000001"]


def test_strays_are_files_with_a_marker_that_no_statistic_names(table: Table) -> None:
    commit = table.insert(rows(("a", 1, "x", 1)))
    [stat] = commit.stats
    storage, stray = table._context.storage, f"x/f-0_0-0-1_{commit.instant}.parquet"
    for path in (str(stat.path), stray, "x/never-written.parquet"):
        create_marker(storage, commit.instant, path)
    storage.create(stray, b"of an attempt that failed")
    delete_strays(storage, table.config, commit.instant, commit.stats)
    assert not storage.exists(stray)
    assert storage.exists(str(stat.path))


def test_the_files_of_an_instant_go_with_the_partitions_that_it_made(table: Table) -> None:
    first = table.insert(rows(("a", 1, "x", 1)))
    second = table.insert(rows(("b", 1, "new", 1)))
    storage = table._context.storage
    assert [path.rpartition("/")[0] for path in files_of(storage, second.instant)] == ["new"]
    delete_files(storage, table.config, second.instant)
    assert list(files_of(storage, second.instant)) == []
    assert [entry.name for entry in storage.list("") if entry.is_dir] == [".hoodie", "x"]
    assert len(list(files_of(storage, first.instant))) == 1


def test_change_logs_are_files_that_statistics_name() -> None:
    stats = [WriteStat("f", "x/f.parquet", cdc_stats={"x/.f-cdc.log": 7}), WriteStat("g", "x/g.parquet")]
    assert named_files(stats) == {"x/f.parquet", "x/.f-cdc.log", "x/g.parquet"}


@pytest.mark.parametrize(("partition_by", "folder"), [(["p"], "x/"), ([], "")])
def test_a_target_names_files_of_its_partition(tmp_path: Path, partition_by: list[str], folder: str) -> None:
    target = target_of(new_table(tmp_path / "t", partition_by=partition_by), folder.rstrip("/"))
    assert target.path("f.parquet") == f"{folder}f.parquet"
    other = target.of_group("g-0")
    assert (target.file_id, other.file_id, other.token) == ("f-0", "g-0", target.token)
    assert other.path("f.parquet") == f"{folder}f.parquet"


@pytest.mark.parametrize(("version", "kind"), [(9, "CREATE"), (6, "APPEND")])
def test_a_log_file_has_its_marker_before_it_has_a_block(tmp_path: Path, version: int, kind: str) -> None:
    target = target_of(new_table(tmp_path / "t", version=version), "x")
    name = LogFileName("f-0", target.plan.instant, 1, "0-0-0")
    block = data_block(rows(("a", 1)).to_batches()[0], instant=target.plan.instant)
    with target.log_writer(name) as writer:
        writer.append(block)
    assert list(marked_files(target.storage, target.plan.instant)) == [f"x/{name}"]
    assert target.storage.exists(f".hoodie/.temp/{target.plan.instant}/x/{name}.marker.{kind}")
    assert [found.num_records() for found in LogReader(f"x/{name}", storage=target.storage)] == [1]


def target_of(table: Table, partition: str) -> GroupTarget:
    """The file group ``f-0`` of a partition, as the first task of a write has it."""
    plan = write_plan(table._context.state(), Operation.UPSERT, "20990101000000000")
    return GroupTarget(table._context.storage, plan, WriteToken(0, 0, 0), partition, "f-0")


def test_statistics_of_log_files_add_up_what_was_appended_to_each() -> None:
    stats = LogFileStats("x", "f-0", "5")
    names = [f".f-0_5.log.{version}_0-0-0" for version in (1, 2)]
    stats.add(AppendResult(f"x/{names[0]}", 0, 100), WriteCounts(writes=3, updates=1, inserts=2))
    stats.add(AppendResult(f"x/{names[0]}", 100, 50), WriteCounts(deletes=4))
    stats.add(AppendResult(f"x/{names[1]}", 0, 70), WriteCounts(writes=1, inserts=1))
    first, second = stats.finish()
    assert (first.path, first.log_version, first.log_offset, first.file_size_in_bytes) == (f"x/{names[0]}", 1, 0, 150)
    assert (first.num_writes, first.num_update_writes, first.num_inserts, first.num_deletes) == (3, 1, 2, 4)
    assert (second.log_version, second.num_writes, second.file_size_in_bytes) == (2, 1, 70)
    assert (first.prev_commit, first.base_file, first.log_files) == ("5", "", (names[0],))
    assert LogFileStats("x", "f-0", "5").finish() == []


def test_statistics_of_log_files_name_the_slice_below_them(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options={"hoodie.index.type": "INMEMORY"})
    table.bulk_insert(rows(("a", 1, "x", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    [below] = table.file_slices()
    stats = LogFileStats("x", below.file_id, "5", below)
    stats.add(AppendResult(f"x/.{below.file_id}_5.log.1_0-0-0", 0, 9), WriteCounts(writes=1))
    [stat] = stats.finish()
    assert below.base_file is not None
    assert (stat.prev_commit, stat.base_file) == (below.base_instant, str(below.base_file.name))
    assert stat.log_files == (str(below.log_files[0].name), f".{below.file_id}_5.log.1_0-0-0")


def test_the_statistic_of_a_base_file_names_the_one_before_it() -> None:
    new = base_file_stat(partition_path="x", file_id="f-0", path="x/f-0_0-0-0_5.parquet", rows=3, size=70)
    assert (new.num_writes, new.num_inserts, new.prev_commit, new.prev_base_file) == (3, 3, "null", None)
    previous = BaseFileName.parse("f-0_0-0-0_4.parquet")
    again = base_file_stat(
        partition_path="x",
        file_id="f-0",
        path="x/f-0_0-0-0_5.parquet",
        rows=3,
        size=70,
        counts=WriteCounts(updates=2, inserts=1, deletes=5),
        previous=previous,
    )
    assert (again.num_writes, again.num_inserts, again.num_update_writes, again.num_deletes) == (3, 1, 2, 5)
    assert (again.prev_commit, again.prev_base_file) == ("4", "f-0_0-0-0_4.parquet")


def test_what_a_task_has_for_the_metadata_table_comes_with_its_statistics() -> None:
    columns = {"d": ColumnStatistics(pa.decimal128(5, 2), Decimal("1.50"), Decimal("2.00"), 2)}
    indexed = IndexedFile(columns, "bits", pa.array(["k"]), pa.array(["l"]))
    (found,) = decode_write_stats(encode_write_stats([WriteStat(path="f", indexed=indexed)]))
    assert found.indexed == indexed
