"""The files that writes leave in a table, and what their commits say about them."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hudiformat as hf
from hudiformat import BlockType, Commit, LogFileName, LogReader, Table, open_table
from hudiformat.naming.file_names import BaseFileName
from hudiformat.storage.local import LocalStorage
from hudiformat.storage.protocol import OutputFile
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.timeline.timeline import read_metadata
from tests.tables import FLAGGED, data_files, new_table, rows, tree
from tests.write.support import keyed

pytestmark = pytest.mark.unmeasured

SPEC = Path(__file__).parents[2] / "spec" / "writing.md"


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
        metadata = read_metadata(table._context.storage, table.config, instant)
        assert metadata.write_stats == commit.stats
        assert list(metadata.partition_to_write_stats) == sorted({stat.partition_path or "" for stat in commit.stats})
        assert metadata.schema == table._context.state().schema.avro
    assert sorted(listed) == data_files(tmp_path / "t")
    assert [commit.num_writes for commit in commits] == [300, 160, 0]
    assert commits[2].num_deletes == 10
    operations = [
        read_metadata(table._context.storage, table.config, done).operation_type for done in table.timeline.completed
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


@pytest.mark.slow
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
    commit = table.insert(keyed(0, 1))
    (done,) = table.timeline.completed
    names = [path for path in tree(tmp_path / "t") if path.startswith(".hoodie/timeline/") and not path.endswith("/")]
    assert names == [
        f".hoodie/timeline/{commit.instant}.deltacommit.inflight",
        f".hoodie/timeline/{commit.instant}.deltacommit.requested",
        f".hoodie/timeline/{commit.instant}_{done.completion_time}.deltacommit",
    ]


def test_the_example_of_the_specification(tmp_path: Path) -> None:
    """The listing in spec/writing.md is what these writes leave, with sizes left out."""
    new_table(tmp_path / "t", schema=FLAGGED)
    first, second = (
        open_table(tmp_path / "t", clock=lambda hour=hour: datetime(2024, 2, 29, hour))  # type: ignore[misc]  # the default binds the value of this round
        for hour in (12, 13)
    )
    first.insert(rows(("a", 1, "x"), ("b", 1, "x"), schema=FLAGGED))
    second.upsert(rows(("a", 2, "x"), ("b", 2, "x", None, True), ("c", 1, "y"), schema=FLAGGED))
    example = re.search(r"```listing\n(.*?)```", SPEC.read_text(encoding="utf-8"), re.DOTALL)
    assert example
    assert sorted(example[1].split()) == sorted(path for path in tree(tmp_path / "t") if not path.endswith("/"))


@pytest.mark.slow
def test_a_write_to_many_partitions_has_few_files_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = pa.schema([("id", pa.string()), ("p", pa.string())])
    hf.create_table(tmp_path, name="t", schema=schema, record_key="id", partition_by="p")
    open_new, opened = LocalStorage.open_new, []

    def noted(storage: LocalStorage, path: str) -> OutputFile:
        opened.append(sum(1 for _ in Path("/dev/fd").iterdir()))
        return open_new(storage, path)

    monkeypatch.setattr(LocalStorage, "open_new", noted)
    names = [str(number) for number in range(200)]
    hf.open_table(tmp_path).insert(pa.table({"id": names, "p": names}, schema=schema))
    assert len(opened) >= 200
    assert max(opened) - opened[0] <= 90
