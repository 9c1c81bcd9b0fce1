"""Whether each service is due, and why."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest

from hudiformat import Table
from hudiformat.services.deciding import Decision, Service, decide
from hudiformat.services.execution import claim_service
from tests.check.verify.support import KEEP_FEW, OPTIMISTIC, grown, opened
from tests.model.kinds import COW
from tests.tables import Clock, new_table, rows


def decided(table: Table, service: Service) -> Decision:
    return decide(table._context.state_with_schema(), service)


def test_a_new_table_has_nothing_due(table: Table) -> None:
    assert [service for service in Service if decided(table, service).is_due] == []


def test_delta_commits_are_counted(tmp_path: Path) -> None:
    table = grown(tmp_path / "t", commits=4)
    few = decided(table, Service.COMPACTION)
    assert (few.is_due, few.why[:57]) == (False, "4 delta commits since the newest compaction, fewer than 5")
    table.upsert(rows(("a", 9, "x", 9)))
    assert decided(table, Service.COMPACTION).is_due
    table.compact()
    assert decided(table, Service.COMPACTION).why.startswith("0 delta commits")


def test_a_copy_on_write_table_has_no_log_files(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", table_type=COW)
    for service in (Service.COMPACTION, Service.LOG_COMPACTION):
        assert decided(table, service) == Decision(is_due=False, why="a copy-on-write table has no log files")


def test_what_others_have_planned_is_due(tmp_path: Path) -> None:
    table = grown(tmp_path / "t", commits=2)
    (planned,) = table.schedule_compaction()
    assert decided(table, Service.COMPACTION) == Decision(is_due=True, why=f"planned and not run: {planned}")


def test_what_another_process_runs_is_left_to_it(tmp_path: Path) -> None:
    table = opened(grown(tmp_path / "t", commits=2), **OPTIMISTIC)
    (planned,) = table.schedule_compaction()
    with ExitStack() as undo:
        claim_service(table._context.state(), planned, undo)
        found = decided(table, Service.COMPACTION)
        assert not found.is_due
        assert found.why.startswith(f"another process is running {planned.time}")


def test_log_compaction_is_turned_on(tmp_path: Path) -> None:
    table = grown(tmp_path / "t", commits=3)
    assert decided(table, Service.LOG_COMPACTION).why == "hoodie.log.compaction.enable is false"
    on = {"hoodie.log.compaction.enable": "true", "hoodie.log.compaction.blocks.threshold": "3"}
    table = opened(table, **on)
    assert decided(table, Service.LOG_COMPACTION).is_due
    assert table.log_compact()
    assert decided(table, Service.LOG_COMPACTION).why.startswith("0 delta commits since the newest compaction or log")
    table.upsert(rows(("a", 9, "x", 9)))
    assert decided(table, Service.LOG_COMPACTION).why.startswith("1 delta commits")


@pytest.mark.parametrize(
    "on",
    [
        {"hoodie.clustering.async.enabled": "true", "hoodie.clustering.async.max.commits": "3"},
        {"hoodie.clustering.schedule.inline": "true", "hoodie.clustering.async.max.commits": "3"},
        {"hoodie.clustering.inline": "true", "hoodie.clustering.inline.max.commits": "3"},
    ],
)
def test_clustering_is_turned_on(tmp_path: Path, on: dict[str, str]) -> None:
    table = new_table(tmp_path / "t", options={"hoodie.parquet.small.file.limit": "0"})
    for number in range(3):
        table.bulk_insert(rows((f"k{number}", 1, "x", 1)))
        assert not decided(opened(table), Service.CLUSTERING).is_due
        assert decided(opened(table, **on), Service.CLUSTERING).is_due is (number == 2)
    assert decided(opened(table, **on), Service.CLUSTERING).why.endswith("; 3 file groups would become about 1")
    table.cluster()
    for number in range(3):
        table.upsert(rows((f"k{number}", 2, "x", 2)))
    on = {**on, "hoodie.clustering.plan.strategy.small.file.limit": "1"}
    found = decided(opened(table, **on), Service.CLUSTERING)
    assert found.why.endswith("but no file groups are worth it")


def test_buckets_are_not_clustered(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options={"hoodie.index.type": "BUCKET"})
    assert decided(table, Service.CLUSTERING).why.startswith("the hash of a record key names its file group")


def test_partitions_that_expire_are_named(tmp_path: Path, clock: Clock) -> None:
    table = new_table(tmp_path / "t", clock=clock)
    table.insert(rows(*((str(number), 1, f"p{number}", 1) for number in range(7))))
    days = {"hoodie.partition.ttl.strategy.days.retain": "1"}
    assert decided(table, Service.EXPIRY).why == "hoodie.partition.ttl.strategy.days.retain is not set"
    assert decided(opened(table, **days), Service.EXPIRY).why == "no partition is older than 1 day (KEEP_BY_TIME)"
    clock.now += timedelta(days=1)
    found = decided(opened(table, **days), Service.EXPIRY)
    assert found.why == "7 partitions older than 1 day (KEEP_BY_TIME): p0, p1, p2, p3, p4 and 2 more"
    assert found.partitions == tuple(f"p{number}" for number in range(7))


def test_files_that_are_not_kept_are_counted(tmp_path: Path) -> None:
    table = grown(tmp_path / "t", commits=3)
    table.compact()
    table.upsert(rows(("a", 9, "x", 9)))
    assert decided(table, Service.CLEANING).why == "hoodie.clean.automatic is false"
    on = {"hoodie.clean.automatic": "true"}
    assert decided(opened(table, **on), Service.CLEANING).why == "KEEP_LATEST_COMMITS keeps every file"
    found = decided(opened(table, **KEEP_FEW), Service.CLEANING)
    assert found == Decision(is_due=True, why="KEEP_LATEST_COMMITS does not keep 6 files in 2 partitions")


def test_commits_beyond_the_limit_are_archived(tmp_path: Path) -> None:
    table = opened(grown(tmp_path / "t", commits=3), **KEEP_FEW, **{"hoodie.compact.inline.max.delta.commits": "1"})
    quiet = opened(table, **{"hoodie.archive.automatic": "false"})
    assert decided(quiet, Service.ARCHIVING).why == "hoodie.archive.automatic is false"
    assert decided(table, Service.ARCHIVING).why.startswith("3 commits on the active timeline, up to 3 stay")
    quiet.upsert(rows(("a", 9, "x", 9)))
    found = decided(table, Service.ARCHIVING)
    assert found.is_due
    assert found.why.endswith("; 2 instants can go")
    quiet.savepoint(quiet.timeline.completed_writes[0].time)
    assert decided(table, Service.ARCHIVING).why.endswith("but cleans, savepoints or pending instants need them")


def test_a_metadata_table_is_built_and_served(tmp_path: Path) -> None:
    table = grown(tmp_path / "t", commits=1)
    assert decided(table, Service.METADATA).why == "the table has no metadata table"
    few = "hoodie.metadata.compact.max.delta.commits"
    on = {"hoodie.metadata.enable": "true", few: "2"}
    assert decided(opened(table, **on), Service.METADATA).is_due
    opened(table, **on).upsert(rows(("a", 9, "x", 9)))
    assert not decided(opened(table, **{**on, few: "9"}), Service.METADATA).is_due
    assert decided(opened(table, **on), Service.METADATA).is_due
