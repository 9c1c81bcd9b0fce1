"""Broken tables of Hudi's are repaired: the plan, its doing, and being killed in the middle."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import hudiformat as hf
from hudiformat import Repair, RepairKind, StepState
from hudiformat.check.repair.planning import DEAD_AFTER
from hudiformat.storage.local import LocalStorage
from hudiformat.storage.protocol import FileInfo
from hudiformat.table.options.locks import LockProvider
from tests.check.repair.breaking import (
    BREAKS,
    V9,
    Break,
    age,
    cut_archive,
    cut_log,
    cut_manifest,
    cut_plan,
    damaged_base,
    empty_commit,
    half_properties,
    leftovers,
    own_rows,
    unlisted,
)
from tests.check.repair.killing import Killed, KilledAt
from tests.effort import every, sample
from tests.faults import FaultyStorage
from tests.memory_files import memory_files
from tests.tables import tree, unpack

pytestmark = pytest.mark.unmeasured

LOCKED = {
    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.clean.failed.writes.policy": "LAZY",
    "hoodie.write.lock.provider": LockProvider.FILE_SYSTEM.value,
}
names = pytest.mark.parametrize("broken", sample(BREAKS, of=6), ids=lambda one: one.name)


def repaired(path: Path, broken: Break) -> Repair:
    return hf.repair_table(path, apply=True, properties=broken.given)


@pytest.mark.slow
@names
def test_a_plan_changes_nothing_and_its_doing_leaves_nothing_to_find(broken: Break, tmp_path: Path) -> None:
    before = own_rows(hf.open_table(unpack(broken.golden, tmp_path / "sound").table))
    path = broken.make(tmp_path)
    files = tree(path)
    plan = hf.repair_table(path, properties=broken.given)
    assert broken.kind in {step.kind for step in plan.steps}
    assert {step.state for step in plan.steps} == {StepState.PLANNED}
    assert (plan.applied, plan.taken_away, tree(path)) == (False, None, files)
    done = repaired(path, broken)
    assert {step.state for step in done.steps} == {StepState.DONE}
    assert [(step.kind, step.path, step.what) for step in done.steps][: len(plan.steps)] == [
        (step.kind, step.path, step.what) for step in plan.steps
    ]
    table = hf.open_table(path)
    assert table.verify() == []
    assert (own_rows(table) == before) is broken.same
    assert hf.repair_table(path).steps == ()


@names
def test_verify_finds_what_is_repaired(broken: Break, tmp_path: Path) -> None:
    path = broken.make(tmp_path)
    try:
        found = hf.open_table(path).verify()
    except hf.CorruptTableError:  # the properties are lost
        assert broken.kind is RepairKind.PROPERTIES
    else:
        assert found != []


KILLED = [
    one
    for one in BREAKS
    if one.by
    in (cut_archive, cut_log, cut_manifest, cut_plan, damaged_base, empty_commit, half_properties, leftovers, unlisted)
    or one.golden == "v9-mor-inflight-h120"
]


@pytest.mark.slow
@pytest.mark.parametrize("broken", sample(KILLED, of=6), ids=lambda one: one.name)
def test_a_repair_that_was_killed_is_done_by_the_next_one(broken: Break, tmp_path: Path) -> None:
    made = broken.make(tmp_path)
    undisturbed = tmp_path / "undisturbed"
    shutil.copytree(made, undisturbed)
    age(undisturbed)
    repaired(undisturbed, broken)
    expected = own_rows(hf.open_table(undisturbed))
    at, step = 0, every(17)
    while True:
        path = tmp_path / f"killed-{at}"
        shutil.copytree(made, path)
        age(path)
        try:
            hf.repair_table(FaultyStorage(LocalStorage(path), KilledAt(at)), apply=True)
        except Killed:
            age(path)  # the heartbeat of a compaction too
            hf.repair_table(path, apply=True, dead_after=0)
            table = hf.open_table(path)
            assert table.verify() == []
            assert own_rows(table) == expected
            shutil.rmtree(path)
            at += step
        else:
            return


@pytest.mark.parametrize("broken", sample(KILLED, of=6), ids=lambda one: one.name)
def test_tables_with_a_lock_are_repaired_under_it(broken: Break, tmp_path: Path) -> None:
    path = broken.make(tmp_path)
    done = hf.repair_table(path, apply=True, options=LOCKED, dead_after=0)
    assert done.left == ()
    assert hf.open_table(path, options=LOCKED).verify() == []
    assert not (path / ".hoodie/lock").exists()


def test_a_lock_that_another_writer_keeps_makes_steps_fail(tmp_path: Path) -> None:
    path = unpack(V9, tmp_path).table
    cut_log(path)
    age(path)
    quick = {"hoodie.write.lock.client.num_retries": "1", "hoodie.write.lock.client.wait_time_ms_between_retry": "1"}
    table = hf.open_table(path, options={**LOCKED, **quick})
    (path / ".hoodie/lock").touch()
    before = tree(path)
    (step,) = table.repair(apply=True).steps
    assert (step.state, "the lock was not free" in step.reason) == (StepState.FAILED, True)
    assert tree(path) == before


@pytest.mark.slow
@pytest.mark.parametrize("broken", sample(KILLED, of=6), ids=lambda one: one.name)
def test_tables_in_object_stores_are_repaired(broken: Break, tmp_path: Path) -> None:
    made = broken.make(tmp_path)
    storage = memory_files()
    for path, data in tree(made).items():
        if not path.endswith(("/", ".crc")) and "/.heartbeat/" not in path:  # a new heartbeat is one of the living
            storage.create(path, data)
    repaired(made, broken)
    done = hf.repair_table(storage, apply=True, dead_after=0)
    assert done.left == ()
    table = hf.open_table(storage)
    assert table.verify() == []
    assert own_rows(table) == own_rows(hf.open_table(made))


def test_a_writer_that_may_be_alive_is_left_alone(tmp_path: Path) -> None:
    path = unpack("v9-mor-inflight-h120", tmp_path).table
    (step,) = hf.repair_table(path, apply=True).steps
    assert step.state is StepState.REFUSED
    assert f"counts as dead after {DEAD_AFTER:g}" in step.reason
    assert hf.open_table(path).timeline.pending != ()
    (step,) = hf.repair_table(path, apply=True, dead_after=0).steps
    assert step.state is StepState.DONE


def test_an_open_table_is_repaired(tmp_path: Path) -> None:
    path = unpack(V9, tmp_path).table
    table = hf.open_table(path)
    cut_log(path)
    age(path)
    assert [step.kind for step in table.repair().steps] == [RepairKind.LOG]
    done = table.repair(apply=True)
    assert done.left == ()
    assert done.taken_away is not None
    assert (path / done.taken_away / "taken.json").is_file()
    assert table.verify() == []


def test_steps_that_change_files_wait_for_the_metadata_table(tmp_path: Path) -> None:
    path = unpack("v9-mor-metadata-table-h120", tmp_path).table
    cut_log(path)
    table = hf.open_table(path)
    age(path)
    pending = path / ".hoodie/timeline/99991231000000000.deltacommit.requested"
    pending.touch()
    steps = hf.repair_table(path, apply=True).steps
    assert {step.kind: step.state for step in steps} == {
        RepairKind.METADATA: StepState.REFUSED,
        RepairKind.LOG: StepState.REFUSED,
        RepairKind.PENDING: StepState.REFUSED,
    }
    assert len({re.sub(r"\d+ seconds ago", "now", str(step.reason)) for step in steps}) == 1
    assert table.config.metadata_partitions != ()


def test_a_step_that_fails_is_told(tmp_path: Path) -> None:
    broken = next(one for one in BREAKS if one.kind is RepairKind.PARTITION)
    path = broken.make(tmp_path)

    class ReadOnly(LocalStorage):
        def create(self, path: str, data: bytes, *, overwrite: bool = False, sync: bool = True) -> None:
            if path.endswith("_metadata"):
                raise hf.StorageError("no space left", path=path)
            super().create(path, data, overwrite=overwrite, sync=sync)

    (step,) = hf.repair_table(ReadOnly(path), apply=True).steps
    assert (step.state, step.reason) == (StepState.FAILED, "no space left")


@pytest.mark.slow
def test_a_look_that_others_have_overtaken_is_repeated(tmp_path: Path) -> None:
    path = unpack(V9, tmp_path).table

    class Busy(LocalStorage):
        left = 3

        def list(self, path: str) -> list[FileInfo]:
            if path == "east" and self.left:
                self.left -= 1
                self.create(f".hoodie/timeline/2099010100000000{self.left}.clean.requested", b"")
            return super().list(path)

    storage = Busy(path)
    assert {step.kind for step in hf.repair_table(storage).steps} == {RepairKind.PLAN}
    assert storage.left == 0
    storage.left = 99
    with pytest.raises(hf.TableError, match="in each of 5 looks at the table, others have changed it"):
        hf.repair_table(storage)


def test_there_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(hf.NotATableError):
        hf.repair_table(tmp_path)
