"""The content of commits that is made again from files."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat import StepState, Table
from hudiformat.check.repair.commits import rebuild_commit, rebuild_savepoint
from hudiformat.schema.table_schema import TableSchema
from hudiformat.timeline.commit_metadata import CommitMetadata
from hudiformat.timeline.rollbacks import SavepointMetadata
from hudiformat.timeline.timeline import Action, Instant, instant_path
from tests.check.repair.breaking import age
from tests.effort import sample
from tests.tables import NAMES, new_table, rows, unpack

WHOLE = [name for name in NAMES if "damaged" not in name]


def named(metadata: CommitMetadata) -> Counter[tuple[str | None, ...]]:
    return Counter((stat.path, stat.file_id, stat.partition_path) for stat in metadata.write_stats)


def groups(metadata: CommitMetadata) -> dict[str, list[str]]:
    found = metadata.partition_to_replace_file_ids or {}
    return {path: sorted(ids) for path, ids in found.items() if ids}


@pytest.mark.slow
@pytest.mark.parametrize("name", sample(WHOLE, of=3))
def test_commits_of_hudis_are_made_again(name: str, tmp_path: Path) -> None:
    state = hf.open_table(unpack(name, tmp_path).table)._context.state()
    for done in state.timeline.completed_writes:
        real, found = state.metadata(done), rebuild_commit(state, done)
        if found is None:
            assert real.operation_type == "DELETE_PARTITION"
            continue
        there = {path for path in named(real) if state.storage.exists(path[0] or "")}
        assert set(named(found)) >= there
        if not state.logs_name_slices:  # there a rollback of a later write may have added to the files
            assert {path[0] for path in named(found)} <= {path[0] for path in named(real)}
        assert groups(found) == groups(real) or real.operation_type != "CLUSTER"
        if real.schema is not None and found.schema is not None:
            mine, theirs = (TableSchema.of_commit(one).arrow for one in (found.schema, real.schema))
            assert sorted(mine, key=lambda field: field.name) == sorted(theirs, key=lambda field: field.name)
        assert found.compacted == real.compacted


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return new_table(tmp_path / "t")


def broken(table: Table, content: bytes = b"") -> Instant:
    """The newest write, whose file has been damaged."""
    done = table.timeline.completed_writes[-1]
    Path(table.path, instant_path(table.config, done)).write_bytes(content)
    age(Path(table.path))
    return done


def test_counts_are_those_of_the_files(table: Table) -> None:
    table.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "x", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    table.delete(rows(("b", 2, "x", 2)))
    state = table._context.state()
    for done in state.timeline.completed_writes:
        found, real = rebuild_commit(state, done), state.metadata(done)
        assert found is not None
        assert [(one.num_writes, one.num_deletes) for one in found.write_stats] == [
            (one.num_writes, one.num_deletes) for one in real.write_stats
        ]


def test_a_commit_without_files_takes_the_schema_of_the_one_before(table: Table) -> None:
    table.upsert(rows(("a", 1, "x", 1)))
    schema = table.schema
    table.evolve(add={"w": pa.int64()})
    broken(table)
    assert table.repair(apply=True).left == ()
    assert hf.open_table(table.path).schema == schema


def test_an_internal_schema_stays(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options={"hoodie.schema.on.read.enable": "true"})
    table.upsert(rows(("a", 1, "x", 1)))
    table.evolve(rename={"v": "w"})
    table.upsert(table.snapshot())
    before = table.snapshot()
    broken(table)
    assert table.repair(apply=True).left == ()
    assert hf.open_table(table.path).snapshot().equals(before)


def test_what_an_overwrite_has_replaced_is_known_by_its_operation(table: Table) -> None:
    table.upsert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    for write in (table.insert_overwrite, table.insert_overwrite_table):
        write(rows(("c", 2, "x", 2)))
        before = table.snapshot()
        broken(table, b"{")
        assert table.repair(apply=True).left == ()
        assert hf.open_table(table.path).snapshot().equals(before)


def test_what_a_deletion_of_partitions_has_removed_is_not_known(table: Table) -> None:
    table.upsert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    table.delete_partitions("y")
    broken(table)
    (step,) = table.repair(apply=True).steps
    assert step.state is StepState.FAILED
    assert "which file groups the replace commit has removed" in step.reason


def test_a_commit_before_which_none_can_be_read(table: Table) -> None:
    table.upsert(rows(("a", 1, "x", 1)))
    first = table.timeline.completed_writes[0]
    table.upsert(rows(("a", 2, "x", 2)))
    Path(table.path, instant_path(table.config, first)).write_bytes(b"{")
    broken(table)
    done = table.repair(apply=True)
    assert [step.state for step in done.steps] == [StepState.DONE, StepState.DONE]
    assert hf.open_table(table.path).count() == 1


def test_an_inflight_file_that_cannot_be_read_does_not_matter(table: Table) -> None:
    table.upsert(rows(("a", 1, "x", 1)))
    done = broken(table)
    for inflight in Path(table.path, ".hoodie/timeline").glob(f"{done.time}.*inflight"):
        inflight.write_bytes(b"{")
    age(Path(table.path))
    assert table.repair(apply=True).left == ()
    assert hf.open_table(table.path).history()["operation"].to_pylist() == ["upsert"]


def test_a_log_compaction_is_known_by_its_plan(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options={"hoodie.log.compaction.blocks.threshold": "2"})
    table.bulk_insert(rows(("a", 1, "x", 1)))
    for ts in range(2, 5):
        table.upsert(rows(("a", ts, "x", ts)))
    (commit,) = table.log_compact()
    state = table._context.state()
    done = next(one for one in state.timeline.completed_writes if one.time == commit.instant)
    found = rebuild_commit(state, done)
    assert found is not None
    assert found.operation_type == state.metadata(done).operation_type


def test_a_savepoint_names_the_files_that_it_keeps(table: Table) -> None:
    table.upsert(rows(("a", 1, "x", 1)))
    (saved,) = table.savepoint(table.timeline.completed_writes[0].time)
    table.upsert(rows(("a", 2, "x", 2)))
    state = table._context.state()
    real = state.content(saved)
    assert isinstance(real, SavepointMetadata)
    assert rebuild_savepoint(state, saved).partition_metadata == real.partition_metadata
    Path(table.path, instant_path(table.config, saved)).write_bytes(b"")
    age(Path(table.path))
    assert table.repair(apply=True).left == ()
    again = table._context.state().content(saved)
    assert isinstance(again, SavepointMetadata)
    assert replace(again, savepointed_at=0, comments="") == replace(real, savepointed_at=0, comments="")
    assert saved.action is Action.SAVEPOINT


def test_a_clustering_whose_plan_is_damaged_too_is_not_known(tmp_path: Path) -> None:
    path = unpack("v9-mor-clustered-h120", tmp_path).table
    for file in (path / ".hoodie/timeline").glob("*cluster*"):
        file.write_bytes(b"Obj\x01 no longer")
    for file in (path / ".hoodie/timeline").glob("*.replacecommit"):
        file.write_bytes(b"Obj\x01 no longer")
    age(path)
    (step,) = hf.repair_table(path, apply=True).steps
    assert step.state is StepState.FAILED
