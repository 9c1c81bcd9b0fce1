"""Orphans, leftovers and partition metadata files."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from hudiformat import RepairKind, StepState, Table
from hudiformat.check.repair.liveness import WriterTimeout
from hudiformat.check.repair.loose_files import plan_loose_files
from hudiformat.check.verify.finding import TableFinding, TableFindingKind
from hudiformat.file_group.partition_metadata import PARTITION_METADATA_FILE
from tests.check.repair.breaking import age, orphan
from tests.tables import new_table, rows


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = new_table(tmp_path / "t")
    table.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    age(tmp_path / "t")
    return table


def test_a_partition_metadata_file_names_the_first_commit(table: Table) -> None:
    table.bulk_insert(rows(("c", 1, "x", 1)))
    file = Path(table.path, "x", PARTITION_METADATA_FILE)
    before = file.read_bytes()
    file.write_bytes(b"")
    (step,) = table.repair(apply=True).steps
    assert (step.kind, step.state) == (RepairKind.PARTITION, StepState.DONE)
    assert file.read_bytes() == before


def test_an_orphan_of_a_moment_ago_may_have_a_writer(table: Table) -> None:
    orphan(Path(table.path))
    (step,) = table.repair(apply=True).steps
    assert (step.kind, step.state) == (RepairKind.ORPHAN, StepState.REFUSED)
    age(Path(table.path))
    (step,) = table.repair(apply=True).steps
    assert step.state is StepState.DONE
    assert table.verify() == []


def test_temporary_files_are_taken_away_and_not_found_again(table: Table) -> None:
    for folder in ("x", ".hoodie"):
        file = Path(table.path, folder, ".hudiformat-1234")
        file.write_bytes(b"1")
        os.utime(file, (time.time() - 7200,) * 2)
    done = table.repair(apply=True)
    assert [step.state for step in done.steps] == [StepState.DONE, StepState.DONE]
    assert table.verify() == []


def test_what_is_outside_of_the_table_is_not_touched(table: Table, tmp_path: Path) -> None:
    state, patience = table._context.state(), WriterTimeout(table._context.storage, 600)
    finding = TableFinding(TableFindingKind.ORPHAN, str(tmp_path / "spill"), "a spill folder")
    (job,) = plan_loose_files(state, [finding], patience)
    assert (job.run, job.step.state) == (None, StepState.REFUSED)
    assert "outside of the table" in job.step.reason


def test_a_metadata_table_that_nobody_names_is_taken_away(table: Table) -> None:
    table.create_index("files")
    properties = Path(table.path, ".hoodie/hoodie.properties")
    lines = properties.read_text().splitlines(keepends=True)
    properties.write_text("".join(line for line in lines if "metadata.partitions" not in line))
    (step,) = table.repair(apply=True).steps
    assert (step.kind, step.state) == (RepairKind.LEFTOVER, StepState.REFUSED)  # it may be about to be named
    age(Path(table.path))
    (step,) = table.repair(apply=True).steps
    assert (step.kind, step.path) == (RepairKind.LEFTOVER, ".hoodie/metadata")
    assert not Path(table.path, ".hoodie/metadata").exists()
    assert table.verify() == []
