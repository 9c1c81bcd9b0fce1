"""The tasks of a Flink writer share the new rows of a partition: each is an assigner with file groups of its own."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.sizing import (
    FlinkAssigner,
    FlinkTasks,
    GroupVerdict,
    Parallelism,
    Profile,
    RecordSize,
    SizingOptions,
    Task,
    Verdict,
)
from hudiformat.write.new_rows import groups_of_new
from tests.sizing.support import candidate

OPTIONS = SizingOptions(max_file_size=1000, small_file_limit=800, insert_split_size=7)


def ids(first: int) -> Callable[[], str]:
    numbers = iter(range(first, first + 10**6))
    return lambda: f"{uuid.UUID(int=next(numbers))}-0"


def profile(groups: list[GroupVerdict]) -> Profile:
    return Profile(lambda _path: groups, RecordSize(100))


def keys(count: int, first: int = 0) -> pa.Array:
    return pa.array([f"k{number}" for number in range(first, first + count)])


SMALL = st.lists(st.integers(0, 1000), max_size=12).map(
    lambda sizes: [candidate(f"{uuid.UUID(int=10**9 + at)}-0", size) for at, size in enumerate(sizes)]
)


@given(SMALL, st.integers(1, 9), st.lists(st.integers(0, 120), min_size=1, max_size=3))
def test_each_task_packs_as_its_own_assigner(groups: list[GroupVerdict], tasks: int, inserts: list[int]) -> None:
    """Over several plans of a commit: the state of the assigners is kept."""
    parallelism = Parallelism.of(tasks)
    together = FlinkTasks("p", parallelism, profile(groups), OPTIONS, ids(0))
    alone = [FlinkAssigner(profile(groups), OPTIONS, ids(0), Task(number, tasks)) for number in range(tasks)]
    for at, count in enumerate(inserts):
        rows = keys(count, 1000 * at)
        plan = together.plan(parallelism.counts(rows))
        buckets = plan.assign(rows)
        assert plan.inserts == count == sum(bucket.records for bucket in plan.buckets)
        assert np.bincount(buckets, minlength=len(plan.buckets)).tolist() == [one.records for one in plan.buckets]
        for number, own in enumerate(alone):
            placed: Counter[tuple[str, str]] = Counter()
            for placement in own.insert("p", parallelism.counts(rows).get(number, 0)):
                placed[placement.tag, placement.file_id if placement.tag == "U" else ""] += placement.records
            found: Counter[tuple[str, str]] = Counter()
            for bucket in plan.buckets:
                if bucket.task == number:
                    assert parallelism.owner(str(bucket.file_id or bucket.new_id)) == number
                    found["I" if bucket.file_id is None else "U", bucket.file_id or ""] += bucket.records
            assert found == placed


def test_rows_go_to_groups_of_the_task_that_their_keys_belong_to() -> None:
    parallelism = Parallelism.of(4)
    rows = keys(500)
    plan = FlinkTasks("p", parallelism, profile([]), OPTIONS, ids(0)).plan(parallelism.counts(rows))
    for assigned in (
        [plan.buckets[at].new_id for at in plan.assign(rows)],
        [name.removeprefix("+") for name in groups_of_new(plan, rows).to_pylist()],
    ):
        assert [parallelism.owner(str(name)) for name in assigned] == parallelism.owners(rows).tolist()


def test_a_row_that_was_not_counted_goes_to_the_first_group() -> None:
    """A source may give other rows when it is asked again."""
    parallelism = Parallelism.of(4)
    rows = keys(50)
    absent = parallelism.owners(rows) == 3
    counted = rows.filter(pa.array(~absent))
    plan = FlinkTasks("p", parallelism, profile([]), OPTIONS, ids(0)).plan(parallelism.counts(counted))
    names = groups_of_new(plan, rows)
    assert set(names.filter(pa.array(absent)).to_pylist()) == {f"+{plan.buckets[0].new_id}"}


def test_groups_tell_what_their_task_makes_of_them() -> None:
    parallelism = Parallelism.of(2)
    full, closed = candidate("full", 950), GroupVerdict("closed", 10, Verdict.TOO_LARGE)
    roomy = [candidate(f"{uuid.UUID(int=at)}-0", 700) for at in range(6)]
    plan = FlinkTasks("p", parallelism, profile([full, closed, *roomy]), OPTIONS, ids(50)).plan({0: 2})
    first = next(one for one in roomy if parallelism.owner(one.file_id) == 0)
    verdicts = {one.file_id: (one.verdict, one.room, one.records) for one in plan.groups}
    assert verdicts["full"] == (Verdict.FULL, 0, 0)
    assert verdicts["closed"] == (Verdict.TOO_LARGE, None, 0)
    assert verdicts[first.file_id] == (Verdict.TAKEN, 3, 2)
    assert {verdicts[one.file_id] for one in roomy if one != first} == {(Verdict.SMALL, 3, 0)}
    assert plan.candidates == {"full", *(one.file_id for one in roomy)}
