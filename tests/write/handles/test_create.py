"""New rows in base files of new file groups."""

from __future__ import annotations

from pathlib import Path

from tests.tables import new_table
from tests.write.support import keyed


def test_base_files_end_near_their_maximal_size(tmp_path: Path) -> None:
    options = {"hoodie.parquet.max.file.size": "150000", "hoodie.copyonwrite.insert.auto.split": "false"}
    options |= {"hoodie.parquet.compression.codec": "uncompressed", "hoodie.copyonwrite.record.size.estimate": "60"}
    table = new_table(tmp_path / "t", options=options)
    commit = table.insert(keyed(0, 20_000))
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
    commit = table.insert(keyed(0, 5))
    assert [stat.num_writes for stat in commit.stats] == [1] * 5
