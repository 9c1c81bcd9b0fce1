"""Hudi's procedures on tables of ours: they show what is there, validate it and find nothing wrong."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import hudiformat as hf
from hudiformat.timeline.table_config import TableType
from hudiformat.timeline.timeline import Action, read_metadata
from tests.conformance.hudi import RealHudi
from tests.conformance.test_both_ways import WRITE, assert_reads_alike, create, things, write_ours
from tests.effort import LONG, only_long

EVERY_GROUP = "hoodie.clustering.plan.strategy.small.file.limit=999999999"
KINDS = [
    ("MERGE_ON_READ", "SIMPLE"),
    ("COPY_ON_WRITE", "BLOOM"),
    ("MERGE_ON_READ", "BUCKET"),  # which Hudi never clusters: HoodieSimpleBucketLayout
]

Row = dict[str, Any]


class Asking:
    """Hudi's procedures on one table, which Spark's catalog knows."""

    def __init__(self, hudi: RealHudi, table: hf.Table, name: str) -> None:
        self._hudi = hudi
        self._names = {"table": name, "path": table.path}
        hudi.sql(f"create table {name} using hudi location '{table.path}'")

    def __call__(self, procedure: str, by: str = "table", **arguments: str | int) -> list[Row]:
        """The rows that a procedure shows of the table, which it wants to have named *by* its name or its path."""
        given = {by: self._names[by], **arguments}
        words = ", ".join(f"{name} => {value!r}" for name, value in given.items())
        rows: list[Row] = self._hudi.sql(f"call {procedure}({words})").to_pylist()
        return rows


def write_and_serve(table: hf.Table) -> None:
    """Commits, a compaction where there is something to compact, a rollback and a savepoint."""
    write_ours(table)
    if table.config.table_type is TableType.MERGE_ON_READ:
        table.compact()
        table.upsert(things(range(5, 15), ts=8))
    table.rollback(table.upsert(things(range(3), ts=9)).instant)
    table.savepoint(table.timeline.completed_writes[-1].time, user="me")


def assert_shows_commits(ask: Asking, table: hf.Table) -> None:
    shown = {row["commit_time"]: row for row in ask("show_commits", limit=100)}
    assert set(shown) == {write.time for write in table.timeline.completed_writes}
    for write in table.timeline.completed_writes:
        by_path = read_metadata(table._context.storage, table.config, write).partition_to_write_stats
        stats = [stat for stats in by_path.values() for stat in stats]
        written, size = sum(stat.num_writes for stat in stats), sum(stat.total_write_bytes for stat in stats)
        assert shown[write.time]["total_records_written"] == written
        assert shown[write.time]["total_bytes_written"] == size
        assert shown[write.time]["total_errors"] == 0
        files = ask("show_commit_files", instant_time=write.time, limit=100)
        assert sorted(row["file_id"] for row in files) == sorted(stat.file_id or "" for stat in stats)
        assert {row["partition_path"] for row in ask("show_commit_partitions", instant_time=write.time)} == set(by_path)
        assert ask("show_commit_write_stats", instant_time=write.time)[0]["total_records_written"] == written


def assert_shows_files(ask: Asking, table: hf.Table) -> None:
    found = set()
    for path in ("p0", "p1", "p2"):
        for row in ask("show_fsview_latest", "path", partition_path=path):
            found.add((path, row["file_id"], row["base_instant"], row["data_file_size"], row["num_delta_files"]))
    slices = [
        (item, item.base_file.size if item.base_file else -1, len(item.log_files)) for item in table.file_slices()
    ]
    assert found == {(item.partition_path, item.file_id, item.base_instant, *rest) for item, *rest in slices}
    assert ask("show_invalid_parquet", "path") == []
    assert sum(row["num_files"] for row in ask("stats_file_sizes", limit=100)) > 0
    assert ask("stats_wa", limit=100)


def assert_shows_timeline(ask: Asking, table: hf.Table) -> None:
    shown = ask("show_timeline", "path", limit=100)
    assert {row["state"] for row in shown} == {"COMPLETED"}
    assert {row["instant_time"] for row in shown} == {one.time for one in table.timeline.completed}
    by_action = {action: [one.time for one in table.timeline.completed if one.action is action] for action in Action}
    assert [row["instant"] for row in ask("show_rollbacks")] == by_action[Action.ROLLBACK]
    assert [row["savepoint_time"] for row in ask("show_savepoints", "path")] == by_action[Action.SAVEPOINT]
    properties = {row["key"]: row["value"] for row in ask("show_table_properties", "path", limit=100)}
    assert properties["hoodie.table.name"] == "things"
    for nothing in ("show_cleans", "show_clean_plans", "show_archived_commits"):
        assert ask(nothing) == []
    assert ask("show_clustering", "path") == []


def assert_shows_logs(ask: Asking, table: hf.Table) -> None:
    compacted = ask("show_compaction", "path")
    assert [(row["operation_size"], row["state"]) for row in compacted] == [(len(table.file_slices()), "COMPLETED")]
    newest = table.timeline.completed_writes[-1]
    pattern = f"{table.path}/*/.*_{newest.time}.log.*"  # those with deletes the first procedure cannot show
    blocks = ask("show_logfile_metadata", "path", log_file_path_pattern=pattern, limit=100)
    assert {(row["instant_time"], row["block_type"]) for row in blocks} == {(newest.time, "AVRO_DATA_BLOCK")}
    records = ask("show_logfile_records", "path", log_file_path_pattern=pattern, limit=100)
    by_path = read_metadata(table._context.storage, table.config, newest).partition_to_write_stats
    logged = [stat.num_writes for stats in by_path.values() for stat in stats if stat.log_version is not None]
    assert len(records) == sum(row["record_count"] for row in blocks) == sum(logged) > 0


@only_long
@pytest.mark.hudi
@pytest.mark.parametrize(("table_type", "index"), KINDS if LONG else KINDS[:1])
def test_hudis_procedures_find_nothing_wrong(hudi: RealHudi, tmp_path: Path, table_type: str, index: str) -> None:
    options = {"hoodie.index.type": index, "hoodie.bucket.index.num.buckets": "2"}
    table = create(tmp_path / "t", options, table_type=table_type)
    write_and_serve(table)
    ask = Asking(hudi, table, f"shown_{index.lower()}")
    assert_shows_commits(ask, table)
    assert_shows_files(ask, table)
    assert_shows_timeline(ask, table)
    if table_type == "MERGE_ON_READ":
        assert_shows_logs(ask, table)
    theirs = {**WRITE, "hoodie.datasource.write.table.type": table_type}
    hudi.write(things(range(50, 70), ts=9), table.path, theirs)
    hudi.write(things(range(50, 55), ts=9), table.path, {**theirs, "hoodie.datasource.write.operation": "delete"})
    if index != "BUCKET":
        ask("run_clustering", "path", options=EVERY_GROUP)
        assert [row["state"] for row in ask("show_clustering", "path")] == ["COMPLETED"]
    hf.open_table(table.path).upsert(things(range(60, 80), ts=11))
    assert ask("validate_metadata_table_files") == []
    listed = {row["file_path"].rpartition("/")[2] for row in ask("show_metadata_table_files", "path", partition="p0")}
    names = {path.name for path in (tmp_path / "t" / "p0").iterdir()}
    assert listed == {name for name in names if ".hoodie_partition" not in name and not name.endswith(".crc")}
    assert_reads_alike(hudi, hf.open_table(table.path))


PROCEDURES = """
entries = jvm.org.apache.spark.sql.hudi.command.procedures.HoodieProcedures.procedures()
names, found = entries.keysIterator(), []
while names.hasNext():
    found.append(names.next())
result = sorted(found)
"""


def test_the_page_about_hudis_commands_has_every_procedure(hudi: RealHudi) -> None:
    page = Path(__file__).parents[2] / "docs" / "hudi-cli.md"
    section = page.read_text("utf-8").partition("## Commands of hudi-cli")[0]
    rows = [line.split(" | ")[0] for line in section.splitlines() if line.startswith("| `")]
    assert sorted(re.findall(r"`(\w+)`", " ".join(rows))) == hudi.eval_(PROCEDURES)
