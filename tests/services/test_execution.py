"""Plans of compactions: what they name, which slices they are made of, and how they are run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from hudiformat import CommitError, CorruptTableError, FileSlice, StorageError, Table
from hudiformat.naming.file_names import WriteToken
from hudiformat.services.execution import (
    compaction_operation,
    compaction_plan_of,
    mergeable_slices,
    run_claimed,
    slice_of,
)
from hudiformat.storage.protocol import Storage
from hudiformat.table.options.values import Operation
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.timeline.contents import create_requested, transition_inflight
from hudiformat.timeline.plans import CompactionPlan
from hudiformat.timeline.timeline import Action, Instant, State, read_metadata
from hudiformat.write.commit.markers import create_marker
from hudiformat.write.commit.plan import WritePlan, write_plan
from tests.services.support import claimed_by, logged
from tests.tables import new_table, rows

TIME = "20990101000000000"


def names(file_slice: FileSlice) -> tuple[object, ...]:
    """The slice by the names of its files, without their sizes."""
    base = file_slice.base_file
    return (
        file_slice.partition_path,
        file_slice.file_id,
        file_slice.base_instant,
        None if base is None else str(base.name),
        [str(log.name) for log in file_slice.log_files],
    )


def test_an_entry_of_a_plan_names_its_slice_and_gives_its_sizes(table: Table) -> None:
    [file_slice] = logged(table).file_slices()
    operation = compaction_operation(table._context.storage, file_slice)
    assert names(slice_of(operation)) == names(file_slice)
    assert operation.metrics is not None
    assert operation.metrics["TOTAL_LOG_FILES"] == 2
    assert operation.metrics["TOTAL_LOG_FILES_SIZE"] == file_slice.log_bytes > 0
    assert operation.metrics["TOTAL_IO_READ_MB"] == 0  # whole MiB


def test_an_entry_may_have_log_files_alone(tmp_path: Path) -> None:
    buckets = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}
    table = new_table(tmp_path / "t", options=buckets, partition_by=[])
    table.upsert(rows(("a", 1, "x", 1)))
    [file_slice] = table.file_slices()
    operation = compaction_operation(table._context.storage, file_slice)
    assert (operation.data_file_path, operation.partition_path) == (None, "")
    assert names(slice_of(operation)) == names(file_slice)


def test_slices_with_log_files_are_mergeable_until_a_plan_names_them(table: Table) -> None:
    table = logged(table)
    table.bulk_insert(rows(("z", 1, "y", 1)))  # has no log files
    [found] = mergeable_slices(table._context.state())
    assert found.partition_path == "x"
    assert table.schedule_compaction()
    assert mergeable_slices(table._context.state()) == []


def planned(table: Table) -> tuple[Instant, CompactionPlan]:
    """A compaction of *table* that has begun, and its plan."""
    state = table._context.state()
    plan = CompactionPlan(
        tuple(compaction_operation(state.storage, one) for one in mergeable_slices(state)),
        missing_schedule_partitions=(),
    )
    requested = create_requested(state.storage, state.config, TIME, Action.COMPACTION, plan)
    return transition_inflight(state.storage, state.config, requested), plan


def test_the_plan_of_a_compaction_that_has_begun_is_in_its_requested_file(table: Table) -> None:
    table = logged(table)
    instant, plan = planned(table)
    assert instant.state is State.INFLIGHT
    assert compaction_plan_of(table._context.state(), instant) == plan


def test_an_instant_without_a_plan_is_damage(table: Table) -> None:
    instant = Instant(TIME, Action.COMPACTION, State.REQUESTED)
    state = table._context.state()
    create_requested(state.storage, state.config, TIME, Action.REPLACE_COMMIT)
    with pytest.raises(StorageError):
        compaction_plan_of(state, instant)
    with pytest.raises(CorruptTableError, match=f"expected a plan for {TIME}"):
        compaction_plan_of(state, Instant(TIME, Action.REPLACE_COMMIT, State.REQUESTED))


def test_running_a_plan_merges_each_slice_and_completes_the_instant(table: Table) -> None:
    table = logged(table)
    instant, plan = planned(table)
    create_marker(table._context.storage, TIME, "x/f-0_0-0-0_1.parquet")
    merged: list[tuple[FileSlice, WriteToken]] = []

    def merge(file_slice: FileSlice, _plan: WritePlan, _storage: Storage, token: WriteToken) -> Iterator[WriteStat]:
        merged.append((file_slice, token))
        yield WriteStat(
            file_slice.file_id, "x/f", partition_path=file_slice.partition_path, num_writes=2, num_inserts=2
        )

    (Path(table.path) / "x" / "f").touch()
    state = table._context.state()
    with claimed_by(state, instant) as claimed:
        commit = run_claimed(state, claimed, writing_plan(table), merge=merge, name="COMPACT")
    [(file_slice, token)] = merged
    assert names(file_slice) == names(slice_of((plan.operations or ())[0]))
    assert token == WriteToken(0, 0, 0)
    assert (commit.instant, commit.action, commit.num_writes) == (TIME, "commit", 2)
    [done] = [one for one in table.timeline.completed if one.time == TIME]
    metadata = read_metadata(table._context.storage, table.config, done)
    assert (metadata.operation_type, metadata.compacted) == ("COMPACT", True)
    assert metadata.write_stats == commit.stats
    assert not (Path(table.path) / ".hoodie" / ".temp" / TIME).exists()


def test_a_plan_that_cannot_be_run_stays(table: Table) -> None:
    table = logged(table)
    instant, plan = planned(table)

    def fail(_slice: FileSlice, _plan: WritePlan, _storage: Storage, _token: WriteToken) -> Iterable[WriteStat]:
        raise CommitError("the disk is full", path=table.path)

    state = table._context.state()
    with claimed_by(state, instant) as claimed, pytest.raises(CommitError, match="the disk is full"):
        run_claimed(state, claimed, writing_plan(table), merge=fail, name="COMPACT")
    assert instant in table.timeline.pending
    assert compaction_plan_of(table._context.state(), instant) == plan


def writing_plan(table: Table) -> WritePlan:
    return write_plan(table._context.state(), Operation.UPSERT, TIME)
