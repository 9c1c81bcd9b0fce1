"""Instants that are damaged, or that nobody will complete."""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import Any

import fastavro
import pytest

import hudiformat as hf
from hudiformat import RepairKind, StepState, Table
from hudiformat.naming.file_names import WriteToken
from hudiformat.table.options.values import Operation
from hudiformat.timeline.cleans import CleanMetadata
from hudiformat.timeline.contents import read_content
from hudiformat.timeline.timeline import Action, instant_path
from hudiformat.write.commit.transaction import begin_write
from hudiformat.write.write import WriteTask
from tests.check.repair.breaking import age, own_rows
from tests.effort import sample
from tests.tables import content, new_table, rows, tree

LATE = "99990101000000000"


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return filled(tmp_path / "t")


def filled(path: Path, **changes: Any) -> Table:
    table = new_table(path, options={"hoodie.index.type": "INMEMORY"}, **changes)
    table.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    return table


def timeline(table: Table) -> Path:
    return Path(table.path, table.config.timeline_folder)


def damage(table: Table, action: Action, content: bytes = b"Obj\x01 no longer") -> None:
    (done,) = (one for one in table.timeline.completed if one.action is action)
    Path(table.path, instant_path(table.config, done)).write_bytes(content)


def repaired(table: Table) -> list[tuple[RepairKind, StepState]]:
    """The steps of a repair after which nothing is wrong, and every row is as it was."""
    age(Path(table.path))
    steps = table.repair(apply=True).steps
    assert hf.open_table(table.path).verify() == []
    return [(step.kind, step.state) for step in steps]


def begin(table: Table, action: Action, content: bytes | None = None, *, inflight: bool = False) -> None:
    """A pending instant with this plan."""
    (timeline(table) / f"{LATE}.{action.value}.requested").write_bytes(content or b"")
    if inflight:
        (timeline(table) / f"{LATE}.{action.value}.inflight").touch()


def test_a_clean_and_a_rollback_that_are_damaged_are_taken_off(table: Table) -> None:
    table.rollback(table.upsert(rows(("a", 3, "x", 3))).instant)
    table.compact()
    table.upsert(rows(("a", 4, "x", 4)))
    table.compact()
    options = {"hoodie.clean.commits.retained": "1", "hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS"}
    options["hoodie.clean.fileversions.retained"] = "1"
    hf.open_table(table.path, options=options).clean()
    before = own_rows(table)
    for action in (Action.CLEAN, Action.ROLLBACK):
        damage(table, action)
        assert repaired(table) == [(RepairKind.COMMIT, StepState.DONE)]
        assert not list(timeline(table).glob(f"*.{action.value}*"))
    assert own_rows(table) == before


@pytest.mark.parametrize("version", [6, 9])
def test_a_write_that_died_is_rolled_back_and_its_files_are_kept(version: int, tmp_path: Path) -> None:
    table = filled(tmp_path / "t", version=version)
    before = content(table)
    write = begin_write(table._context, Operation.UPSERT)
    with WriteTask(write.plan, WriteToken(0, 0, 0)) as task:
        task.write_batch(rows(("a", 3, "x", 3), ("n", 1, "z", 1)).to_batches()[0])
        stats = task.finish()
    assert repaired(table) == [(RepairKind.PENDING, StepState.DONE)]
    assert content(table) == before
    (folder,) = Path(table.path, ".hoodie/.repair").iterdir()
    kept = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    new = {stat.path for stat in stats if stat.partition_path == "z"}
    assert new <= kept
    assert any(name.endswith(".requested") for name in kept)


def test_a_write_whose_inflight_file_is_damaged_is_rolled_back(table: Table) -> None:
    begin(table, Action.DELTA_COMMIT)
    (timeline(table) / f"{LATE}.deltacommit.inflight").write_bytes(b"Obj\x01 no longer")
    assert repaired(table) == [(RepairKind.PENDING, StepState.DONE)]


@pytest.mark.parametrize("inflight", [False, True])
@pytest.mark.parametrize(
    "action",
    sample(
        [
            Action.COMPACTION,
            Action.LOG_COMPACTION,
            Action.CLUSTERING,
            Action.CLEAN,
            Action.ROLLBACK,
            Action.RESTORE,
            Action.INDEXING,
            Action.REPLACE_COMMIT,
        ],
        of=8,
    ),
)
@pytest.mark.parametrize("plan", [b"", b"Obj\x01 no longer"])
def test_plans_that_are_empty_or_damaged_are_taken_off(
    table: Table, action: Action, plan: bytes, *, inflight: bool
) -> None:
    before = content(table)
    begin(table, action, plan, inflight=inflight)
    age(Path(table.path))
    done = hf.repair_table(table.path, apply=True)
    kind = RepairKind.PENDING if action is Action.REPLACE_COMMIT and not plan else RepairKind.PLAN
    assert [(step.kind, step.state) for step in done.steps] == [(kind, StepState.DONE)]
    opened = hf.open_table(table.path)
    assert opened.verify() == []
    assert content(opened) == before


def test_savepoints_that_were_begun_are_taken_off(table: Table) -> None:
    time = table.timeline.completed_writes[0].time
    (timeline(table) / f"{time}.savepoint.inflight").touch()
    assert repaired(table) == [(RepairKind.PENDING, StepState.DONE)]


