"""Partition TTL: Hudi and hudiformat remove the same partitions from the same table, and read what the other left."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat.timeline.timeline import Action
from hudiformat.write.expiring import expire_partitions, find_expired_partitions
from tests.conformance.hudi import RealHudi
from tests.effort import LONG, only_long
from tests.rows import assert_same_rows

SCHEMA = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("p", pa.string())])
KEY = ("_hoodie_partition_path", "_hoodie_record_key")
AGES = {"old": 10, "updated": 9, "rewritten": 8, "middle": 4, "new": 1}
"""Partitions, and the days since they were made."""
TTL = "hoodie.partition.ttl."
WRITE = {
    "hoodie.table.name": "aged",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.table.ordering.fields": "ts",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.write.table.version": "6",
    "hoodie.write.auto.upgrade": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.metadata.enable": "false",
}


class PastClock:
    """The present, so many days ago."""

    def __init__(self) -> None:
        self.days = 0

    def __call__(self) -> datetime:
        return datetime.now() - timedelta(days=self.days)


def rows(path: str, ts: int) -> pa.Table:
    return pa.Table.from_pylist([{"id": f"{path}{number}", "ts": ts, "p": path} for number in range(3)], SCHEMA)


def aged(path: Path, table_type: str, version: int) -> hf.Table:
    """A table whose partitions have been made, updated and rewritten on different days."""
    clock = PastClock()
    options = {"hoodie.clean.automatic": "false"}
    hf.create_table(
        path, name="aged", schema=SCHEMA, record_key=["id"], ordering=["ts"], partition_by=["p"],
        table_type=table_type, version=version,
    )  # fmt: skip
    table = hf.open_table(path, options=options, clock=clock)
    for name, days in AGES.items():
        clock.days = days
        table.bulk_insert(rows(name, 1))
    clock.days = 0
    table.upsert(rows("updated", 2))  # on merge-on-read in a log file: its slice is as old as before
    table.insert_overwrite(rows("rewritten", 2))
    return table


def run_ttl(hudi: RealHudi, table: hf.Table, policy: str, days: int) -> set[str]:
    """The partitions that Hudi's procedure removes from the table; where there are none, it fails."""
    hudi.sql("drop table if exists aged")
    hudi.sql(f"create table aged using hudi location '{table.path}'")
    answer = hudi.sql(f"call run_ttl(table => 'aged', ttl_policy => '{policy}', retain_days => {days})")
    hudi.sql("drop table aged")
    return {value for row in answer.to_pylist() for value in row.values()}


def removed(table: hf.Table) -> tuple[str, str, set[str]]:
    """The action and operation of the newest commit, and the partitions that it has replaced groups of."""
    state = table._context.state()
    newest = state.timeline.completed_writes[-1]
    metadata = state.metadata(newest)
    return newest.action.value, metadata.operation_type or "", set(metadata.partition_to_replace_file_ids or {})


@pytest.mark.hudi
@pytest.mark.parametrize(
    ("table_type", "policy"),
    [
        ("MERGE_ON_READ", "KEEP_BY_TIME"),
        *([("COPY_ON_WRITE", "KEEP_BY_TIME"), ("MERGE_ON_READ", "KEEP_BY_CREATION_TIME")] if LONG else []),
    ],
)
def test_both_remove_the_same(hudi: RealHudi, tmp_path: Path, table_type: str, policy: str) -> None:
    theirs = aged(tmp_path / "theirs", table_type, 9)
    ours = copied(theirs, {f"{TTL}strategy.days.retain": "5", f"{TTL}management.strategy.type": policy})
    assert set(find_expired_partitions(ours._context.state())) == expected_of(policy, table_type)
    assert expire_partitions(ours._context.state()) is not None
    answer = run_ttl(hudi, theirs, policy, 5)
    assert answer == expected_of(policy, table_type)
    assert removed(ours) == removed(theirs) == (Action.REPLACE_COMMIT.value, "DELETE_PARTITION", answer)
    assert_same(hudi, ours, theirs)


@pytest.mark.hudi
def test_both_remove_the_same_after_a_write(hudi: RealHudi, tmp_path: Path) -> None:
    """In table version 6, where Hudi's procedure fails."""
    theirs = aged(tmp_path / "theirs", "MERGE_ON_READ", 6)
    ttl = {f"{TTL}inline": "true", f"{TTL}strategy.days.retain": "5"}
    ours = copied(theirs, {**ttl, "hoodie.clean.automatic": "false"})
    ours.upsert(rows("new", 3))
    hudi.write(rows("new", 3), theirs.path, {**WRITE, **ttl})
    expected = expected_of("KEEP_BY_TIME", "MERGE_ON_READ")
    assert removed(ours) == removed(theirs) == (Action.REPLACE_COMMIT.value, "DELETE_PARTITION", expected)
    assert_same(hudi, ours, theirs)


@only_long
@pytest.mark.hudi
def test_fifty_days_are_seven_hours_to_hudi(hudi: RealHudi, tmp_path: Path) -> None:
    table = aged(tmp_path / "t", "COPY_ON_WRITE", 9)
    options = {f"{TTL}strategy.days.retain": "50"}
    assert find_expired_partitions(hf.open_table(table.path, options=options)._context.state()) == []
    assert run_ttl(hudi, table, "KEEP_BY_TIME", 50) == {"old", "middle", "new"}


def copied(table: hf.Table, options: Mapping[str, str]) -> hf.Table:
    """The same table once more, opened with *options*."""
    path = Path(table.path).with_name("ours")
    shutil.copytree(table.path, path)
    return hf.open_table(path, options=options)


def assert_same(hudi: RealHudi, ours: hf.Table, theirs: hf.Table) -> None:
    found = [table.snapshot(columns=["id", "ts", "p"]) for table in (ours, theirs)]
    assert_same_rows(*found, key=("id",))
    assert_same_rows(hudi.read(ours.path), ours.snapshot(), key=KEY)


def expected_of(policy: str, table_type: str) -> set[str]:
    if policy == "KEEP_BY_CREATION_TIME":
        return {"old", "updated", "rewritten"}
    return {"old", "updated"} if table_type == "MERGE_ON_READ" else {"old"}
