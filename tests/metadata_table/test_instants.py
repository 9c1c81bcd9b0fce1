"""Which instants of the metadata table are merged into the listing."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat.errors import CorruptTableError
from tests.metadata_table.tables import (
    ALL,
    GONE,
    T1,
    T2,
    T3,
    T5,
    MadeTable,
    data_block,
    restore_metadata,
    rollback_metadata,
)


def test_instants_pending_on_the_table_timeline_are_not_merged(table: MadeTable) -> None:
    table.log(T2, data_block(T2, {"p": {"b": 2}}))
    table.complete(T2, own=True)
    table.instant(table.path, f"{T2}.deltacommit.inflight")
    assert table.listed() == {"p": {"a": 1}}
    table.complete(T2)
    assert table.listed() == {"p": {"a": 1, "b": 2}}


def test_instants_pending_on_the_metadata_table_timeline_are_not_merged(table: MadeTable) -> None:
    table.log(T2, data_block(T2, {"p": {"b": 2}}))
    table.instant(table.own, f"{T2}.deltacommit.inflight")
    assert table.listed() == {"p": {"a": 1}}


def test_a_write_and_its_rollback_are_both_merged(table: MadeTable) -> None:
    table.log(T2, data_block(T2, {"p": {"b": 2}}))
    table.complete(T2, own=True)  # completed here, and then taken off the table's timeline
    assert table.listed() == {"p": {"a": 1, "b": 2}}
    table.log(T3, data_block(T3, {"p": {"b": GONE}}))
    table.complete(T3, own=True)
    table.complete(T3, "rollback", data=rollback_metadata(T2))
    assert table.listed() == {"p": {"a": 1}}


@pytest.mark.parametrize(
    ("action", "data"),
    [("rollback", rollback_metadata(T2)), ("restore", restore_metadata(T1, T2))],
    ids=["rollback", "restore"],
)
def test_an_archived_write_is_merged_if_it_was_rolled_back(tmp_path: Path, action: str, data: bytes) -> None:
    made = MadeTable(tmp_path)
    made.write(made.files / f"files-0000-0_0-0-0_{T1}.hfile").write_bytes(
        MadeTable(tmp_path / "other").base(T1, {ALL: {"p": 0}, "p": {"a": 1}}).read_bytes()
    )
    made.log(T2, data_block(T2, {"p": {"b": 2}}))
    made.commit(T3, {"p": {"c": 3}})
    assert made.listed() == {"p": {"a": 1, "c": 3}}
    made.complete(T5, action, data=data)
    assert made.listed() == {"p": {"a": 1, "b": 2, "c": 3}}


def test_rollbacks_before_the_last_compaction_are_not_read(table: MadeTable) -> None:
    table.complete(T2, "rollback", data=b"no Avro")
    table.base(T3, {ALL: {"p": 0}, "p": {"b": 2}})
    assert table.listed() == {"p": {"b": 2}}


def test_the_metadata_of_a_rollback_that_is_damaged_is_named(table: MadeTable) -> None:
    table.complete(T2, "rollback", data=restore_metadata(T1))
    with pytest.raises(CorruptTableError, match="expected the metadata of .* rollback"):
        table.listed()
