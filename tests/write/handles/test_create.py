"""New rows in base files of new file groups."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudiformat import Table
from hudiformat.schema.meta_fields import add_meta_columns, add_origin
from hudiformat.timeline.commit_metadata import WriteStat
from tests.tables import SCHEMA, new_table
from tests.write.support import keyed

M = 150_000
SPLIT = {
    "hoodie.parquet.max.file.size": str(M),
    "hoodie.copyonwrite.insert.auto.split": "false",  # one group is planned, whatever its rows take
    "hoodie.parquet.compression.codec": "uncompressed",
    "hoodie.copyonwrite.record.size.estimate": "60",
}


def row_bytes(table: Table, stat: WriteStat) -> int:
    """The bytes of a base file that are row groups."""
    file = pq.read_metadata(Path(table.path, stat.path or ""))
    groups = [file.row_group(number) for number in range(file.num_row_groups)]
    return sum(group.column(number).total_compressed_size for group in groups for number in range(group.num_columns))


def test_base_files_are_closed_a_tenth_beyond_their_maximal_size(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options=SPLIT)
    commit = table.insert(keyed(0, 20_000))
    assert len(commit.stats) > 4
    assert all(1.06 * M < row_bytes(table, stat) <= 1.11 * M for stat in commit.stats[:-1])
    assert sum(stat.num_writes for stat in commit.stats) == 20_000
    ids = [stat.file_id or "" for stat in commit.stats]
    assert [file_id.rpartition("-")[2] for file_id in ids] == [str(i) for i in range(len(ids))]
    assert len({file_id.rpartition("-")[0] for file_id in ids}) == 1  # one planned group, which is too large for a file
    assert table.snapshot(columns=[]).num_rows == 20_000
    assert len(table.snapshot(columns=["_hoodie_commit_seqno"])[0].unique()) == 20_000


def test_how_far_beyond_is_an_option_of_hudis(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options={**SPLIT, "hoodie.parquet.compression.ratio": "0.5"})
    commit = table.insert(keyed(0, 10_000))
    assert all(1.45 * M < row_bytes(table, stat) <= 1.51 * M for stat in commit.stats[:-1])


def test_a_planned_group_is_one_file(tmp_path: Path) -> None:
    options = {**SPLIT, "hoodie.copyonwrite.insert.auto.split": "true", "hoodie.copyonwrite.record.size.estimate": "90"}
    commit = new_table(tmp_path / "t", options=options).insert(keyed(0, 6000))
    assert [stat.file_id for stat in commit.stats if not (stat.file_id or "").endswith("-0")] == []
    assert len(commit.stats) == math.ceil(6000 / math.ceil(M / 90))


@pytest.mark.parametrize("estimate", ["1", "60", "100000"])
def test_the_sizes_of_growing_rows_are_kept_whatever_was_estimated(tmp_path: Path, estimate: str) -> None:
    schema = pa.schema([*SCHEMA, pa.field("t", pa.string())])
    options = {**SPLIT, "hoodie.copyonwrite.record.size.estimate": estimate}
    table = new_table(tmp_path / "t", schema=schema, options=options)
    data = keyed(0, 3000)
    texts = pa.array([f"{number:06d}" * (1 + number // 50) for number in range(3000)])
    commit = table.insert(pa.table({**{name: data[name] for name in data.column_names}, "t": texts}))
    assert len(commit.stats) > 3
    assert all(1.0 * M < row_bytes(table, stat) <= 1.2 * M for stat in commit.stats[:-1])


def test_a_size_is_first_looked_at_after_a_hundred_rows(tmp_path: Path) -> None:
    """As in Hudi: so few rows do not tell how many fit."""
    table = new_table(tmp_path / "t", options={**SPLIT, "hoodie.parquet.max.file.size": "1"})
    assert [stat.num_writes for stat in table.insert(keyed(0, 250)).stats] == [100, 100, 50]


def test_the_parts_of_a_group_get_their_meta_fields_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write into several partitions has parts of each batch: a call for each would take longer than writing them."""
    calls: list[int] = []

    def counted(rows: pa.RecordBatch, *given: pa.Array, **named: Any) -> pa.RecordBatch:
        calls.append(rows.num_rows)
        return add_origin(rows, *given, **named)

    monkeypatch.setattr("hudiformat.write.handles.base_files.add_origin", counted)
    table = new_table(tmp_path / "t")
    data = keyed(0, 210_000)
    paths = pa.array([f"p{number % 20}" for number in range(data.num_rows)])
    table.insert(data.set_column(data.schema.get_field_index("p"), "p", paths))
    assert calls == [data.num_rows // 20] * 20
    numbers = table.snapshot(columns=["_hoodie_commit_seqno"])[0].to_pylist()
    assert sorted(int(number.rpartition("_")[2]) for number in numbers) == list(range(1, data.num_rows + 1))


def test_a_single_part_is_not_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[pa.RecordBatch] = []

    def noted(rows: pa.RecordBatch, *given: pa.Array, **named: Any) -> pa.RecordBatch:
        seen.append(rows)
        return add_meta_columns(rows, *given, **named)

    monkeypatch.setattr("hudiformat.write.handles.base_files.add_meta_columns", noted)
    data = keyed(0, 200).combine_chunks()
    new_table(tmp_path / "t").insert(data)
    assert [rows["k"].buffers()[2].address for rows in seen] == [data["k"].chunk(0).buffers()[2].address]
