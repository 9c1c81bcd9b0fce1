"""Overwriting partitions or the table, and deleting partitions."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import Table, open_table
from tests.tables import content, new_table, rows

COW_AND_MOR = pytest.mark.parametrize("table_type", ["MERGE_ON_READ", "COPY_ON_WRITE"])


def filled(path: Path, table_type: str) -> Table:
    table = new_table(path, table_type=table_type)
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "x", 1), ("c", 1, "y", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    return table


@COW_AND_MOR
def test_overwriting_the_partitions_of_the_rows(tmp_path: Path, table_type: str) -> None:
    table = filled(tmp_path, table_type)
    before = table.timeline.completed_writes[-1].time
    commit = table.insert_overwrite(rows(("d", 1, "x", 4)))
    assert commit.action == "replacecommit"
    assert content(table) == [("c", 1, "y", 1), ("d", 1, "x", 4)]
    assert content(table, as_of=before) == [("a", 2, "x", 2), ("b", 1, "x", 1), ("c", 1, "y", 1)]
    table.upsert(rows(("a", 3, "x", 3)))
    assert content(table) == [("a", 3, "x", 3), ("c", 1, "y", 1), ("d", 1, "x", 4)]


@COW_AND_MOR
def test_overwriting_the_table(tmp_path: Path, table_type: str) -> None:
    table = filled(tmp_path, table_type)
    table.insert_overwrite_table(rows(("d", 1, "x", 4)))
    assert content(table) == [("d", 1, "x", 4)]
    table.rollback(table.timeline.completed_writes[-1].time)
    assert content(table) == [("a", 2, "x", 2), ("b", 1, "x", 1), ("c", 1, "y", 1)]


@COW_AND_MOR
def test_deleting_partitions(tmp_path: Path, table_type: str) -> None:
    table = filled(tmp_path, table_type)
    commit = table.delete_partitions(["x", "none"])
    assert (commit.action, commit.stats) == ("replacecommit", ())
    assert content(table) == [("c", 1, "y", 1)]


def test_replaced_files_go_with_cleaning(tmp_path: Path) -> None:
    table = filled(tmp_path, "COPY_ON_WRITE")
    table.insert_overwrite_table(rows(("d", 1, "x", 4)))
    policy = {"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.clean.fileversions.retained": "1"}
    assert open_table(table.path, options=policy, clock=table._context.clock).clean()
    assert len(list(tmp_path.rglob("*.parquet"))) == 1
    assert content(table) == [("d", 1, "x", 4)]


@pytest.mark.parametrize("table_type", ["MERGE_ON_READ", "COPY_ON_WRITE"])
def test_with_a_bucket_index_buckets_are_opened_anew(tmp_path: Path, table_type: str) -> None:
    buckets = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}
    table = new_table(tmp_path, table_type=table_type, options=buckets)
    table.upsert(rows(*((key, 1, "x", 1) for key in "abcdef"), ("z", 1, "y", 1)))
    before = {one.file_id for one in table.file_slices("x")}
    commit = table.insert_overwrite(rows(("a", 1, "x", 2), ("b", 1, "x", 2), ("a", 2, "x", 3)))
    assert all(stat.path is not None and stat.path.endswith(".parquet") for stat in commit.stats)
    after = {one.file_id for one in table.file_slices("x")}
    assert before.isdisjoint(after)
    assert {file_id[:8] for file_id in after} <= {file_id[:8] for file_id in before}
    assert content(table) == [("a", 1, "x", 2), ("a", 2, "x", 3), ("b", 1, "x", 2), ("z", 1, "y", 1)]
    table.upsert(rows(("b", 2, "x", 4), ("c", 1, "x", 4)))
    assert {one.file_id[:8] for one in table.file_slices("x")} == {"00000000", "00000001"}
    table.insert_overwrite_table(rows(("q", 1, "y", 5)))
    table.delete_partitions(["nowhere"])
    assert content(table) == [("q", 1, "y", 5)]