def test_a_service_that_is_planned_is_run(table: Table) -> None:
    before = content(table)
    table.schedule_compaction()
    assert repaired(table) == [(RepairKind.PENDING, StepState.DONE)]
    table.upsert(rows(("a", 3, "x", 3)))
    table.upsert(rows(("a", 2, "x", 2)))
    many = hf.open_table(table.path, options={"hoodie.log.compaction.blocks.threshold": "1"})
    (commit,) = many.log_compact()
    (done,) = timeline(table).glob(f"{commit.instant}_*.deltacommit")
    done.unlink()
    assert repaired(table) == [(RepairKind.PENDING, StepState.DONE)]
    wide = hf.open_table(table.path, options={"hoodie.clustering.plan.strategy.small.file.limit": "999999999"})
    wide.schedule_clustering()
    assert repaired(table) == [(RepairKind.PENDING, StepState.DONE)]
    assert len(content(table)) == len(before)


def test_a_compaction_of_damaged_files_is_not_run(table: Table) -> None:
    table.compact()
    table.upsert(rows(("a", 3, "x", 3)))
    before = content(table)
    table.schedule_compaction()
    (newest,) = (one.base_file for one in table.file_slices("x"))
    assert newest is not None
    base = Path(table.path, "x", str(newest.name))
    base.write_bytes(b"PAR1 no longer")
    kinds = repaired(table)
    assert kinds == [(RepairKind.PENDING, StepState.DONE), (RepairKind.FILES, StepState.DONE)]
    assert content(table) == before


def test_rollbacks_and_restores_that_were_stopped_are_finished(table: Table) -> None:
    before = content(table)
    commit = table.upsert(rows(("a", 3, "x", 3)))
    whole = Path(f"{table.path}-whole")
    shutil.copytree(table.path, whole)
    rollback = table.rollback(commit)
    for name in (f"{rollback.time}.rollback.requested", f"{rollback.time}.rollback.inflight"):
        shutil.copy(timeline(table) / name, whole / ".hoodie/timeline" / name)
    stopped = hf.open_table(whole)
    assert repaired(stopped) == [(RepairKind.PENDING, StepState.DONE)]
    assert content(stopped) == before
    (folder,) = Path(whole, ".hoodie/.repair").iterdir()
    assert list(folder.rglob(f"*{commit.instant}*.log.*"))


def test_a_restore_that_was_stopped_is_finished(table: Table) -> None:
    first = table.timeline.completed_writes[0]
    whole = Path(f"{table.path}-whole")
    shutil.copytree(table.path, whole)
    restore = table.restore(first.time)
    for state in ("requested", "inflight"):
        name = f"{restore.time}.restore.{state}"
        shutil.copy(timeline(table) / name, whole / ".hoodie/timeline" / name)
    stopped = hf.open_table(whole)
    assert repaired(stopped) == [(RepairKind.PENDING, StepState.DONE)]
    assert content(stopped) == content(table)


def test_a_commit_that_somebody_may_be_writing_is_left_alone(table: Table) -> None:
    damage_newest = table.timeline.completed_writes[-1]
    Path(table.path, instant_path(table.config, damage_newest)).write_bytes(b"")
    (step,) = table.repair(apply=True).steps
    assert (step.kind, step.state) == (RepairKind.COMMIT, StepState.REFUSED)


def old_clean(**changed: object) -> bytes:
    """A completed clean as Hudi 0.5 wrote it, with fewer fields."""
    schema = {
        "type": "record",
        "name": "HoodieCleanMetadata",
        "namespace": "org.apache.hudi.avro.model",
        "fields": [
            {"name": "startCleanTime", "type": "string"},
            {"name": "timeTakenInMillis", "type": "long"},
            {"name": "totalFilesDeleted", "type": "int"},
            {"name": "earliestCommitToRetain", "type": "string"},
            {"name": "partitionMetadata", "type": {"type": "map", "values": "string"}},
        ],
    }
    schema["fields"] = [one for one in schema["fields"] if one["name"] not in changed]  # type: ignore[index]  # a schema as JSON
    record = {"startCleanTime": "20200101000000", "timeTakenInMillis": 1, "totalFilesDeleted": 0}
    file = io.BytesIO()
    fastavro.writer(file, schema, [{**record, "earliestCommitToRetain": "20200101000000", "partitionMetadata": {}}])
    return file.getvalue()


def test_a_clean_of_an_old_release_is_no_damage(table: Table) -> None:
    (timeline(table) / "20240101000000000_20240101000000001.clean").write_bytes(old_clean())
    assert table.verify() == []
    (clean,) = [one for one in table.timeline.completed if one.action is Action.CLEAN]
    found = read_content(table._context.storage, table.config, clean)
    assert isinstance(found, CleanMetadata)
    assert (found.version, found.last_completed_commit_timestamp, found.extra_metadata) == (1, "", None)


@pytest.mark.parametrize("content", [old_clean(partitionMetadata=1), b'{"files": []}'], ids=["Avro", "JSON"])
def test_what_is_whole_and_not_understood_stays_where_it_is(table: Table, content: bytes) -> None:
    path = timeline(table) / "20240101000000000_20240101000000001.clean"
    path.write_bytes(content)
    for name in ("requested", "inflight"):
        (timeline(table) / f"20240101000000002.clean.{name}").write_bytes(content)
    before = tree(Path(table.path))
    left = table.repair(apply=True, dead_after=0).left
    assert {one.state for one in left} == {StepState.REFUSED}
    assert all("the file is whole, and has a content that hudiformat does not know" in one.reason for one in left)
    assert tree(Path(table.path)) == before


def test_what_is_cut_is_taken_off(table: Table) -> None:
    (timeline(table) / "20240101000000000_20240101000000001.clean").write_bytes(old_clean()[:-20])
    assert repaired(table) == [(RepairKind.COMMIT, StepState.DONE)]
