"""The plan of a batch: its groups, their compactors, and the messages that are refused."""

from __future__ import annotations

import pytest

from hudiformat.errors import DataError
from hudiformat.sink import (
    SinkOptions,
    TaskCommit,
)
from hudiformat.sink.layout import StagedFile
from hudiformat.sink.plan import BatchPlan, plan_batch

MERGING = SinkOptions(auto_compaction=True)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ([], "expected the messages of one batch, found none"),
        ([(0, 0, 2), (1, 1, 2)], "found batch 0 of 2 tasks, batch 1 of 2 tasks"),
        ([(0, 0, 2), (0, 1, 3)], "found batch 0 of 2 tasks, batch 0 of 3 tasks"),
        ([(4, 0, 2), (4, 0, 2)], r"batch 4: expected one message of each of 2 tasks, found tasks \[0, 0\]"),
        ([(None, 0, 1)], "do not say their batch and the number of tasks: say batch= when committing"),
        ([(None, 0, 1), (3, 0, 1)], "found batch 3 of 1 tasks, batch None of 1 tasks"),
        ([(4, 0, 1), (4, 1, 1)], r"found tasks \[0, 1\]; \[1\] are too many"),
    ],
)
def test_messages_that_do_not_go_together_are_refused(numbers: list[tuple[int | None, int, int]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        plan_batch([TaskCommit(*of, files=()) for of in numbers], SinkOptions())


def test_compactors_take_the_groups_by_number() -> None:
    found = tuple(
        StagedFile(f"p={partition}", f"{name}", f"s{partition}{name}", 6 - name % 2, 1)
        for partition in range(3)
        for name in range(4)
    )
    options = SinkOptions(auto_compaction=True, compaction_file_size=11, compaction_parallelism=2)
    plan = plan_batch([TaskCommit(0, 0, 1, found)], options)
    assert [(group.number, group.partition, group.sources) for group in plan.groups] == [
        (2 * partition + half, f"p={partition}", (f"s{partition}{2 * half}", f"s{partition}{2 * half + 1}"))
        for partition in range(3)
        for half in range(2)
    ]
    assert [[group.number for group in plan.share(compactor)] for compactor in range(2)] == [[0, 2, 4], [1, 3, 5]]
    assert BatchPlan.from_json(plan.to_json()) == plan
    assert plan_batch([TaskCommit(0, i, 3, ()) for i in range(3)], MERGING).compactors == 3


def test_the_lowest_watermark_is_used_and_tasks_without_one_are_ignored() -> None:
    marks = [7, None, 5]
    messages = [TaskCommit(0, task, 3, (), mark) for task, mark in enumerate(marks)]
    assert plan_batch(messages, SinkOptions()).watermark == 5
    assert plan_batch([TaskCommit(0, 0, 1, ())], SinkOptions()).watermark is None
