"""What other engines do with a table: its rows by tasks of their processes, and writes of their batches."""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import hudiformat as hf
from hudiformat.api.tasks import ScanTask, scan_tasks
from hudiformat.api.writing import write_by
from tests.tables import SCHEMA, content, rows, table_to_merge


@pytest.fixture
def table(tmp_path: Path) -> hf.Table:
    return table_to_merge(tmp_path / "t")


def values(tasks: list[ScanTask], column: str) -> list[object]:
    return sorted(row[column] for task in tasks for batch in task.batches() for row in batch.to_pylist())


def test_tasks_have_merged_rows_and_can_be_sent_to_other_processes(table: hf.Table) -> None:
    tasks = scan_tasks(table, columns=["v"])
    assert values(pickle.loads(pickle.dumps(tasks)), "v") == [2, 3, 10]
    assert all(task.size > 0 for task in tasks)
    assert values(scan_tasks(table, as_of=table.timeline.completed[0]), "v") == [1, 2]


def test_a_further_condition_is_one_more_or_is_left_out(table: hf.Table) -> None:
    assert values(scan_tasks(table, also=pc.field("p") == "y"), "k") == ["b", "c"]
    assert values(scan_tasks(table, filter="v > 2", also=pc.field("p") == "y"), "k") == ["c"]
    assert values(scan_tasks(table, filter="v > 2", also=pc.field("gone") == "y"), "k") == ["a", "c"]
    with pytest.raises(hf.SchemaError):
        scan_tasks(table, filter="gone = 1")


def test_batches_are_written_by_the_name_of_the_operation(table: hf.Table) -> None:
    more = rows(("d", 1, "x", 4))
    write_by(table, "upsert", SCHEMA, [more.to_batches()[0], more.set_column(3, "v", pa.array([5]))])
    assert content(table)[-1][0] == "d"
    write_by(table, "delete", SCHEMA, [more])
    assert [row[0] for row in content(table)] == ["a", "b", "c"]
    with pytest.raises(hf.OptionError, match="operation: expected one of upsert, .*, found 'update'"):
        write_by(table, "update", SCHEMA, [])
