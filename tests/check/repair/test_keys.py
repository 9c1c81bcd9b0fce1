"""Keys in two file groups: the newer row stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hudiformat as hf
from hudiformat import RepairKind, StepState, Table
from tests.check.repair.breaking import age
from tests.tables import content, new_table, rows, unpack


def twice(path: Path, **changes: Any) -> Table:
    table = new_table(path, **changes)
    table.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "x", 1), ("c", 1, "y", 1)))
    table.bulk_insert(rows(("a", 2, "x", 2), ("d", 2, "y", 2)))
    age(path)
    return table


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("version", [6, 9])
def test_older_rows_are_deleted(kind: str, version: int, tmp_path: Path) -> None:
    table = twice(tmp_path / "t", table_type=kind, version=version)
    assert table.repair().steps == ()
    (step,) = table.repair(keys=True).steps
    assert (step.kind, step.lost) == (RepairKind.KEYS, "1 older rows, which the table's past still has")
    table.repair(keys=True, apply=True)
    assert content(table) == [("a", 2, "x", 2), ("b", 1, "x", 1), ("c", 1, "y", 1), ("d", 2, "y", 2)]
    assert table.verify(keys=True) == []


def test_the_record_index_knows_the_row_that_stays(tmp_path: Path) -> None:
    table = twice(tmp_path / "t")
    table.create_index("record_index")
    age(tmp_path / "t")
    done = table.repair(keys=True, apply=True)
    assert [step.kind for step in done.steps] == [RepairKind.METADATA, RepairKind.KEYS, RepairKind.METADATA]
    found = hf.open_table(table.path, options={"hoodie.index.type": "RECORD_INDEX"})
    assert "record_index" in found.config.metadata_partitions
    found.upsert(rows(("a", 3, "x", 3)))
    assert content(found)[0] == ("a", 3, "x", 3)
    assert len(content(found)) == 4


def test_duplicates_of_hudis_are_deleted(tmp_path: Path) -> None:
    path = unpack("v6-cow-duplicates-h0150", tmp_path).table
    age(path)
    table = hf.open_table(path)
    (step,) = table.repair(keys=True, apply=True).steps
    assert step.state is StepState.DONE
    assert "and 1 more" in step.what
    assert table.verify(keys=True) == []


def test_a_writer_may_be_alive(tmp_path: Path) -> None:
    table = twice(tmp_path / "t")
    (tmp_path / "t/.hoodie/timeline/99990101000000000.deltacommit.requested").touch()
    states = {step.kind: step.state for step in table.repair(keys=True).steps}
    assert states == {RepairKind.KEYS: StepState.REFUSED, RepairKind.PENDING: StepState.REFUSED}
