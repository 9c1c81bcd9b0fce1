"""Pieces of a query shared out to tasks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hudiformat as hf
from tests.rows import assert_same_rows

pytest.importorskip("pyspark")

import hudiformat.spark as hudi_spark
from hudiformat.spark.read.tasks import UNKNOWN_TASKS, share_out

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MB = 1024 * 1024
SLICES = 120


@dataclass(frozen=True)
class Sized:
    """A piece of which only the size matters."""

    size: int


def shared(sizes: list[int], tasks: int) -> list[list[int]]:
    pieces: Any = [Sized(size) for size in sizes]
    return [[piece.size for piece in task] for task in share_out(pieces, tasks)]


def test_small_pieces_are_read_many_to_a_task() -> None:
    assert [len(task) for task in shared([10_000] * 500, 2)] == [32] * 15 + [20]
    assert max(len(task) for task in shared([10_000] * 500, 250)) == 2  # 250 tasks have enough to do, too


def test_a_large_piece_is_alone_and_comes_first() -> None:
    assert shared([1, 200 * MB, 1, 129 * MB], 2) == [[200 * MB], [129 * MB], [1, 1]]


def test_few_pieces_have_a_task_each() -> None:
    assert shared([MB] * 4, UNKNOWN_TASKS) == [[MB]] * 4


def test_no_pieces_need_no_task() -> None:
    assert shared([], 2) == []


@given(st.lists(st.integers(0, 300 * MB), max_size=50), st.integers(1, 64))
def test_each_piece_is_in_one_task_and_no_task_of_several_has_much(sizes: list[int], tasks: int) -> None:
    found = shared(sizes, tasks)
    assert sorted(size for task in found for size in task) == sorted(sizes)
    assert all(found)
    assert all(len(task) == 1 or sum(task) <= 128 * MB for task in found)


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_a_table_of_many_tiny_slices_is_read_by_few_tasks(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    hudi_spark.register(spark)
    schema = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("p", pa.string())])
    rows = pa.table(
        {"id": [f"k{n}" for n in range(SLICES)], "ts": [1] * SLICES, "p": [f"p{n}" for n in range(SLICES)]}, schema
    )
    table = hf.create_table(
        tmp_path / "t", name="t", schema=schema, record_key=["id"], ordering=["ts"], partition_by=["p"], table_type=kind
    )
    table.insert(rows)
    table.upsert(rows.slice(0, 5).set_column(1, "ts", pa.array([2] * 5)))
    expected = table.snapshot()
    by_source = spark.read.format("hudiformat").load(table.path)
    in_python = hudi_spark.read(spark, table.path, options={"hudiformat.spark.native": "false"})
    by_both = hudi_spark.read(spark, table.path)
    # With two tasks at a time a task may have 128 MiB, and each slice counts as 4 MiB and its files.
    assert by_source.rdd.getNumPartitions() <= UNKNOWN_TASKS
    assert in_python.rdd.getNumPartitions() <= SLICES // 20
    for found in (by_source, in_python, by_both):
        assert_same_rows(found.toArrow(), expected, key=("id",))


def test_spark_looks_at_many_files_by_few_tasks(spark: SparkSession, tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("p", pa.string())])
    table = hf.create_table(
        tmp_path / "t", name="t", schema=schema, record_key=["id"], partition_by=["p"], table_type="COPY_ON_WRITE"
    )
    count = 40  # Spark looks at up to 32 paths without a job
    names = [f"p{n}" for n in range(count)]
    table.insert(pa.table({"id": names, "ts": [1] * count, "p": names}, schema))
    setting = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
    before = spark.conf.get(setting)
    context: Any = spark.sparkContext
    group = "spark.jobGroup.id"
    group_before = context.getLocalProperty(group)
    context.setJobGroup("listing", "a read of many files")
    try:
        rows = hudi_spark.read(spark, table.path)
    finally:
        context.setLocalProperty(group, group_before)
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup("listing")]
    stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
    assert [stage.numTasks for stage in stages if stage is not None] == [4 * context.defaultParallelism]
    assert spark.conf.get(setting) == before
    assert rows.count() == count
