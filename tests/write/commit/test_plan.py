"""What a write is going to do, as its tasks are told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hudiformat import open_table
from hudiformat.sizing import Verdict
from hudiformat.table.options.values import Operation
from hudiformat.table.support import WRITABLE_VERSIONS
from hudiformat.timeline.timeline import Action, Instant, State
from hudiformat.write.commit.plan import action_of, sizing_profile, write_plan
from tests.tables import new_table

SEEING = {"hoodie.index.type": "INMEMORY"}
INSTANT = "20990101000000000"


def test_groups_in_a_pending_compaction_are_not_filled(own_golden: Callable[[str], Path]) -> None:
    path = own_golden("v9-mor-compaction-pending-h120")
    table = open_table(path, options={**SEEING, "hoodie.metadata.enable": "false"})
    waiting = sizing_profile(table._context.state(), Operation.UPSERT).in_compaction
    assert waiting
    for partition, file_id in waiting:
        (plan,) = table.plan_inserts({partition: 5})
        assert {group.file_id: group.verdict for group in plan.groups}[file_id] is Verdict.IN_COMPACTION
        assert file_id not in {bucket.file_id for bucket in plan.buckets}


@pytest.mark.parametrize(
    ("table_type", "operation", "action"),
    [
        ("MERGE_ON_READ", Operation.UPSERT, Action.DELTA_COMMIT),
        ("COPY_ON_WRITE", Operation.UPSERT, Action.COMMIT),
        ("MERGE_ON_READ", Operation.INSERT_OVERWRITE, Action.REPLACE_COMMIT),
        ("COPY_ON_WRITE", Operation.DELETE_PARTITION, Action.REPLACE_COMMIT),
    ],
)
def test_an_operation_is_on_the_timeline_under_its_action(
    tmp_path: Path, table_type: str, operation: Operation, action: Action
) -> None:
    table = new_table(tmp_path / "t", table_type=table_type)
    assert action_of(table.config, operation) is action
    plan = write_plan(table._context.state(), operation, INSTANT)
    assert plan.inflight == Instant(INSTANT, action, State.INFLIGHT)


@pytest.mark.parametrize(
    ("options", "operations"),
    [
        ({}, {Operation.UPSERT, Operation.DELETE}),
        ({"hoodie.combine.before.upsert": "false"}, {Operation.DELETE}),
        (
            {"hoodie.combine.before.insert": "true"},
            set(Operation),
        ),
    ],
)
def test_which_operations_keep_one_row_per_key(
    tmp_path: Path, options: dict[str, str], operations: set[Operation]
) -> None:
    state = new_table(tmp_path / "t", options=options)._context.state()
    with_rows = {one for one in Operation if one is not Operation.ALTER_SCHEMA}
    assert {one for one in with_rows if write_plan(state, one, INSTANT).combines} == operations & with_rows


def test_a_delete_has_no_ordering_fields_and_neither_has_a_table_by_commit_time(tmp_path: Path) -> None:
    by_event, by_commit = (new_table(tmp_path / name, ordering=fields) for name, fields in (("e", ["ts"]), ("c", [])))
    assert write_plan(by_event._context.state(), Operation.UPSERT, INSTANT).ordering_fields == ("ts",)
    assert write_plan(by_event._context.state(), Operation.DELETE, INSTANT).ordering_fields == ()
    assert write_plan(by_commit._context.state(), Operation.UPSERT, INSTANT).ordering_fields == ()


def test_keys_are_looked_for_everywhere_by_a_global_index_alone(tmp_path: Path) -> None:
    found = {}
    for index in ("SIMPLE", "GLOBAL_SIMPLE"):
        state = new_table(tmp_path / index, options={"hoodie.index.type": index})._context.state()
        found[index] = {one for one in Operation if write_plan(state, one, INSTANT).looks_everywhere}
    assert found == {"SIMPLE": set(), "GLOBAL_SIMPLE": {Operation.UPSERT, Operation.DELETE}}
    options = {"hoodie.index.type": "GLOBAL_SIMPLE", "hoodie.datasource.insert.dup.policy": "drop"}
    dropping = new_table(tmp_path / "d", options=options)._context.state()
    assert write_plan(dropping, Operation.INSERT, INSTANT).looks_everywhere


def test_blocks_have_positions_from_table_version_8_on_unless_asked_otherwise(tmp_path: Path) -> None:
    off = {"hoodie.write.record.positions": "false"}
    made = {
        version: new_table(tmp_path / str(version), version=version)._context.state() for version in WRITABLE_VERSIONS
    }
    positions = {
        version: write_plan(state, Operation.UPSERT, INSTANT).writes_positions for version, state in made.items()
    }
    assert positions == {6: False, 8: True, 9: True}
    assert not write_plan(
        new_table(tmp_path / "off", options=off)._context.state(), Operation.UPSERT, INSTANT
    ).writes_positions
