"""Several writers of one table: processes that race, and modes that are refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hudiformat import UnsupportedFeatureError, WriteConflictError, open_table
from hudiformat.table.options.values import Operation
from tests import racing
from tests.effort import LONG, only_long
from tests.tables import content, new_table, rows, tree
from tests.write.commit.support import SHARED, begun, shared_table

pytestmark = pytest.mark.unmeasured


def test_without_blocking_a_bucket_index_is_needed(tmp_path: Path) -> None:
    table = shared_table(tmp_path, **{"hoodie.write.concurrency.mode": "NON_BLOCKING_CONCURRENCY_CONTROL"})
    with pytest.raises(UnsupportedFeatureError, match="without log files or without a bucket index"):
        table.insert(rows(("a", 1, "x", 1)))


def test_in_version_6_writers_block_each_other(tmp_path: Path) -> None:
    mode = {"hoodie.write.concurrency.mode": "non_blocking_concurrency_control", "hoodie.index.type": "BUCKET"}
    table = new_table(tmp_path, version=6, options=mode)
    with pytest.raises(UnsupportedFeatureError, match="non-blocking writers in table version 6"):
        table.upsert(rows(("a", 1, "x", 1)))


NON_BLOCKING = {
    "hoodie.write.concurrency.mode": "NON_BLOCKING_CONCURRENCY_CONTROL",
    "hoodie.index.type": "BUCKET",
    "hoodie.bucket.index.num.buckets": "1",
}


@pytest.mark.parametrize("version", [8, 9])
@pytest.mark.parametrize("operation", [Operation.UPSERT, Operation.INSERT, Operation.BULK_INSERT])
def test_writers_that_do_not_block_open_a_bucket_as_one_file_group(
    tmp_path: Path, version: int, operation: Operation
) -> None:
    table = new_table(tmp_path, version=version, options={**SHARED, **NON_BLOCKING})
    first, first_stats = begun(table, ("a", 1, "x", 1), ("b", 1, "x", 1), operation=operation)
    second, second_stats = begun(table, ("a", 2, "x", 2), ("c", 1, "x", 1), operation=operation)
    second.commit(second_stats)
    first.commit(first_stats)
    (found,) = table.file_slices()
    assert found.file_id == "00000000-0000-0000-0000-000000000000-0"
    table.upsert(rows(("a", 3, "x", 3), ("b", 3, "x", 3), ("c", 3, "x", 3)))
    expected = [("a", 3, "x", 3), ("b", 3, "x", 3), ("c", 3, "x", 3)]
    assert content(table) == expected
    table.schedule_compaction()
    table.compact()
    assert content(table) == expected


def test_without_blocking_nothing_removes_what_others_may_be_writing_to(tmp_path: Path) -> None:
    table = new_table(tmp_path, options={**SHARED, **NON_BLOCKING})
    table.insert(rows(("a", 1, "x", 1)))
    before = tree(tmp_path)
    removals: list[Callable[[], object]] = [
        lambda: table.insert_overwrite(rows(("b", 1, "x", 1))),
        lambda: table.insert_overwrite_table(rows(("b", 1, "x", 1))),
        lambda: table.delete_partitions(["x"]),
    ]
    for remove in removals:
        with pytest.raises(UnsupportedFeatureError, match="removes file groups that other writers may be writing to"):
            remove()
    assert tree(tmp_path) == before


def test_a_bucket_that_was_removed_is_opened_under_another_id(tmp_path: Path) -> None:
    table = new_table(tmp_path, options={**SHARED, **NON_BLOCKING})
    alone = open_table(tmp_path, options={**NON_BLOCKING, "hoodie.write.concurrency.mode": "SINGLE_WRITER"})
    for index in range(3):
        table.insert(rows(("a", index, "x", index)))
        assert content(table) == [("a", index, "x", index)]
        assert [one.file_id for one in table.file_slices()] == [f"00000000-0000-0000-0000-000000000000-{index}"]
        alone.delete_partitions(["x"])
        assert content(table) == []


@only_long
@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 4] if LONG else [2])
def test_processes_lose_and_double_nothing(tmp_path: Path, count: int) -> None:
    table = racing.new_table(tmp_path / "t")
    writers = [f"w{number}" for number in range(count)]
    assert [process.wait(timeout=7200) for process in racing.start_writers(tmp_path / "t", writers)] == [0] * count
    racing.check(table.snapshot(), writers)
    assert not table.timeline.pending


@pytest.mark.parametrize("policy", ["drop", "fail"])
def test_with_a_bucket_index_an_insert_does_not_look_keys_up(tmp_path: Path, policy: str) -> None:
    options = {"hoodie.index.type": "BUCKET", "hoodie.datasource.insert.dup.policy": policy}
    table = new_table(tmp_path / "t", options={**options, "hoodie.bucket.index.num.buckets": "2"})
    with pytest.raises(UnsupportedFeatureError, match=f"dup.policy=none .*, found {policy}; upsert the rows"):
        table.insert(rows(("a", 1, "x", 1)))
    assert table.timeline.instants == ()
    table.upsert(rows(("a", 1, "x", 1)))
    assert content(table) == [("a", 1, "x", 1)]


@pytest.mark.parametrize("version", [6, 9])
def test_a_commit_that_was_archived_since_is_a_conflict_too(tmp_path: Path, version: int) -> None:
    """Archiving goes up to the newest write before the first pending one; here, past the first of three."""
    table = new_table(tmp_path / "t", version=version, table_type="COPY_ON_WRITE", options=SHARED)
    table.insert(rows(("a", 1, "x", 1)))
    first, of_first = begun(table, ("new", 2, "x", 2))
    second, of_second = begun(table, ("b", 2, "y", 2))
    third, of_third = begun(table, ("new", 3, "x", 3))
    first.commit(of_first)
    second.commit(of_second)
    limits = {"hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3", "hoodie.clean.commits.retained": "1"}
    other = open_table(tmp_path / "t", options={**SHARED, **limits})
    for step in range(4):
        other.upsert(rows(("c", step, "z", step)))
    assert first.plan.instant not in {one.time for one in table.timeline.completed}
    with pytest.raises(
        WriteConflictError, match=f"{first.plan.instant}.* was completed and archived since this write began"
    ):
        third.commit(of_third)
    third.abandon()
    assert sorted(row[0] for row in content(table)) == ["a", "b", "c", "new"]
