"""Run on PySpark 3.5: rows are inserted, updated, deleted and merged by hudiformat's functions."""

from collections.abc import Callable

from pyspark.sql import SparkSession, functions

from hudiformat.errors import DataError, UnsupportedFeatureError
from hudiformat.spark import (
    Delete,
    Insert,
    Update,
    compact,
    delete,
    delete_where,
    insert,
    merge,
    read,
    register,
    update,
    upsert,
)


def main(spark: SparkSession, path: str, *, everything: bool) -> None:
    """Write and read the table at *path*, with *everything* by each function; 100 rows are left in it."""
    rows = spark.range(100).selectExpr("id", "1L as ts", "concat('p', id % 2) as p")
    assert insert(rows, path).num_writes == 100
    by_tasks = {"hudiformat.spark.driver.rows": "0"}
    newer = rows.where("id < 50").selectExpr("id", "2L as ts", "p")
    assert upsert(newer, path, options=by_tasks).num_writes == 50
    assert [row[0] for row in read(spark, path, columns=["id"], filter="p = 'p1' and id > 96").collect()] == [97, 99]
    assert "null or empty in 1 of 100 rows" in refusal(
        DataError, lambda: upsert(rows.selectExpr("nullif(id, 7) as id", "ts", "p"), path)
    )
    assert "expected PySpark 4 for the data source" in refusal(UnsupportedFeatureError, lambda: register(spark))
    if everything:
        write_by_each_function(spark, path)


def write_by_each_function(spark: SparkSession, path: str) -> None:
    rows = spark.range(100).selectExpr("id", "1L as ts", "concat('p', id % 2) as p")
    assert delete(rows.where("id < 5").select("id", "p"), path).num_deletes == 5
    source = spark.range(90, 110).selectExpr("id", "3L as ts", "concat('p', id % 2) as p")
    merged = merge(
        source, path, when_matched=[Delete(functions.expr("source.id < 92")), Update()], when_not_matched=[Insert()]
    )
    assert (merged.num_writes, merged.num_deletes) == (18, 2)
    assert read(spark, path).count() == 103
    compact(spark, path, options={"hoodie.compact.inline.max.delta.commits": "1"})
    plan = read(spark, path, filter="id > 50")._jdf.queryExecution().executedPlan().toString()
    assert "FileScan parquet" in plan
    assert "MapInArrow" not in plan
    assert sum(row["ts"] for row in read(spark, path, filter="id >= 107").collect()) == 9
    update(spark, path, {"ts": 9}, "id = 108")
    assert read(spark, path, filter="ts = 9").count() == 1
    delete_where(spark, path, "id > 106 or id = 50")
    insert(rows.where("id < 1"), path)


def refusal(kind: type[Exception], action: Callable[[], object]) -> str:
    """What an error of that kind says; nothing when there is none."""
    try:
        action()
    except kind as error:
        return str(error)
    return ""
