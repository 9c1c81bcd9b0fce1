"""Rows that are placed before the tasks of a write run go where they were placed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudiformat import Table, UnsupportedFeatureError
from hudiformat.naming.file_names import WriteToken
from hudiformat.table.options.values import Operation
from hudiformat.write.commit.transaction import begin_write
from hudiformat.write.new_rows import groups_of_new, new_group
from hudiformat.write.rows import LocatedRows
from hudiformat.write.write import WriteTask
from tests.tables import new_table, rows

SIZES = {
    "hoodie.parquet.max.file.size": "100000",
    "hoodie.copyonwrite.record.size.estimate": "10000",
    "hoodie.record.size.estimation.threshold": "100",
    "hoodie.parquet.bloom.filter.enabled": "false",
}


@pytest.fixture
def small(tmp_path: Path) -> Table:
    return new_table(tmp_path / "small", options=SIZES)


def some(count: int, first: int = 0) -> pa.Table:
    return rows(*((f"k{number}", 1, "x", 1) for number in range(first, first + count)))


def test_new_rows_go_to_the_groups_of_the_plan(small: Table) -> None:
    small.insert(some(3))
    [file_slice] = small.file_slices()
    data = some(17, 3)
    with begin_write(small._context, Operation.UPSERT) as write:
        [plan] = small.plan_inserts({"x": 17})
        groups = groups_of_new(plan, data["k"].combine_chunks())
        expected = Counter(groups.to_pylist())
        assert set(expected) == {file_slice.file_id, "+0"}
        plan_with_placement = replace(write.plan, planned_inserts={"x": plan})
        with WriteTask(plan_with_placement, WriteToken(0, 0, 0)) as task:
            [batch] = data.combine_chunks().to_batches()
            for group in groups.unique().to_pylist():
                part = batch.filter(pc.equal(groups, group))
                task.write(LocatedRows("x", part, part["k"], (group,), is_new=True))
            stats = task.finish()
        write.commit(stats)
    assert sorted(stat.num_inserts for stat in stats) == sorted(expected.values())
    assert small.snapshot().num_rows == 20


def test_updates_go_to_their_groups(small: Table) -> None:
    small.insert(some(3))
    [file_slice] = small.file_slices()
    data = rows(("k1", 5, "x", 9))
    with begin_write(small._context, Operation.UPSERT) as write:
        with WriteTask(write.plan, WriteToken(0, 0, 0)) as task:
            [batch] = data.to_batches()
            task.write(LocatedRows("x", batch, batch["k"], (file_slice.file_id,)))
            [stat] = task.finish()
        write.commit([stat])
    assert (stat.num_inserts, stat.num_update_writes) == (0, 1)
    assert small.snapshot().num_rows == 3


def test_no_rows_of_a_group_write_nothing(small: Table) -> None:
    small.insert(some(3))
    [file_slice] = small.file_slices()
    [batch] = rows(("k1", 5, "x", 9)).to_batches()
    none = LocatedRows("x", batch, batch["k"], (file_slice.file_id,)).slice(0, 0)
    with begin_write(small._context, Operation.UPSERT) as write, WriteTask(write.plan, WriteToken(0, 0, 0)) as task:
        task.write(none)
        assert task.finish() == []


def test_updates_of_a_pending_clustering_are_refused(small: Table) -> None:
    small.insert(some(3))
    [file_slice] = small.file_slices()
    with begin_write(small._context, Operation.UPSERT) as write:
        plan = replace(write.plan, in_clustering=frozenset([("x", file_slice.file_id)]))
        [batch] = rows(("k1", 5, "x", 9)).to_batches()
        task = WriteTask(plan, WriteToken(0, 0, 0))
        with pytest.raises(UnsupportedFeatureError, match="pending clustering"):
            task.write(LocatedRows("x", batch, batch["k"], (file_slice.file_id,)))


def test_new_groups_are_named_by_number_or_id() -> None:
    assert new_group("+12") == "12"
    assert new_group("+0f1e-0") == "0f1e-0"
    assert new_group("0f1e-0") is None
