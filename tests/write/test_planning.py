"""What sizing would do with new rows, and what it then does."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from hudiformat import open_table
from hudiformat.sizing import Verdict
from tests.tables import content, new_table
from tests.write.support import keyed


def test_planned_groups_and_those_filled_are_those_of_the_plan(tmp_path: Path) -> None:
    options = {"hoodie.parquet.max.file.size": "20480", "hoodie.parquet.small.file.limit": "18000"}
    table = new_table(tmp_path / "t", options=options)
    table.insert(keyed(0, 8))
    data = keyed(4, 100, ts=2)
    (plan,) = table.plan_inserts(data)
    assert plan.inserts == 92
    assert plan == table.plan_inserts({"x": 92})[0]
    expected = {number: bucket.records for number, bucket in enumerate(plan.buckets)}
    commit = table.upsert(data)
    known = plan.groups[0].file_id
    found = {stat.file_id: stat.num_inserts for stat in commit.stats}
    assert found.pop(known) == expected.pop(0)
    assert sorted(found.values()) == sorted(expected.values())
    assert len({(file_id or "")[:36] for file_id in found}) == len(expected) == len(plan.buckets) - 1
    assert len(content(table)) == 100


def test_flinks_rules_fill_one_after_the_other(tmp_path: Path) -> None:
    options = {"hoodie.parquet.max.file.size": "20480", "hoodie.parquet.small.file.limit": "18000"}
    flink = {"hudiformat.sizing": "flink", "hoodie.copyonwrite.insert.split.size": "20"}
    table = new_table(tmp_path / "t", options={**options, **flink})
    table.insert(keyed(0, 8))
    (plan,) = table.plan_inserts({"x": 50})
    assert plan.in_order
    assert [(bucket.file_id is None, bucket.records) for bucket in plan.buckets] == [
        (False, plan.groups[0].room),
        (True, 20),
        (True, 50 - 20 - (plan.groups[0].room or 0)),
    ]
    commit = table.insert(keyed(8, 58))
    assert sorted(stat.num_inserts for stat in commit.stats) == sorted(bucket.records for bucket in plan.buckets)


def test_a_plan_says_of_every_group_why(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    table.insert(keyed(0, 10))
    table.upsert(keyed(0, 1, ts=2))
    table.insert(keyed(10, 20))
    (plan,) = table.plan_inserts(keyed(15, 30))
    assert plan.inserts == 10
    assert Counter(group.verdict for group in plan.groups) == {Verdict.TAKEN: 1, Verdict.HAS_LOGS: 1}
    assert plan.record_size.instant is None
    assert len(plan.record_size.passed_over) == 3
    assert not list(Path(table.path).rglob("*.requested"))[3:]  # nothing was begun


@pytest.mark.parametrize(("commits", "is_measured"), [("1", False), ("2", True), ("0", False), ("-1", False)])
def test_the_commits_that_the_record_size_is_looked_for_in_are_an_option(
    tmp_path: Path, commits: str, *, is_measured: bool
) -> None:
    """The last commit is too small to be measured, the one before it is large enough."""
    limits = {"hoodie.record.size.estimation.threshold": "0.0001", "hoodie.parquet.small.file.limit": "100000000"}
    table = new_table(tmp_path / "t", options={"hoodie.merge.small.file.group.candidates.limit": "0"})
    measured = table.insert(keyed(0, 800))
    table.insert(keyed(800, 802))
    key = "_hoodie.record.size.estimator.max.commits"
    (plan,) = open_table(tmp_path / "t", options={**limits, key: commits}).plan_inserts({"x": 1})
    assert plan.record_size.instant == (measured.instant if is_measured else None)
