"""Several writers of one table."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from hudiformat import Commit, CommitError, OptionError, Table, UnsupportedFeatureError, WriteConflictError
from hudiformat.naming import WriteToken
from hudiformat.options.values import Operation
from hudiformat.timeline import (
    Action,
    ClusteringGroup,
    ClusteringPlan,
    CommitMetadata,
    CompactionOperation,
    CompactionPlan,
    Instant,
    RequestedReplaceMetadata,
    SliceInfo,
    State,
    WriteStat,
    create_requested,
)
from hudiformat.transaction.conflicts import Claim, conflict_with_commit, conflict_with_plan
from hudiformat.transaction.transaction import Transaction, begin_write
from hudiformat.write.write import WriteTask
from tests import racing
from tests.effort import THOROUGH
from tests.tables import content, new_table, rows

SHARED = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.write.lock.client.num_retries": "600",
    "hoodie.write.lock.client.wait_time_ms_between_retry": "50",
}


def shared_table(path: Path, **options: str) -> Table:
    return new_table(path, options={**SHARED, **options})


def begun(
    table: Table, *values: tuple[object, ...], operation: Operation = Operation.UPSERT
) -> tuple[Transaction, list[WriteStat]]:
    """A write whose files are there, and that has yet to commit."""
    write = begin_write(table.context, operation)
    with WriteTask(write.plan, WriteToken(0, 0, 0)) as task:
        task.write_batch(rows(*values).combine_chunks().to_batches()[0])
        return write, task.finish()


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
    with pytest.raises(WriteConflictError, match=r"the write \d+ cannot commit: .*has the file group .* 'x' as well"):
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


def test_a_write_is_begun_anew_after_a_conflict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = shared_table(tmp_path, **{"hoodie.write.num.retries.on.conflict.failures": "1"})
    table.insert(rows(("a", 1, "x", 1)))
    other, other_stats = begun(table, ("a", 2, "x", 2))
    commit = Transaction.commit

    def after_the_other(write: Transaction, *arguments: Any) -> Commit:
        monkeypatch.undo()
        commit(other, other_stats)
        return commit(write, *arguments)

    monkeypatch.setattr(Transaction, "commit", after_the_other)
    assert table.upsert(rows(("a", 3, "x", 3))).num_writes == 1
    assert content(table) == [("a", 3, "x", 3)]
    assert not table.timeline.pending


def test_a_conflict_is_raised_when_the_retries_are_used_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = shared_table(tmp_path, **{"hoodie.write.num.retries.on.conflict.failures": "2"})
    tries = []

    def always(_self: Transaction, *_arguments: object) -> None:
        tries.append(1)
        raise WriteConflictError("another writer was faster")

    monkeypatch.setattr(Transaction, "commit", always)
    with pytest.raises(WriteConflictError, match="was faster"):
        table.upsert(rows(("a", 3, "x", 3)))
    assert len(tries) == 3
    assert not table.timeline.instants


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


def test_without_blocking_a_bucket_index_is_needed(tmp_path: Path) -> None:
    table = shared_table(tmp_path, **{"hoodie.write.concurrency.mode": "NON_BLOCKING_CONCURRENCY_CONTROL"})
    with pytest.raises(UnsupportedFeatureError, match="without blocking other writers but with a bucket index"):
        table.insert(rows(("a", 1, "x", 1)))


def test_eager_cleaning_beside_other_writers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="EAGER deletes what other writers are writing"):
        shared_table(tmp_path, **{"hoodie.clean.failed.writes.policy": "EAGER"})


def test_lock_providers_that_are_not_here_are_named(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFeatureError, match="ZookeeperBasedLockProvider: supported are"):
        shared_table(tmp_path, **{"hoodie.write.lock.provider": "org.apache.hudi.ZookeeperBasedLockProvider"})


def test_a_living_write_is_left_alone_and_a_dead_one_is_rolled_back(tmp_path: Path) -> None:
    table = shared_table(tmp_path)
    alive, stats = begun(table, ("a", 2, "x", 2))
    dead, _ = begun(table, ("b", 2, "y", 2))
    heartbeat = tmp_path / ".hoodie" / ".heartbeat" / dead.plan.instant
    os.utime(heartbeat, (time.time() - 1000,) * 2)
    table.insert(rows(("c", 1, "z", 1)))
    assert [pending.time for pending in table.timeline.pending] == [alive.plan.instant]
    assert not list((tmp_path / "y").glob("*")) or not (tmp_path / "y").exists()
    assert [done.action for done in table.timeline.completed].count(Action.ROLLBACK) == 1
    alive.commit(stats)
    assert content(table, columns=["k"]) == [("a",), ("c",)]
    with pytest.raises(CommitError, match="it has been rolled back"):
        dead.commit([])
    dead.abandon()


def test_failed_writes_stay_when_nobody_shall_clean(tmp_path: Path) -> None:
    table = new_table(tmp_path, options={"hoodie.clean.failed.writes.policy": "NEVER"})
    left, _ = begun(table, ("a", 2, "x", 2))
    table.insert(rows(("c", 1, "z", 1)))
    assert [pending.time for pending in table.timeline.pending] == [left.plan.instant]


def test_a_group_that_is_being_clustered_is_not_written(tmp_path: Path) -> None:
    table = shared_table(tmp_path)
    table.insert(rows(("a", 1, "x", 1)))
    (found,) = table.file_slices()
    write, stats = begun(table, ("a", 2, "x", 2))
    info = SliceInfo(file_id=found.file_id, partition_path="x")
    plan = RequestedReplaceMetadata("CLUSTER", ClusteringPlan((ClusteringGroup((info,)),)))
    create_requested(table.context.storage, table.config, "20990101000000000", Action.CLUSTERING, plan)
    with pytest.raises(WriteConflictError, match="clustering"):
        write.commit(stats)
    write.abandon()


def test_logs_do_not_mind_a_compaction(tmp_path: Path) -> None:
    table = shared_table(tmp_path)
    table.insert(rows(("a", 1, "x", 1)))
    (found,) = table.file_slices()
    write, stats = begun(table, ("a", 2, "x", 2))
    plan = CompactionPlan((CompactionOperation(found.base_instant, file_id=found.file_id, partition_path="x"),))
    create_requested(table.context.storage, table.config, "20990101000000000", Action.COMPACTION, plan)
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
    create_requested(table.context.storage, table.config, str(int(write.plan.instant) + 1), Action.COMPACTION, plan)
    if state is State.COMPLETED:
        table.compact()
    with pytest.raises(WriteConflictError, match=r"(compaction|commit) .* has the file group"):
        write.commit(stats)
    write.abandon()
    table.upsert(rows(("a", 4, "x", 4)))
    table.compact()
    assert content(table) == [("a", 4, "x", 4)]


def test_in_version_6_writers_block_each_other(tmp_path: Path) -> None:
    mode = {"hoodie.write.concurrency.mode": "non_blocking_concurrency_control", "hoodie.index.type": "BUCKET"}
    table = new_table(tmp_path, version=6, options=mode)
    with pytest.raises(UnsupportedFeatureError, match="without blocking other writers in table version 6"):
        table.upsert(rows(("a", 1, "x", 1)))


def stat(name: str, *, previous: str = "null", inserts: int = 0, partition: str = "x") -> WriteStat:
    file_id = name.lstrip(".").partition("_")[0]
    path = f"{partition}/{name}"
    return WriteStat(file_id, path, prev_commit=previous, num_inserts=inserts, partition_path=partition)


BASE = "g-0_0-0-0_2.parquet"
COMPACTION = Instant("3", Action.COMMIT, State.COMPLETED, "4")


@pytest.mark.parametrize(("written", "conflicts"), [(stat(BASE, previous="1"), True), (stat(".g-0_2.log.1_0"), False)])
def test_two_that_replace_a_base_file_conflict(written: WriteStat, conflicts: bool) -> None:
    claim = Claim.of(Operation.UPSERT, CommitMetadata(partition_to_write_stats={"x": (written,)}), by_bucket=False)
    compacted = CommitMetadata("COMPACT", {"x": (stat("g-0_0-0-0_3.parquet", previous="1"),)})
    found = conflict_with_commit(claim, COMPACTION, compacted, is_compaction=True, by_bucket=False)
    assert (found is not None) is conflicts
    assert (conflict_with_plan(claim, COMPACTION, [("x", "g-0")], rewrites=False) is not None) is conflicts


def test_a_group_that_was_replaced_conflicts() -> None:
    log = stat(".g-0_2.log.1_0")
    claim = Claim.of(Operation.UPSERT, CommitMetadata(partition_to_write_stats={"x": (log,)}), by_bucket=False)
    replaced = CommitMetadata("INSERT_OVERWRITE", partition_to_replace_file_ids={"x": ("g-0",)})
    other = Instant("3", Action.REPLACE_COMMIT, State.COMPLETED, "4")
    found = conflict_with_commit(claim, other, replaced, is_compaction=False, by_bucket=False)
    assert found is not None
    assert "g-0" in found


@pytest.mark.parametrize("count", [2, 4] if THOROUGH else [2])
def test_processes_lose_and_double_nothing(tmp_path: Path, count: int) -> None:
    table = racing.new_table(tmp_path / "t")
    writers = [f"w{number}" for number in range(count)]
    assert [process.wait(timeout=7200) for process in racing.start_writers(tmp_path / "t", writers)] == [0] * count
    racing.check(table.snapshot(), writers)
    assert not table.timeline.pending
