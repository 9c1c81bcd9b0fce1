"""The plan of a batch: its groups, their compactors, and the messages that are refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hudiformat.errors import CorruptTableError, DataError
from hudiformat.sink import (
    SinkOptions,
    TaskCommit,
)
from hudiformat.sink.layout import StagedFile
from hudiformat.sink.options import Format
from hudiformat.sink.plan import BatchPlan, MergeGroup, Progress, plan_batch

MERGING = SinkOptions(auto_compaction=True)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ([], "expected the messages of one batch, found none"),
        ([(0, 0, 2), (1, 1, 2)], "found batch 0 of 2 tasks, batch 1 of 2 tasks"),
        ([(0, 0, 2), (0, 1, 3)], "found batch 0 of 2 tasks, batch 0 of 3 tasks"),
        ([(4, 0, 2), (4, 0, 2)], r"batch 4: expected one message of each of 2 tasks, found tasks \[0, 0\]"),
        ([(None, 0, 1)], "have no batch or no number of tasks: pass batch= to commit"),
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


SOUND: dict[str, Any] = {
    "batch": 1,
    "groups": [{"number": 0, "partition": "p=1", "sources": ["a"], "target": "p=1/part.parquet"}],
    "compactors": 1,
    "watermark": None,
}


def plan_text(**changes: Any) -> bytes:
    group = {key: value for key, value in changes.items() if key in SOUND["groups"][0]}
    groups = [{**SOUND["groups"][0], **group}]
    return json.dumps({**SOUND, "groups": groups, **{k: v for k, v in changes.items() if k in SOUND}}).encode()


def test_a_plan_is_read_again() -> None:
    plan = BatchPlan.from_json(plan_text())
    assert plan == BatchPlan(1, (MergeGroup(0, "p=1", ("a",), "p=1/part.parquet"),), 1)
    assert plan.groups[0].format is Format.PARQUET


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"[" * 100_000,
        plan_text(batch="1"),
        plan_text(compactors=0),
        plan_text(compactors=True),
        plan_text(groups=None),
        plan_text(groups=[1]),
        plan_text(watermark="x"),
        *[
            plan_text(partition=place, target=f"{place}/part.parquet")
            for place in ("..", "/", "a/../..", ".hoodie", "a\0")
        ],
        *[plan_text(target=place) for place in ("../part.parquet", "p=2/part.parquet", "/etc/passwd", "")],
        *[plan_text(sources=place) for place in (["../x"], ["/etc/passwd"], [""], [], "x", [1])],
    ],
)
def test_a_plan_that_is_damaged_or_names_files_elsewhere_is_refused(text: bytes) -> None:
    with pytest.raises(CorruptTableError, match="expected the plan of a batch in the sink's journal"):
        BatchPlan.from_json(text)


HELD: dict[str, Any] = {
    "partition": "p=1",
    "name": "0000000001-a.parquet",
    "path": ".s/a",
    "size": 5,
    "rows": 1,
    "kind": "k",
    "merged": True,
}


@pytest.mark.parametrize(
    "change",
    [
        {"partition": ".."},
        {"name": "../x"},
        {"name": "a/b"},
        {"name": ""},
        {"path": "/etc/passwd"},
        {"path": ""},
        {"size": "5"},
        {"rows": None},
        {"kind": 1},
        {"merged": 1},
    ],
)
def test_hidden_files_that_are_elsewhere_are_refused(change: dict[str, Any]) -> None:
    for made in (HELD, {**HELD, **change}):
        text = json.dumps(
            {**SOUND, "held": [made], "due": ["p=1"], "ending": True, "pending": {}, "skipped": []}
        ).encode()
        if made is HELD:
            plan, after = BatchPlan.from_json(text), Progress.from_json(text)
            assert plan.held == after.held == (StagedFile(**HELD),)
            assert (BatchPlan.from_json(plan.to_json()), Progress.from_json(after.to_json())) == (plan, after)
            assert (plan.due, plan.label) == (("p=1",), "1-end")
            continue
        with pytest.raises(CorruptTableError, match="expected the plan of a batch"):
            BatchPlan.from_json(text)
        with pytest.raises(CorruptTableError, match="expected the progress of a batch"):
            Progress.from_json(text)


def test_partitions_elsewhere_are_not_due() -> None:
    for due in ([".."], [1], "p"):
        with pytest.raises(CorruptTableError, match="expected the plan"):
            BatchPlan.from_json(json.dumps({**SOUND, "due": due}).encode())


def progress(pending: object) -> bytes:
    return json.dumps({"batch": 1, "watermark": None, "pending": pending}).encode()


def test_a_plan_for_files_of_an_unknown_format_is_refused() -> None:
    with pytest.raises(CorruptTableError, match="expected the plan"):
        _ = BatchPlan.from_json(plan_text(target="p=1/part.orc")).groups[0].format


@pytest.mark.parametrize(
    "text",
    [b"{", b"{}", b'{"batch":1,"watermark":null,"pending":{"..":1}}', b'{"batch":1,"watermark":1,"pending":{"a":"b"}}'],
)
def test_progress_that_is_damaged_is_refused(text: bytes) -> None:
    with pytest.raises(CorruptTableError, match="expected the progress of a batch"):
        Progress.from_json(text)
