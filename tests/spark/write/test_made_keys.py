"""Data frames written to tables without record key columns, by the driver and by tasks."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import hudiformat as hf
from tests.effort import LONG, only_long
from tests.tables import new_table

pytest.importorskip("pyspark.sql")

import hudiformat.spark as hudi_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KEY, PATH = "_hoodie_record_key", "_hoodie_partition_path"
TASKS = {"hudiformat.spark.driver.rows": "0"}
TYPES, WHERE = ("COPY_ON_WRITE", "MERGE_ON_READ"), ("driver", "tasks")
INDEXES = ("SIMPLE", "GLOBAL_SIMPLE", "RECORD_INDEX")
CASES = list(product(INDEXES, TYPES, WHERE))
SOME = [case for number, case in enumerate(CASES) if number in (3, 4, 11)]
"""Each index, each type of table and each place at least once."""


def without_key(path: Path, table_type: str, index: str) -> hf.Table:
    options = {"hoodie.index.type": index}
    if index == "RECORD_INDEX":
        options |= {"hoodie.metadata.enable": "true", "hoodie.metadata.global.record.level.index.enable": "true"}
    return new_table(path, record_key=[], ordering=[], table_type=table_type, options=options)


def some(spark: SparkSession, count: int = 30) -> DataFrame:
    """Rows of which each is there twice."""
    return spark.range(0, count, 1, 3).selectExpr(
        "'k' k", "1L ts", "substring('xyz', cast(id % 3 as int) + 1, 1) p", "cast(id div 2 as int) v"
    )


def keys(table: hf.Table) -> list[str]:
    found: list[str] = table.snapshot(columns=[KEY])[KEY].to_pylist()
    return found


@only_long
@pytest.mark.parametrize(("index", "table_type", "where"), CASES if LONG else SOME)
def test_rows_are_inserted_changed_and_deleted(
    spark: SparkSession, tmp_path: Path, index: str, table_type: str, where: str
) -> None:
    table = without_key(tmp_path / "t", table_type, index)
    path, options = table.path, {"hoodie.index.type": index, **(TASKS if where == "tasks" else {})}
    for count, write in enumerate((hudi_spark.insert, hudi_spark.upsert, hudi_spark.bulk_insert), 1):
        write(some(spark), path, options=options)
        assert len(set(keys(table))) == 30 * count == table.snapshot().num_rows
    before = set(keys(table))

    read = hudi_spark.read(spark, path)
    changed = read.where("v = 3").drop("v", "p").selectExpr("*", "1000 v", "'elsewhere' p")
    hudi_spark.upsert(changed, path, options=options)
    assert set(keys(table)) == before
    found = table.snapshot(filter="v = 1000")
    assert found.num_rows == 6
    assert set(found[PATH].to_pylist()) == {"x", "y"}  # where they were

    hudi_spark.delete(hudi_spark.read(spark, path).where("v = 1000"), path, options=options)
    assert len(set(keys(table))) == table.snapshot().num_rows == 84
    with pytest.raises(hf.DataError, match=f"need {KEY} and {PATH}"):
        hudi_spark.delete(some(spark), path, options=options)
    hudi_spark.update(spark, path, {"v": 2000}, "v = 4", options=options)
    hudi_spark.delete_where(spark, path, f"v = 5 and {KEY} > ''", options=options)
    assert table.snapshot(filter="v = 2000").num_rows == 6
    assert len(set(keys(table))) == table.snapshot().num_rows == 78
    assert set(keys(table)) < before
    hudi_spark.insert_overwrite(hudi_spark.read(spark, path).where("p = 'x'"), path, options=options)
    assert len(set(keys(table))) == table.snapshot().num_rows == 78
    with pytest.raises(hf.UnsupportedFeatureError, match="merge: expected a table with a record key"):
        hudi_spark.merge(some(spark), path, when_matched=[hf.Delete()])


@pytest.mark.parametrize("order", ["NONE", "GLOBAL_SORT", "PARTITION_SORT"])
def test_bulk_inserts_by_tasks_in_each_order(spark: SparkSession, tmp_path: Path, order: str) -> None:
    table = without_key(tmp_path / "t", "COPY_ON_WRITE", "SIMPLE")
    options = {**TASKS, "hoodie.bulkinsert.sort.mode": order}
    hudi_spark.bulk_insert(some(spark, 600), table.path, options=options)
    assert len(set(keys(table))) == 600


@pytest.mark.parametrize("operation", ["bulk_insert", "insert", "upsert", "insert_overwrite_table"])
def test_the_data_source_and_batches_of_streams(spark: SparkSession, tmp_path: Path, operation: str) -> None:
    pytest.importorskip("pyspark.sql.datasource")
    hudi_spark.register(spark)
    table = without_key(tmp_path / "t", "MERGE_ON_READ", "SIMPLE")
    frame = some(spark)
    for _ in range(2):
        frame.write.format("hudiformat").option("operation", operation).mode("append").save(table.path)
    times = 1 if operation == "insert_overwrite_table" else 2
    assert len(set(keys(table))) == table.snapshot().num_rows == 30 * times

    read = spark.read.format("hudiformat").load(table.path).where("v = 3")
    read.drop("v").selectExpr("*", "1000 v").write.format("hudiformat").mode("append").save(table.path)
    assert table.snapshot(filter="v = 1000").num_rows == 2 * times
    name = {"hoodie.datasource.write.streaming.checkpoint.identifier": "s"}
    for batch in (0, 1, 1):
        hudi_spark.write_batch(frame, table.path, batch, options={**name, "operation": operation})
    assert len(set(keys(table))) == table.snapshot().num_rows == (30 if times == 1 else 120)
