"""The files that a write leaves, and what its commit says about them."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudiformat import BlockType, Commit, HeaderKey, LogFileName, LogReader, Table, open_table
from hudiformat.naming import BaseFileName
from hudiformat.timeline import WriteStat, read_metadata
from hudiformat.transaction.files import decode_write_stats, encode_write_stats
from hudiformat.write.write import WriteTask
from tests.tables import FLAGGED, SCHEMA, Clock, content, data_files, new_table, rows, tree

SPEC = Path(__file__).parents[2] / "spec" / "writing.md"
BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}


def many(count: int, *, ts: int = 1) -> pa.Table:
    return rows(*((f"key-{i:05d}", ts, "x", i) for i in range(count)))


def logs_of(table: Table, commit: Commit) -> list[Path]:
    """The log files of a commit, in the order of their versions."""
    paths = [Path(table.path, stat.path or "") for stat in commit.stats if stat.log_version is not None]
    return sorted(paths, key=lambda path: LogFileName.parse(path.name).version)


def test_log_files_roll_over_past_their_maximal_size(tmp_path: Path) -> None:
    sizes = {"hoodie.logfile.max.size": "20000", "hoodie.logfile.data.block.max.size": "8000"}
    table = new_table(tmp_path / "t", options={**BUCKETS, **sizes})
    commit = table.upsert(many(3000))
    logs = logs_of(table, commit)
    assert [LogFileName.parse(path.name).version for path in logs] == list(range(1, len(logs) + 1))
    assert len(logs) > 3
    for path in logs:
        blocks = list(LogReader(path))
        last = blocks[-1].size
        assert last is not None
        assert path.stat().st_size - last <= 20000  # no append begins past the threshold
        assert path == logs[-1] or path.stat().st_size > 20000
    assert len(content(table)) == 3000


def test_blocks_keep_to_their_maximal_size(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options={**BUCKETS, "hoodie.logfile.data.block.max.size": "10000"})
    commit = table.upsert(many(5000))
    (path,) = logs_of(table, commit)
    blocks = list(LogReader(path))
    assert len(blocks) > 10
    assert sum(block.num_records() for block in blocks) == 5000
    assert max(len(block.content) for block in blocks) < 12_000
    single = new_table(tmp_path / "u", options=BUCKETS)
    (path,) = logs_of(single, single.upsert(many(5000)))
    assert len(list(LogReader(path))) == 1


def test_a_block_holds_at_least_one_row(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options={**BUCKETS, "hoodie.logfile.data.block.max.size": "1"})
    (path,) = logs_of(table, table.upsert(many(5)))
    assert [block.num_records() for block in LogReader(path)] == [1] * 5


def test_base_files_end_near_their_maximal_size(tmp_path: Path) -> None:
    options = {"hoodie.parquet.max.file.size": "150000", "hoodie.copyonwrite.insert.auto.split": "false"}
    options |= {"hoodie.parquet.compression.codec": "uncompressed", "hoodie.copyonwrite.record.size.estimate": "60"}
    table = new_table(tmp_path / "t", options=options)
    commit = table.insert(many(20_000))
    sizes = [stat.file_size_in_bytes for stat in commit.stats]
    assert len(sizes) > 4
    assert all(0.95 * 150_000 < size <= 1.01 * 150_000 for size in sizes[:-1])
    assert sum(stat.num_writes for stat in commit.stats) == 20_000
    ids = [stat.file_id or "" for stat in commit.stats]
    assert [file_id.rpartition("-")[2] for file_id in ids] == [str(i) for i in range(len(ids))]
    assert len({file_id.rpartition("-")[0] for file_id in ids}) == 1  # one planned group, which is too large for a file
    assert table.snapshot(columns=[]).num_rows == 20_000
    assert len(table.snapshot(columns=["_hoodie_commit_seqno"])[0].unique()) == 20_000


def test_a_row_larger_than_a_file_has_one_of_its_own(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options={"hoodie.parquet.max.file.size": "1"})
    commit = table.insert(many(5))
    assert [stat.num_writes for stat in commit.stats] == [1] * 5


def test_deletes_share_the_last_append(tmp_path: Path) -> None:
    options = {**BUCKETS, "hoodie.logfile.max.size": "1"}
    table = new_table(tmp_path / "t", schema=FLAGGED, options=options)
    commit = table.upsert(rows(("a", 1, "x", 1), ("b", 1, "x", 1, True), schema=FLAGGED))
    (path,) = logs_of(table, commit)
    assert [block.type for block in LogReader(path)] == [BlockType.AVRO_DATA, BlockType.DELETE]


def test_deletes_by_column_carry_their_ordering_value_and_deletes_by_key_none(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", schema=FLAGGED, options=BUCKETS)
    table.upsert(rows(("a", 1, "x", 1), ("b", 1, "x", 1), schema=FLAGGED))
    by_column = table.upsert(rows(("a", 7, "x", 1, True), schema=FLAGGED))
    by_key = table.delete(rows(("b", 9, "x"), schema=FLAGGED))
    for commit, expected in ((by_column, ("a", "x", 7)), (by_key, ("b", "x", 0))):
        (path,) = logs_of(table, commit)
        (block,) = LogReader(path)
        deletes = block.deletes()
        assert [tuple(row.values()) for row in deletes.to_pylist()] == [expected]
        assert deletes["ordering"].type == (pa.int64() if expected[2] else pa.int32())  # the int 0 is Hudi's for none
        assert block.instant == commit.instant


def test_headers_of_blocks_name_instant_and_schema(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options=BUCKETS)
    commit = table.upsert(many(2))
    (path,) = logs_of(table, commit)
    (block,) = LogReader(path)
    assert dict(block.header) == {
        HeaderKey.INSTANT_TIME: commit.instant,
        HeaderKey.SCHEMA: table.context.state().schema.avro_with_meta,
    }


def test_the_codec_and_the_filter_of_base_files_are_as_asked(tmp_path: Path) -> None:
    for codec in ("gzip", "snappy", "zstd", "uncompressed"):
        options = {"hoodie.parquet.compression.codec": codec, "hoodie.parquet.bloom.filter.enabled": "false"}
        table = new_table(tmp_path / codec, options=options)
        (stat,) = table.insert(many(2)).stats
        metadata = pq.read_metadata(tmp_path / codec / (stat.path or ""))
        assert metadata.row_group(0).column(0).compression == codec.upper()
        assert b"org.apache.hudi.bloomfilter" not in metadata.metadata


def _history(path: Path, index: dict[str, str]) -> tuple[Table, list[Commit]]:
    sizes = {"hoodie.logfile.max.size": "4000", "hoodie.logfile.data.block.max.size": "3000"}
    table = new_table(path, schema=FLAGGED, options={**index, **sizes}, sync=True)
    first = rows(*((f"k{i}", 1, "xy"[i % 2], i) for i in range(300)), schema=FLAGGED)
    second = rows(*((f"k{i}", 2, "xy"[i % 2], i, i % 5 == 0) for i in range(200, 400)), schema=FLAGGED)
    return table, [table.insert(first), table.upsert(second), table.delete(first.slice(0, 10))]


def test_statistics_are_what_the_files_hold(tmp_path: Path, any_index: dict[str, str]) -> None:
    table, commits = _history(tmp_path / "t", any_index)
    listed = []
    for commit in commits:
        for stat in commit.stats:
            assert stat.path is not None
            file = tmp_path / "t" / stat.path
            listed.append(stat.path)
            assert stat.partition_path == str(Path(stat.path).parent)
            assert stat.total_write_bytes == stat.file_size_in_bytes == file.stat().st_size
            if file.suffix == ".parquet":
                _check_base_file(stat, file, commit)
            else:
                _check_log_file(stat, file, commit)
        instant = next(done for done in table.timeline.completed if done.time == commit.instant)
        metadata = read_metadata(table.context.storage, table.config, instant)
        assert metadata.write_stats == commit.stats
        assert list(metadata.partition_to_write_stats) == sorted({stat.partition_path or "" for stat in commit.stats})
        assert metadata.schema == table.context.state().schema.avro
    assert sorted(listed) == data_files(tmp_path / "t")
    assert [commit.num_writes for commit in commits] == [300, 160, 0]
    assert commits[2].num_deletes == 10
    operations = [
        read_metadata(table.context.storage, table.config, done).operation_type for done in table.timeline.completed
    ]
    assert operations == ["INSERT", "UPSERT", "DELETE"]


def _check_base_file(stat: WriteStat, file: Path, commit: Commit) -> None:
    name = BaseFileName.parse(file.name)
    assert (name.file_id, name.instant, name.write_token) == (stat.file_id, commit.instant, "0-0-0")
    assert stat.num_writes == pq.read_metadata(file).num_rows
    if stat.prev_base_file is None:
        assert (stat.prev_commit, stat.num_writes, stat.num_deletes) == ("null", stat.num_inserts, 0)
    else:
        assert stat.prev_commit == BaseFileName.parse(stat.prev_base_file).instant
        assert BaseFileName.parse(stat.prev_base_file).file_id == stat.file_id
    assert (stat.log_version, stat.log_offset, stat.base_file, stat.log_files) == (None, None, None, None)


def _check_log_file(stat: WriteStat, file: Path, commit: Commit) -> None:
    name = LogFileName.parse(file.name)
    assert (name.file_id, name.instant, name.version) == (stat.file_id, commit.instant, stat.log_version)
    assert (stat.prev_commit, stat.log_offset, stat.base_file) == (commit.instant, 0, "")
    assert stat.log_files == (file.name,)
    blocks = list(LogReader(file))
    assert stat.num_writes == sum(block.num_records() for block in blocks if block.type is BlockType.AVRO_DATA)
    assert stat.num_deletes == sum(block.num_records() for block in blocks if block.type is BlockType.DELETE)


def test_statistics_travel_between_processes(tmp_path: Path) -> None:
    _, commits = _history(tmp_path / "t", BUCKETS)
    for commit in commits:
        assert decode_write_stats(encode_write_stats(commit.stats)) == commit.stats
    assert decode_write_stats(encode_write_stats([])) == ()


def test_the_same_rows_options_and_times_give_the_same_bytes(tmp_path: Path, any_index: dict[str, str]) -> None:
    trees = []
    for name in ("one", "two"):
        _history(tmp_path / name, any_index)
        found = tree(tmp_path / name)
        del found[".hoodie/hoodie.properties"]  # says when it was saved
        trees.append(found)
    assert trees[0] == trees[1]


def test_no_marker_and_no_temporary_file_stays_behind(tmp_path: Path, any_index: dict[str, str]) -> None:
    _history(tmp_path / "t", any_index)
    found = [path for path in tree(tmp_path / "t") if "marker" in path or "hudiformat" in path or "staged" in path]
    assert found == []


def test_the_timeline_has_three_files_for_each_write(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    commit = table.insert(many(1))
    (done,) = table.timeline.completed
    names = [path for path in tree(tmp_path / "t") if path.startswith(".hoodie/timeline/") and not path.endswith("/")]
    assert names == [
        f".hoodie/timeline/{commit.instant}.deltacommit.inflight",
        f".hoodie/timeline/{commit.instant}.deltacommit.requested",
        f".hoodie/timeline/{commit.instant}_{done.completion_time}.deltacommit",
    ]


def test_a_task_with_too_much_in_hand_writes_the_fullest_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, any_index: dict[str, str]
) -> None:
    monkeypatch.setattr("hudiformat.write.write._MAX_BUFFERED", 1_000)
    flushed: list[int] = []
    relieve = WriteTask._relieve

    def watched(task: WriteTask) -> None:
        relieve(task)
        flushed.append(sum(partition.buffered_bytes for partition in task._partitions.values()))

    monkeypatch.setattr(WriteTask, "_relieve", watched)
    table = new_table(tmp_path / "t", options=any_index)
    data = rows(*((f"k{i}", 1, "xyz"[i % 3], i) for i in range(300)))
    table.insert(data)
    table.upsert(data)
    assert all(size <= 1_000 for size in flushed)
    assert len(content(table)) == 300


def test_the_schema_is_that_of_the_newest_commit(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    table.insert(many(1))
    assert open_table(tmp_path / "t", clock=Clock()).schema == SCHEMA


def test_the_example_of_the_specification(tmp_path: Path) -> None:
    """The listing in spec/writing.md is what these writes leave, with sizes left out."""
    new_table(tmp_path / "t", schema=FLAGGED)
    first, second = (
        open_table(tmp_path / "t", clock=lambda hour=hour: datetime(2024, 2, 29, hour))  # type: ignore[misc] # noqa: DTZ001
        for hour in (12, 13)
    )
    first.insert(rows(("a", 1, "x"), ("b", 1, "x"), schema=FLAGGED))
    second.upsert(rows(("a", 2, "x"), ("b", 2, "x", None, True), ("c", 1, "y"), schema=FLAGGED))
    example = re.search(r"```listing\n(.*?)```", SPEC.read_text(encoding="utf-8"), re.DOTALL)
    assert example
    assert sorted(example[1].split()) == sorted(path for path in tree(tmp_path / "t") if not path.endswith("/"))
