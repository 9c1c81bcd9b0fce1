"""Flink's assignment: record by record, a task's own groups, across commits."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat.sizing import (
    FlinkAssigner,
    GroupVerdict,
    Placement,
    Profile,
    RecordSize,
    SizingOptions,
    Task,
    Verdict,
    plan_in_order,
)
from tests.sizing.support import candidate

OPTIONS = SizingOptions(max_file_size=1000, small_file_limit=800, insert_split_size=7)


def ids() -> Callable[[], str]:
    numbers: Iterator[int] = iter(range(10**6))
    return lambda: f"new-{next(numbers)}"


def profile(*groups: GroupVerdict, size: int = 100) -> Profile:
    return Profile(lambda path: groups if path == "p" else (), RecordSize(size))


def assigner(*groups: GroupVerdict, **changes: object) -> FlinkAssigner:
    writer = FlinkAssigner(profile(*groups), OPTIONS, ids(), several_writes=True)
    return replace(writer, **changes)  # type: ignore[arg-type]  # options of several types


def test_small_files_are_filled_in_order_and_then_new_groups_created() -> None:
    found = list(assigner(candidate("a", 700), candidate("b", 950), candidate("c", 801)).insert("p", 26))
    assert found == [
        Placement("a", "U", 3),
        Placement("c", "U", 1),  # b has no room for a whole record
        Placement("new-0", "I", 1),
        Placement("new-0", "I", 9),
        Placement("new-1", "I", 1),
        Placement("new-1", "I", 9),
        Placement("new-2", "I", 1),
        Placement("new-2", "I", 1),
    ]


def test_skipped_groups_take_nothing() -> None:
    writer = assigner(GroupVerdict("a", 1, Verdict.EMPTY))
    assert [item.file_id for item in writer.insert("p", 2)] == ["new-0", "new-0"]
    assert writer.groups("p") == (GroupVerdict("a", 1, Verdict.EMPTY),)


def test_each_partition_has_groups_of_its_own() -> None:
    writer = assigner(candidate("a", 900))
    assert [item.file_id for path in ("p", "q", "p", "q") for item in writer.insert(path)] == [
        "a", "new-0", "new-1", "new-0",
    ]  # fmt: skip


def test_the_room_is_counted_down_until_the_next_commit() -> None:
    writer = assigner(candidate("a", 800))
    assert [item for _ in range(3) for item in writer.insert("p")] == [
        Placement("a", "U", 1),
        Placement("a", "U", 1),
        Placement("new-0", "I", 1),
    ]
    writer.begin_commit()
    assert list(writer.insert("p")) == [Placement("new-0", "U", 1)]
    writer.end_commit(profile(candidate("a", 900)))
    assert list(writer.insert("p", 2)) == [Placement("a", "U", 1), Placement("new-0", "U", 1)]


def test_a_new_group_goes_on_until_the_second_commit() -> None:
    writer = assigner()
    assert list(writer.insert("p")) == [Placement("new-0", "I", 1)]
    writer.begin_commit()
    writer.end_commit(profile())
    assert list(writer.insert("p")) == [Placement("new-0", "U", 1)]
    writer.begin_commit()
    writer.end_commit(profile(candidate("new-0", 300)))
    assert list(writer.insert("p", 8)) == [
        Placement("new-0", "U", 7),  # now it is a small file like others
        Placement("new-1", "I", 1),
    ]


def test_where_a_group_is_written_once_per_instant_the_split_size_counts_as_by_default() -> None:
    writer = FlinkAssigner(profile(), OPTIONS, ids())
    assert writer.records_per_group == 7
    assert [item.records for item in writer.insert("p", 9)] == [1, 6, 1, 1]
    assert assigner().records_per_group == 10


def test_a_record_larger_than_a_file_has_a_group_of_its_own() -> None:
    writer = assigner(profile=profile(size=5000))
    assert [(item.file_id, item.records) for item in writer.insert("p", 2)] == [("new-0", 1), ("new-1", 1)]


@pytest.mark.parametrize("auto_split", [True, False])
@pytest.mark.parametrize(("split", "groups"), [(500_000, [150]), (40, [40, 40, 40, 30])])
def test_new_rows_are_split_as_real_flink_splits_them(split: int, groups: list[int], *, auto_split: bool) -> None:
    """150 new rows of 2,986 bytes at a maximum of 60,000: with Hudi's defaults real Flink opens one group for them."""
    options = SizingOptions(60_000, 50_000, insert_split_size=split, auto_split=auto_split)
    plan = plan_in_order("p", 150, FlinkAssigner(profile(size=2986), options, ids()))
    assert [(bucket.file_id, bucket.records) for bucket in plan.buckets] == [(None, count) for count in groups]
    assert plan.records_per_group == split


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from("pq"), st.integers(1, 30)), max_size=10))
def test_counts_place_records_as_one_after_the_other_does(batches: list[tuple[str, int]]) -> None:
    groups = (candidate("a", 700), candidate("b", 950), candidate("c", 200))
    whole, single = assigner(*groups), assigner(*groups)
    for number, (path, count) in enumerate(batches):
        together = [(item.file_id, item.tag) for item in whole.insert(path, count) for _ in range(item.records)]
        apart = [(item.file_id, item.tag) for _ in range(count) for item in single.insert(path)]
        assert together == apart
        if number % 3 == 2:
            for writer in (whole, single):
                writer.begin_commit()
                writer.end_commit(profile(*groups))


def test_a_task_takes_its_own_groups_and_draws_ids_until_they_are_its_own() -> None:
    groups = [candidate(f"g{i}", 0) for i in range(50)]
    tasks = [Task(number, 4) for number in range(4)]
    taken = []
    for task in tasks:
        writer = assigner(*groups, task=task)
        seen = writer.groups("p")
        own = [item.file_id for item in seen if item.verdict is Verdict.SMALL]
        assert {item.verdict for item in seen if item.file_id not in own} == {Verdict.OTHER_TASK}
        assert [item.room for item in seen if item.file_id in own] == [10] * len(own)
        taken += own
        new = [item.file_id for item in writer.insert("q", 100)]
        assert all(task.owns(file_id) for file_id in new)
    assert sorted(taken) == sorted(item.file_id for item in groups)  # each is one task's


def test_full_small_files_are_named_as_such() -> None:
    (found,) = assigner(candidate("a", 950)).groups("p")
    assert (found.verdict, found.room) == (Verdict.FULL, 0)


def test_one_task_owns_everything() -> None:
    assert all(Task().owns(str(uuid.UUID(int=i))) for i in range(20))
