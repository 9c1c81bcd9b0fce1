"""New rows are counted by partition path, and by task where Flink's tasks share them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat.naming.file_names import BaseFileName
from hudiformat.sizing import Parallelism
from hudiformat.table.options.values import Operation
from hudiformat.write.commit.transaction import begin_write
from tests.spark.streams import add_file, new_table, rows, stream_in

pytest.importorskip("pyspark.sql")
import hudiformat.spark as hudi_spark
from hudiformat.spark.write.counting import counts_of_inserts
from tests.effort import only_long

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TASKS = {"hudiformat.sizing": "flink", "hudiformat.sizing.tasks": "4"}
SIZES = {
    "hoodie.parquet.bloom.filter.enabled": "false",
    "hoodie.copyonwrite.record.size.estimate": "100",
    "hoodie.record.size.estimation.threshold": "100",
}
OF_4 = Parallelism.of(4)


def owners_of_files(table: hf.Table) -> tuple[list[int], list[int]]:
    """For each row the task of its file group, and the task of its key."""
    found = table.snapshot(columns=["id", "_hoodie_file_name"])
    groups = [BaseFileName.parse(name).file_id for name in found["_hoodie_file_name"].to_pylist()]
    return OF_4.owners(pa.array(groups)).tolist(), OF_4.owners(found["id"].combine_chunks()).tolist()


@pytest.mark.parametrize("options", [{}, TASKS])
def test_each_partition_and_task_has_its_count(spark: SparkSession, tmp_path: Path, options: dict[str, str]) -> None:
    table = hf.open_table(new_table(tmp_path / "t").path, options=options)
    with begin_write(table._context, Operation.INSERT) as write:
        df = spark.createDataFrame([(f"k{number}", 1) for number in range(300)], "id string, ts long")
        counts = counts_of_inserts(df, write.plan, write.plan.schema)
    expected = OF_4.counts(pa.array([f"k{number}" for number in range(300)])) if options else {0: 300}
    assert {path: dict(tasks) for path, tasks in counts.items()} == {"": expected}


@pytest.mark.parametrize("operation", ["insert", "upsert"])
def test_tasks_of_spark_fill_the_groups_of_flinks_tasks(spark: SparkSession, tmp_path: Path, operation: str) -> None:
    table = new_table(tmp_path / "t", **SIZES)
    write: Any = getattr(hudi_spark, operation)
    for first in (0, 400):
        df = spark.range(first, first + 400, 1, 3).selectExpr("concat('k', id) as id", "cast(1 as bigint) as ts")
        commit = write(df, table.path, options={**SIZES, **TASKS})
        written = [(stat.partition_path, stat.file_id) for stat in commit.stats]
        assert len(written) == len(set(written)) == len(table.file_slices()) == 4
    by_file, by_key = owners_of_files(table)
    assert by_file == by_key
    assert len(by_key) == 800


@only_long
def test_the_batches_of_a_stream_fill_the_same_files(spark: SparkSession, tmp_path: Path) -> None:
    """Each task of a batch opens a file group; the next batch's fill them, as none is large."""
    hudi_spark.register(spark)
    table = new_table(tmp_path / "table", **SIZES)
    for number in range(4):
        add_file(tmp_path / "in", number, rows(100 * number, 100))
    stream_in(spark, tmp_path / "in", table, **SIZES, **TASKS)
    by_file, by_key = owners_of_files(table)
    assert by_file == by_key
    assert len(by_key) == 400
    assert len(table.file_slices()) == 4
    written = [Counter(stat.file_id for stat in table._context.state().metadata(one).write_stats)
               for one in table.timeline.completed]  # fmt: skip
    assert [set(counts.values()) for counts in written] == [{1}] * 4


def test_a_batch_has_as_many_tasks_as_spark(spark: SparkSession, tmp_path: Path) -> None:
    hudi_spark.register(spark)
    table = new_table(tmp_path / "table", **SIZES)
    df = spark.range(0, 300, 1, 3).selectExpr("concat('k', id) as id", "cast(1 as bigint) as ts")
    options = {**SIZES, "hudiformat.sizing": "flink"}
    options["hoodie.datasource.write.streaming.checkpoint.identifier"] = "test"
    hudi_spark.write_batch(df, table.path, 1, operation="insert", options=options)
    assert len(table.file_slices()) == spark.sparkContext.defaultParallelism == 2
