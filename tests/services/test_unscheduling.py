"""A planned compaction, or a file group of it, is taken off the timeline."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import CommitError, Table
from hudiformat.services import unscheduling
from hudiformat.services.execution import compaction_plan_of
from hudiformat.timeline.contents import transition_inflight
from hudiformat.timeline.plans import CompactionPlan
from hudiformat.timeline.timeline import Instant
from tests.tables import content, data_files, new_table, rows


def planned(path: Path, version: int = 9) -> tuple[Table, Instant]:
    """A table with a planned compaction of two file groups, in the partitions x and y."""
    table = new_table(path, version=version)
    table.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    table.upsert(rows(("a", 2, "x", 2), ("b", 2, "y", 2)))
    table.schedule_compaction()
    return table, table.timeline.pending[0]


def plan_of(table: Table) -> CompactionPlan:
    state = table._context.state()
    return compaction_plan_of(state, state.timeline.pending[0])


@pytest.mark.parametrize("version", [9, 6])
def test_a_plan_is_taken_off_the_timeline(tmp_path: Path, version: int) -> None:
    table, instant = planned(tmp_path / "t", version)
    done = table.unschedule_compaction(instant)
    assert done.done.endswith("taken off the timeline")
    assert table.timeline.pending == ()
    table.upsert(rows(("a", 3, "x", 3)))
    assert table.compact()
    assert content(table) == [("a", 3, "x", 3), ("b", 2, "y", 2)]


def test_a_file_group_is_taken_out_of_a_plan(tmp_path: Path) -> None:
    table, instant = planned(tmp_path / "t")
    first, second = plan_of(table).operations or ()
    done = table.unschedule_compaction(instant.time, file_id=first.file_id, partition=first.partition_path)
    assert "1 file groups left" in done.done
    assert plan_of(table).operations == (second,)
    [commit] = table.compact()
    assert [stat.file_id for stat in commit.stats] == [second.file_id]
    assert content(table) == [("a", 2, "x", 2), ("b", 2, "y", 2)]


def test_a_plan_without_file_groups_can_be_run(tmp_path: Path) -> None:
    table, instant = planned(tmp_path / "t")
    for operation in plan_of(table).operations or ():
        table.unschedule_compaction(instant, file_id=operation.file_id)
    assert plan_of(table).operations == ()
    table.compact()
    assert table.timeline.pending == ()
    assert content(table) == [("a", 2, "x", 2), ("b", 2, "y", 2)]


def test_what_a_dead_attempt_has_written_is_deleted(tmp_path: Path) -> None:
    table, instant = planned(tmp_path / "t")
    state = table._context.state()
    transition_inflight(state.storage, state.config, instant)
    operation = (plan_of(table).operations or ())[0]
    stray = tmp_path / "t" / (operation.partition_path or "") / f"{operation.file_id}_0-0-0_{instant.time}.parquet"
    stray.write_bytes(b"half")
    with pytest.raises(CommitError, match=r"has begun: run it by compact\(\)"):
        table.unschedule_compaction(instant)
    table.unschedule_compaction(instant, file_id=operation.file_id)
    assert not stray.exists()
    assert table.timeline.pending[0].state.name == "REQUESTED"
    table.compact()
    assert content(table) == [("a", 2, "x", 2), ("b", 2, "y", 2)]
    assert len([path for path in data_files(tmp_path / "t") if instant.time in path]) == 1


def test_a_compaction_that_runs_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, instant = planned(tmp_path / "t")
    monkeypatch.setattr(unscheduling, "is_running", lambda *_: True)
    with pytest.raises(CommitError, match="is running in another process"):
        table.unschedule_compaction(instant)


def test_plans_and_file_groups_that_are_not_there_are_named(tmp_path: Path) -> None:
    table, instant = planned(tmp_path / "t")
    with pytest.raises(CommitError, match=f"found none at 20200101000000000; planned are: {instant.time}"):
        table.unschedule_compaction("20200101000000000")
    with pytest.raises(CommitError, match="expected a file group of the plan, found 'nothing'"):
        table.unschedule_compaction(instant, file_id="nothing")
    first = (plan_of(table).operations or ())[0]
    with pytest.raises(CommitError, match="expected a file group of the plan"):
        table.unschedule_compaction(instant, file_id=first.file_id, partition="elsewhere")


def test_a_file_group_in_two_partitions_needs_one(tmp_path: Path) -> None:
    options = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}
    table = new_table(tmp_path / "t", options=options)
    table.upsert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    table.schedule_compaction()
    operations = plan_of(table).operations or ()
    if len({one.file_id for one in operations}) == 1:
        with pytest.raises(CommitError, match="name one"):
            table.unschedule_compaction(table.timeline.pending[0], file_id=operations[0].file_id)
