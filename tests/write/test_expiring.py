"""Partitions that expire by time or by creation time, in ``expire_partitions`` and after a write."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from hudiformat import Table, open_table
from hudiformat.timeline.table_config import TimelineZone
from hudiformat.timeline.timeline import Action
from hudiformat.write.expiring import expire_partitions, find_expired_partitions, is_expired
from tests.tables import Clock, content, new_table, rows

TTL = "hoodie.partition.ttl."
DAYS = f"{TTL}strategy.days.retain"
BY_CREATION = {f"{TTL}management.strategy.type": "keep_by_creation_time"}
NOON = "20240229120000000"


@pytest.fixture
def table(tmp_path: Path, clock: Clock) -> Table:
    """Partitions made a day after the other, the first of which is written again at the end."""
    table = new_table(tmp_path / "t", clock=clock, table_type="COPY_ON_WRITE")
    for number, path in enumerate("xyz"):
        table.insert(rows((path, number, path, number)))
        clock.now += timedelta(days=1)
    table.upsert(rows(("x", 9, "x", 9)))
    return table


def opened(table: Table, **options: str) -> Table:
    return open_table(table.path, options={DAYS: "1", **options}, clock=table._context.clock)


def expired(table: Table) -> list[str]:
    return find_expired_partitions(table._context.state())


def test_the_newest_base_instant_counts(table: Table) -> None:
    assert expired(opened(table)) == ["y", "z"]
    assert expired(opened(table, **{DAYS: "2"})) == ["y"]
    assert expired(opened(table, **{DAYS: "3"})) == []


def test_the_creation_counts(table: Table) -> None:
    assert expired(opened(table, **BY_CREATION)) == ["x", "y", "z"]
    assert expired(opened(table, **BY_CREATION, **{DAYS: "3"})) == ["x"]


def test_a_class_counts_before_a_type(table: Table) -> None:
    name = "org.apache.hudi.table.action.ttl.strategy.KeepByTimeStrategy"
    assert expired(opened(table, **{f"{TTL}strategy.class": name}, **BY_CREATION)) == ["y", "z"]


@pytest.mark.parametrize("days", ["0", "-1"])
def test_without_days_nothing_expires(table: Table, days: str) -> None:
    assert expired(opened(table, **{DAYS: days})) == []


def test_only_selected_partitions_expire(table: Table) -> None:
    assert expired(opened(table, **{f"{TTL}strategy.partition.selected": "x, z,../z,nothing"})) == ["z"]


def test_the_oldest_expire_first(table: Table) -> None:
    assert expired(opened(table, **{f"{TTL}strategy.max.delete.partitions": "1"})) == ["y"]


def test_a_table_without_partitions_has_nothing_to_expire(tmp_path: Path, clock: Clock) -> None:
    table = new_table(tmp_path / "bare", clock=clock, partition_by=[])
    table.insert(rows(("a", 1, "x", 1)))
    clock.now += timedelta(days=9)
    assert expired(opened(table)) == []


def test_expired_partitions_are_removed_in_one_commit(table: Table) -> None:
    chosen = opened(table)
    done = expire_partitions(chosen._context.state())
    assert done is not None
    commit, after = done
    assert content(chosen) == [("x", 9, "x", 9)]
    newest = after.timeline.completed_writes[-1]
    assert (newest.time, newest.action) == (commit.instant, Action.REPLACE_COMMIT)
    metadata = after.metadata(newest)
    assert metadata.operation_type == "DELETE_PARTITION"
    assert sorted(metadata.partition_to_replace_file_ids or {}) == ["y", "z"]
    assert expire_partitions(after) is None
    chosen.insert(rows(("y", 5, "y", 5)))
    assert content(chosen) == [("x", 9, "x", 9), ("y", 5, "y", 5)]


def test_partitions_expire_after_a_write(table: Table) -> None:
    opened(table, **{f"{TTL}inline": "true"}).upsert(rows(("x", 10, "x", 10)))
    assert content(table) == [("x", 10, "x", 10)]


def test_a_pending_plan_keeps_its_partition(tmp_path: Path, clock: Clock) -> None:
    table = new_table(tmp_path / "mor", clock=clock, options={"hoodie.index.type": "INMEMORY"})
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    assert table.schedule_compaction()
    table = opened(table, **{f"{TTL}strategy.partition.selected": "x"})
    clock.now += timedelta(days=2)
    assert expired(table) == []
    table.compact()
    clock.now += timedelta(days=2)
    assert expired(table) == ["x"]


@pytest.mark.parametrize(
    ("now", "days", "answer"),
    [
        ("20240301120000000", 1, False),
        ("20240301120000001", 1, True),
        ("20240325120000000", 25, False),  # Hudi's 32 bits make it a negative time, which never passes
        ("20240301000000000", 50, False),  # there it is seven hours
        ("20240419120000001", 50, True),
    ],
)
def test_days_are_whole_days(now: str, days: int, *, answer: bool) -> None:
    assert is_expired(NOON, now, days=days, zone=TimelineZone.UTC) is answer


def test_an_instant_that_is_no_time_never_expires() -> None:
    assert not is_expired("00000000000000010", NOON, days=1, zone=TimelineZone.UTC)
    assert not is_expired(NOON, NOON, days=10**9, zone=TimelineZone.UTC)
