"""Which writes of two writers conflict."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import WriteConflictError
from hudiformat.table.options.values import Operation
from hudiformat.timeline.commit_metadata import CommitMetadata, WriteStat
from hudiformat.timeline.contents import create_requested
from hudiformat.timeline.plans import (
    ClusteringGroup,
    ClusteringPlan,
    CompactionOperation,
    CompactionPlan,
    RequestedReplaceMetadata,
    SliceInfo,
)
from hudiformat.timeline.timeline import Action, Instant, State
from hudiformat.write.commit.conflicts import Claim, KeyLookup, conflict_with_commit, conflict_with_plan
from tests.tables import content, new_table, rows
from tests.write.commit.support import SHARED, begun, shared_table


def stat(name: str, *, previous: str = "null", inserts: int = 0, partition: str = "x") -> WriteStat:
    file_id = name.lstrip(".").partition("_")[0]
    path = f"{partition}/{name}"
    return WriteStat(file_id, path, prev_commit=previous, num_inserts=inserts, partition_path=partition)


BASE = "g-0_0-0-0_2.parquet"
COMPACTION = Instant("3", Action.COMMIT, State.COMPLETED, "4")


def test_two_writers_of_different_file_groups_both_commit(tmp_path: Path) -> None:
    table = shared_table(tmp_path)
    table.insert(rows(("a", 1, "x", 1)))
    table.insert(rows(("b", 1, "y", 1)))
    first, first_stats = begun(table, ("a", 2, "x", 2))
    second, second_stats = begun(table, ("b", 2, "y", 2))
    second.commit(second_stats)
    first.commit(first_stats)
    assert content(table) == [("a", 2, "x", 2), ("b", 2, "y", 2)]
    assert not list((tmp_path / ".hoodie" / ".heartbeat").iterdir())
    assert not (tmp_path / ".hoodie" / "lock").exists()


def test_the_second_of_two_writers_of_one_file_group_fails_and_leaves_nothing(tmp_path: Path) -> None:
    table = shared_table(tmp_path)
    table.insert(rows(("a", 1, "x", 1)))
    first, first_stats = begun(table, ("a", 2, "x", 2))
    second, second_stats = begun(table, ("a", 3, "x", 3))
    second.commit(second_stats)
    with pytest.raises(
        WriteConflictError, match=r"the write \d+ cannot commit: .*changes the file group .* 'x' as well"
    ):
        first.commit(first_stats)
    first.abandon()
    assert content(table) == [("a", 3, "x", 3)]
    assert not table.timeline.pending
    assert not [path for path in tmp_path.rglob("*") if first.plan.instant in path.name]


def test_two_upserts_of_new_keys_into_one_partition_conflict(tmp_path: Path) -> None:
    table = shared_table(tmp_path)
    first, first_stats = begun(table, ("a", 2, "x", 2))
    second, second_stats = begun(table, ("a", 3, "x", 3))
    second.commit(second_stats)
    with pytest.raises(WriteConflictError, match="both this write and .* new keys into the partition 'x'"):
        first.commit(first_stats)
    first.abandon()


def test_inserts_never_conflict(tmp_path: Path) -> None:
    table = shared_table(tmp_path)
    first, first_stats = begun(table, ("a", 2, "x", 2), operation=Operation.INSERT)
    second, second_stats = begun(table, ("a", 3, "x", 3), operation=Operation.INSERT)
    second.commit(second_stats)
    first.commit(first_stats)
    assert len(content(table)) == 2


def test_two_writers_that_make_one_bucket_conflict(tmp_path: Path) -> None:
    table = shared_table(tmp_path, **{"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"})
    first, first_stats = begun(table, ("a", 2, "x", 2))
    second, second_stats = begun(table, ("b", 3, "x", 3))
    second.commit(second_stats)
    with pytest.raises(WriteConflictError, match="file group 00000000"):
        first.commit(first_stats)
    first.abandon()
    assert len(table.file_slices()) == 1


def test_without_blocking_the_second_write_of_a_bucket_commits(tmp_path: Path) -> None:
    options = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}
    mode = {"hoodie.write.concurrency.mode": "NON_BLOCKING_CONCURRENCY_CONTROL"}
    table = shared_table(tmp_path, **options, **mode)
    table.insert(rows(("a", 1, "x", 1)))
    first, first_stats = begun(table, ("a", 3, "x", 2))
    second, second_stats = begun(table, ("a", 2, "x", 3))
    second.commit(second_stats)
    first.commit(first_stats)
    assert content(table) == [("a", 3, "x", 2)]


def test_a_group_that_is_being_clustered_is_not_written(tmp_path: Path) -> None:
    table = shared_table(tmp_path)
    table.insert(rows(("a", 1, "x", 1)))
    (found,) = table.file_slices()
    write, stats = begun(table, ("a", 2, "x", 2))
    info = SliceInfo(file_id=found.file_id, partition_path="x")
    plan = RequestedReplaceMetadata("CLUSTER", ClusteringPlan((ClusteringGroup((info,)),)))
    create_requested(table._context.storage, table.config, "20990101000000000", Action.CLUSTERING, plan)
    with pytest.raises(WriteConflictError, match="clustering"):
        write.commit(stats)
    write.abandon()


def test_logs_do_not_mind_a_compaction(tmp_path: Path) -> None:
    table = shared_table(tmp_path)
    table.insert(rows(("a", 1, "x", 1)))
    (found,) = table.file_slices()
    write, stats = begun(table, ("a", 2, "x", 2))
    plan = CompactionPlan((CompactionOperation(found.base_instant, file_id=found.file_id, partition_path="x"),))
    create_requested(table._context.storage, table.config, "20990101000000000", Action.COMPACTION, plan)
    write.commit(stats)
    assert content(table) == [("a", 2, "x", 2)]


@pytest.mark.parametrize("state", [State.REQUESTED, State.COMPLETED])
def test_in_version_6_logs_are_lost_to_a_compaction_that_was_planned_meanwhile(tmp_path: Path, state: State) -> None:
    table = new_table(tmp_path, version=6, options={**SHARED, "hoodie.index.type": "INMEMORY"})
    table.bulk_insert(rows(("a", 1, "x", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    (found,) = table.file_slices()
    write, stats = begun(table, ("a", 3, "x", 3))
    # Hudi, whose writers may, plans it here.
    names = tuple(str(log.name) for log in found.log_files)
    base = str(found.base_file.name) if found.base_file else None
    plan = CompactionPlan((CompactionOperation(found.base_instant, names, base, found.file_id, "x"),))
    create_requested(table._context.storage, table.config, str(int(write.plan.instant) + 1), Action.COMPACTION, plan)
    if state is State.COMPLETED:
        table.compact()
    with pytest.raises(WriteConflictError, match=r"(compaction|commit) .* changes the file group"):
        write.commit(stats)
    write.abandon()
    table.upsert(rows(("a", 4, "x", 4)))
    table.compact()
    assert content(table) == [("a", 4, "x", 4)]


LOOKING = KeyLookup(before_adding=True)


@pytest.mark.parametrize(("written", "conflicts"), [(stat(BASE, previous="1"), True), (stat(".g-0_2.log.1_0"), False)])
def test_two_that_replace_a_base_file_conflict(written: WriteStat, conflicts: bool) -> None:
    claim = Claim.of(CommitMetadata("UPSERT", {"x": (written,)}), by_bucket=False)
    compacted = CommitMetadata("COMPACT", {"x": (stat("g-0_0-0-0_3.parquet", previous="1"),)})
    found = conflict_with_commit(claim, LOOKING, COMPACTION, compacted, is_compaction=True)
    assert (found is not None) is conflicts
    assert (conflict_with_plan(claim, COMPACTION, [("x", "g-0")], rewrites=False) is not None) is conflicts


def test_a_group_that_was_replaced_conflicts() -> None:
    claim = Claim.of(CommitMetadata("UPSERT", {"x": (stat(".g-0_2.log.1_0"),)}), by_bucket=False)
    replaced = CommitMetadata("INSERT_OVERWRITE", partition_to_replace_file_ids={"x": ("g-0",)})
    other = Instant("3", Action.REPLACE_COMMIT, State.COMPLETED, "4")
    found = conflict_with_commit(claim, LOOKING, other, replaced, is_compaction=False)
    assert found is not None
    assert "g-0" in found


def test_an_update_of_what_was_overwritten_conflicts(tmp_path: Path) -> None:
    table = shared_table(tmp_path)
    table.insert(rows(("a", 1, "x", 1)))
    write, stats = begun(table, ("a", 2, "x", 2))
    table.insert_overwrite(rows(("d", 1, "x", 4)))
    with pytest.raises(WriteConflictError, match="replacecommit"):
        write.commit(stats)
    write.abandon()
    assert content(table) == [("d", 1, "x", 4)]
