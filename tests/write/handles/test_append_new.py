"""New rows in log files of new file groups."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat import Commit, LogReader, Table
from hudiformat.table.options.values import Operation
from hudiformat.write.write import TaskLimits
from tests.effort import sample
from tests.tables import SCHEMA, new_table
from tests.write.support import keyed, write_within

pytestmark = pytest.mark.unmeasured

M, RATIO = 100_000, 0.35
OPTIONS = {
    "hoodie.index.type": "INMEMORY",
    "hoodie.parquet.max.file.size": str(M),
    "hoodie.copyonwrite.insert.auto.split": "false",  # one group is planned, whatever its rows take
}
WIDE = pa.schema([*SCHEMA, pa.field("t", pa.string())])


def with_texts(count: int, length: int) -> pa.Table:
    chance = random.Random(count)
    data = keyed(0, count)
    return data.append_column("t", pa.array([chance.randbytes(length // 2).hex() for _ in range(count)]))


def bytes_of_groups(commit: Commit) -> dict[str, int]:
    """The bytes of each new file group's log files, in the order of their ids' numbers."""
    sizes: dict[str, int] = defaultdict(int)
    for stat in commit.stats:
        assert stat.log_version is not None
        sizes[stat.file_id or ""] += stat.file_size_in_bytes
    return dict(sorted(sizes.items(), key=lambda item: int(item[0].rpartition("-")[2])))


def test_98_rows_of_20_kb_are_several_groups(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", schema=WIDE, options={**OPTIONS, "hoodie.copyonwrite.insert.auto.split": "true"})
    sizes = bytes_of_groups(table.insert(with_texts(98, 20_000)))  # by the estimate of 1 kB a row that is one group
    assert len(sizes) == 7
    assert all(M < size * RATIO <= M + 20_500 for size in list(sizes.values())[:-1])
    assert len({file_id.rpartition("-")[0] for file_id in sizes}) == 1
    assert [file_id.rpartition("-")[2] for file_id in sizes] == [str(number) for number in range(7)]
    assert table.snapshot(columns=["t"]).num_rows == 98
    assert len(table.snapshot(columns=["_hoodie_commit_seqno"])[0].unique()) == 98


@pytest.mark.parametrize("block", sample(["40000", "1000", "268435456"], of=3))
def test_a_group_is_full_once_its_bytes_times_the_ratio_pass_the_maximum(tmp_path: Path, block: str) -> None:
    options = {**OPTIONS, "hoodie.logfile.data.block.max.size": block}
    table = new_table(tmp_path / "t", schema=WIDE, options=options)
    sizes = bytes_of_groups(table.insert(with_texts(8000, 100)))
    assert len(sizes) > 5
    assert all(M < size * RATIO < 1.05 * M for size in list(sizes.values())[:-1])
    assert table.snapshot(columns=[]).num_rows == 8000


def test_without_a_ratio_log_files_are_never_full(tmp_path: Path) -> None:
    options = {**OPTIONS, "hoodie.logfile.to.parquet.compression.ratio": "0"}
    assert len(bytes_of_groups(new_table(tmp_path / "t", options=options).insert(keyed(0, 10_000)))) == 1


def test_a_row_larger_than_a_group_has_one_of_its_own(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options={**OPTIONS, "hoodie.parquet.max.file.size": "1"})
    assert [stat.num_writes for stat in table.insert(keyed(0, 5)).stats] == [1] * 5


def test_buckets_are_never_divided(tmp_path: Path) -> None:
    buckets = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}
    assert len(bytes_of_groups(new_table(tmp_path / "t", options={**OPTIONS, **buckets}).insert(keyed(0, 9000)))) == 1


def test_the_next_insert_fills_the_group_that_is_not_full(tmp_path: Path) -> None:
    options = {**OPTIONS, "hoodie.copyonwrite.record.size.estimate": "200"}
    table: Table = new_table(tmp_path / "t", schema=WIDE, options=options)
    first = bytes_of_groups(table.insert(with_texts(3000, 100)))
    *_, last = first
    assert first[last] * RATIO < M
    data = with_texts(3400, 100).slice(3000)
    second = table.insert(data)
    assert last in {stat.file_id for stat in second.stats}


def test_what_is_in_memory_when_a_write_fails_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = new_table(tmp_path / "t", options=OPTIONS)

    def fail(*_arguments: object) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr("hudiformat.write.handles.append.AppendHandle.flush", fail)
        with pytest.raises(OSError, match="no space left"):
            table.insert(keyed(0, 9000))
    assert table.snapshot(columns=[]).num_rows == 0
    commit = table.insert(keyed(0, 10))
    (path,) = [stat.path for stat in commit.stats]
    assert [block.num_records() for block in LogReader(Path(table.path, path or ""))] == [10]


def test_groups_are_as_full_where_memory_is_short(tmp_path: Path) -> None:
    """Rows come in parts, each of which is written at once."""
    limits = TaskLimits(max_buffered=10_000, batch_rows=500, batches=16)
    table = new_table(tmp_path / "t", schema=WIDE, options={**OPTIONS, "hoodie.copyonwrite.record.size.estimate": "80"})
    sizes = bytes_of_groups(write_within(limits, table, Operation.INSERT, with_texts(4000, 100))).values()
    assert sum(size * RATIO > 0.9 * M for size in sizes) >= len(sizes) - 1
    assert max(sizes) * RATIO < 1.1 * M
    assert table.snapshot(columns=[]).num_rows == 4000
