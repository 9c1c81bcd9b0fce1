"""Run on PySpark 3.5: rows are inserted, updated, deleted and merged by hudiformat's functions."""

import sys
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


def main(path: str) -> None:
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    rows = spark.range(100).selectExpr("id", "1L as ts", "concat('p', id % 2) as p")
    assert insert(rows, path).num_writes == 100
    by_tasks = {"hudiformat.spark.driver.rows": "0"}
    newer = rows.where("id < 50").selectExpr("id", "2L as ts", "p")
    assert upsert(newer, path, options=by_tasks).num_writes == 50
    assert delete(rows.where("id < 5").select("id", "p"), path).num_deletes == 5
    source = spark.range(90, 110).selectExpr("id", "3L as ts", "concat('p', id % 2) as p")
    merged = merge(
        source, path, when_matched=[Delete(functions.expr("source.id < 92")), Update()], when_not_matched=[Insert()]
    )
    assert (merged.num_writes, merged.num_deletes) == (18, 2)
    assert read(spark, path).count() == 103
    assert [row[0] for row in read(spark, path, columns=["id"], filter="p = 'p1' and id > 106").collect()] == [107, 109]
    compact(spark, path, options={"hoodie.compact.inline.max.delta.commits": "1"})
    plan = read(spark, path, filter="id > 50")._jdf.queryExecution().executedPlan().toString()
    assert "FileScan parquet" in plan
    assert "MapInArrow" not in plan
    assert sum(row["ts"] for row in read(spark, path, filter="id >= 107").collect()) == 9
    update(spark, path, {"ts": 9}, "id = 108")
    assert read(spark, path, filter="ts = 9").count() == 1
    delete_where(spark, path, "id = 109")
    insert(spark.createDataFrame([(109, 3, "p1")], "id long, ts long, p string"), path)
    assert "null or empty in 1 of 100 rows" in refusal(
        DataError, lambda: upsert(rows.selectExpr("nullif(id, 7) as id", "ts", "p"), path)
    )
    assert "expected PySpark 4 for the data source" in refusal(UnsupportedFeatureError, lambda: register(spark))


def refusal(kind: type[Exception], action: Callable[[], object]) -> str:
    """What an error of that kind says; nothing when there is none."""
    try:
        action()
    except kind as error:
        return str(error)
    return ""


main(sys.argv[1])
