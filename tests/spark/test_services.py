"""Services are planned and committed by the driver, and run by tasks."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import hudiformat as hf

pytest.importorskip("pyspark.sql")

from pyspark.sql.types import DoubleType

import hudiformat.spark as hudi_spark
from hudiformat.services.execution import (
    by_partition,
    run_parts,
)
from hudiformat.timeline.commit_metadata import WriteStat
from tests.metadata_statistics import check_metadata_table, check_record_index
from tests.tables import content, new_table, rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS = "wxyz"
BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}
SMALL = {"hoodie.parquet.small.file.limit": "0", "hoodie.clean.automatic": "false"}
INDEXED = {
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.global.record.level.index.min.filegroup.count": "2",
}


def some_rows(first: int, last: int, ts: int) -> pa.Table:
    return rows(*((f"k{number:03}", ts, PARTITIONS[number % 4], number * 37 % 101) for number in range(first, last)))


def tokens(table: hf.Table) -> list[tuple[int, int]]:
    """Of each newest base file, the number of the part that wrote it, and of the task attempt."""
    names = [one.base_file.name for one in table.file_slices() if one.base_file]
    parts = [name.write_token.split("-") for name in names]
    return [(int(number), int(attempt)) for number, _, attempt in parts]


def test_a_compaction_is_run_by_tasks(spark: SparkSession, tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options={**BUCKETS, **INDEXED})
    table.insert(some_rows(0, 80, 1))
    table.upsert(some_rows(0, 80, 2))
    before = content(table)
    (commit,) = hudi_spark.compact(spark, table.path, options=BUCKETS)
    assert len(commit.stats) == 8
    found = tokens(table)
    assert sorted(number for number, _ in found) == list(range(8))
    assert len({attempt for _, attempt in found}) == 8
    assert content(table) == before
    assert table.verify() == []
    check_metadata_table(tmp_path / "t")


@pytest.mark.parametrize("sort", ["", "v"])
def test_a_clustering_is_run_by_tasks(spark: SparkSession, tmp_path: Path, sort: str) -> None:
    options = {**SMALL, **INDEXED, "hoodie.clustering.plan.strategy.sort.columns": sort}
    table = new_table(tmp_path / "t", options=options)
    for step in range(3):
        table.insert(some_rows(step * 40, step * 40 + 40, 1))
    before = content(table)
    (commit,) = hudi_spark.cluster(spark, table.path, options=options)
    assert [stat.num_writes for stat in commit.stats] == [30] * 4
    assert len({attempt for _, attempt in tokens(table)}) == 4
    assert content(table) == before
    assert table.verify() == []
    for check in (check_metadata_table, check_record_index):
        check(tmp_path / "t")
    assert bool(sort) or hudi_spark.cluster(spark, table.path, options=options) == []


def test_log_files_are_merged_by_tasks(spark: SparkSession, tmp_path: Path) -> None:
    options = {**BUCKETS, "hoodie.log.compaction.blocks.threshold": "2"}
    table = new_table(tmp_path / "t", options=options)
    for ts in range(3):
        table.upsert(some_rows(0, 40, ts))
    (commit,) = hudi_spark.log_compact(spark, table.path, options=options)
    assert len(commit.stats) == 8
    assert content(table) == [(f"k{n:03}", 2, PARTITIONS[n % 4], n * 37 % 101) for n in range(40)]


def test_a_service_inline_is_run_by_tasks(spark: SparkSession, tmp_path: Path) -> None:
    inline = {**BUCKETS, "hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
    table = new_table(tmp_path / "t", options=BUCKETS)
    batch = some_rows(0, 40, 1)
    hudi_spark.upsert(spark.createDataFrame(batch.to_pandas()), table.path, options=inline)
    assert len({attempt for _, attempt in tokens(table)}) == 8
    assert table.snapshot().num_rows == 40


def test_a_part_that_fails_leaves_the_service_planned(spark: SparkSession, tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options=BUCKETS)
    table.insert(some_rows(0, 40, 1))
    table.upsert(some_rows(0, 40, 2))
    table.schedule_compaction()
    log = next((tmp_path / "t" / "x").glob(".*.log.*"))
    kept = log.read_bytes()
    log.unlink()
    with pytest.raises(hf.HudiFormatError, match=log.name):
        hudi_spark.compact(spark, table.path, options=BUCKETS)
    log.write_bytes(kept)
    assert len(table.timeline.pending) == 1
    (commit,) = hudi_spark.compact(spark, table.path, options=BUCKETS)
    assert len(commit.stats) == 8
    assert table.verify() == []
    assert {row[1] for row in content(table)} == {2}


def test_one_part_needs_no_tasks(tmp_path: Path) -> None:
    class Never:
        def map(self, *_: object, **__: object) -> list[object]:
            raise AssertionError

    stat = WriteStat("f", "x/f", partition_path="x")
    context = SimpleNamespace(runs_elsewhere=Never(), storage=hf.open_storage(str(tmp_path)), merger=None)
    state: Any = SimpleNamespace(context=context, options=SimpleNamespace(merge_memory=1))
    claimed: Any = SimpleNamespace(attempt=3)
    plan: Any = None
    assert by_partition(run_parts(state, claimed, plan, [lambda *_: [stat]], [1])) == {"x": (stat,)}


def test_a_clean_s_files_are_deleted_by_tasks(spark: SparkSession, tmp_path: Path) -> None:
    options = {"hoodie.clean.automatic": "false", "hoodie.index.type": "SIMPLE"}
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE", options=options)
    for ts in range(4):
        table.upsert(some_rows(0, 40, ts))
    before, files = content(table), len(list((tmp_path / "t").glob("*/*.parquet")))
    keep = {**options, "hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.clean.fileversions.retained": "1"}
    done = hudi_spark.clean(spark, table.path, options=keep)
    assert done
    assert (files, len(list((tmp_path / "t").glob("*/*.parquet")))) == (16, 4)
    assert content(table) == before
    assert not hudi_spark.clean(spark, table.path, options=keep)


def test_damage_is_found_by_tasks(spark: SparkSession, tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options=BUCKETS)
    table.insert(some_rows(0, 40, 1))
    table.upsert(some_rows(0, 40, 2))
    assert hudi_spark.verify(spark, table.path) == []
    damaged = next((tmp_path / "t" / "x").glob(".*.log.*"))
    damaged.write_bytes(damaged.read_bytes()[:-20])
    found = hudi_spark.verify(spark, table.path)
    assert found == table.verify()
    assert [one.path for one in found] == [f"x/{damaged.name}"]
    assert hudi_spark.verify(spark, table.path, contents=False) == []


def test_an_index_is_built(spark: SparkSession, tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options={**BUCKETS, "hoodie.metadata.enable": "true"})
    table.insert(some_rows(0, 40, 1))
    assert hudi_spark.create_index(spark, table.path, "record_index")
    check_record_index(tmp_path / "t")


def test_a_table_is_looked_after_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    options = {**BUCKETS, "hoodie.compact.inline.max.delta.commits": "1"}
    table = new_table(tmp_path / "t", options=BUCKETS)
    table.insert(some_rows(0, 40, 1))
    table.upsert(some_rows(0, 40, 2))
    planned = hudi_spark.schedule_compaction(spark, table.path, options=options)
    assert planned in table.timeline.pending
    report = hudi_spark.maintain(spark, table.path, only="compaction", options=options)
    assert report.instants == planned.instants
    assert len({attempt for _, attempt in tokens(table)}) == 8
    assert not hudi_spark.maintain(spark, table.path, only="compaction", dry_run=True, options=options)
    with pytest.raises(hf.UnsupportedFeatureError, match="cannot cluster: expected no simple bucket index"):
        hudi_spark.schedule_clustering(spark, table.path)
    assert not hudi_spark.repair(spark, table.path)
    assert hudi_spark.report(spark, table.path, tmp_path / "page.html").path == str(tmp_path / "page.html")
    assert hudi_spark.advise(spark, table.path) == hf.open_table(table.path).advise()


def test_writes_are_undone_and_kept_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options=BUCKETS)
    first = table.insert(some_rows(0, 20, 1))
    assert hudi_spark.savepoint(spark, table.path, first, user="me").instant == first.instant
    second = table.upsert(some_rows(0, 20, 2))
    assert hudi_spark.rollback(spark, table.path, second).done == f"{second.instant} rolled back"
    table.upsert(some_rows(0, 20, 3))
    assert hudi_spark.restore(spark, table.path, first)
    assert {row[1] for row in content(table)} == {1}
    assert hudi_spark.delete_savepoint(spark, table.path, first.instant)


def test_columns_indexes_and_the_version_change_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options=BUCKETS)
    table.insert(some_rows(0, 20, 1))
    table.upsert(some_rows(0, 20, 2))
    hudi_spark.evolve(spark, table.path, add={"tip": DoubleType(), "note": pa.string()}, comment={"v": "a value"})
    assert [(one.name, one.type) for one in table.schema][-2:] == [("tip", pa.float64()), ("note", pa.string())]
    assert hudi_spark.create_index(spark, table.path, "column_stats", columns="v")
    assert hudi_spark.drop_index(spark, table.path, "files")
    assert hudi_spark.change_version(spark, table.path, 8).done == "changed from version 9 to version 8"
    assert hf.open_table(table.path).config.version == 8
    assert len({attempt for _, attempt in tokens(hf.open_table(table.path))}) == 8
