"""Run on PySpark 3.5: rows are inserted, updated and deleted by hudiformat's functions."""

import sys
from collections.abc import Callable

from pyspark.sql import SparkSession

from hudiformat.errors import DataError, UnsupportedFeatureError
from hudiformat.spark import delete, insert, register, upsert


def main(path: str) -> None:
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    rows = spark.range(100).selectExpr("id", "1L as ts", "concat('p', id % 2) as p")
    assert insert(rows, path).num_writes == 100
    assert upsert(rows.where("id < 50").selectExpr("id", "2L as ts", "p"), path).num_writes == 50
    assert delete(rows.where("id < 5").select("id", "p"), path).num_deletes == 5
    assert "null or empty" in refusal(
        DataError, lambda: upsert(rows.selectExpr("nullif(id, 7) as id", "ts", "p"), path)
    )
    assert "needs PySpark 4" in refusal(UnsupportedFeatureError, lambda: register(spark))


def refusal(kind: type[Exception], action: Callable[[], object]) -> str:
    """What an error of that kind says; nothing when there is none."""
    try:
        action()
    except kind as error:
        return str(error)
    return ""


main(sys.argv[1])
