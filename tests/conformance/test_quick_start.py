"""Hudi's quick start, statement by statement: with ``hudiformat`` for ``hudi`` the same rows are there after each.

Real Hudi runs the same text on PySpark 3.5.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark.sql.datasource")

import hudiformat.spark as hudi_spark
from tests.effort import LONG

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.conformance.hudi import RealHudi

SETUP = """
from pyspark.sql.functions import col, lit

columns = ["ts", "uuid", "rider", "driver", "fare", "city"]
data = [
    (1695159649087, "334e26e9", "rider-A", "driver-K", 19.10, "san_francisco"),
    (1695091554788, "e96c4396", "rider-C", "driver-M", 27.70, "san_francisco"),
    (1695046462179, "9909a8b1", "rider-D", "driver-L", 33.90, "san_francisco"),
    (1695516137016, "e3cf430c", "rider-F", "driver-P", 34.15, "sao_paulo"),
    (1695115999911, "c8abbe79", "rider-J", "driver-T", 17.85, "chennai"),
]
options = {
    "hoodie.table.name": "trips_table",
    "hoodie.datasource.write.recordkey.field": "uuid",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.partitionpath.field": "city",
    "hoodie.datasource.write.table.type": table_type,
}
if not has_key:
    del options["hoodie.datasource.write.recordkey.field"], options["hoodie.datasource.write.precombine.field"]


def read():
    return spark.read.format(name).load(path)


def write(df, mode="append", **more):
    df.write.format(name).options(**options, **more).mode(mode).save(path)
"""
STATEMENTS = [
    'write(spark.createDataFrame(data).toDF(*columns), "overwrite")',
    """write(read().filter("rider == 'rider-D'").withColumn("fare", col("fare") * 10))""",
    """
more = spark.createDataFrame([(1695159649999, "new", "rider-Z", "driver-Z", 1.5, "chennai")]).toDF(*columns)
write(more, **{"hoodie.datasource.write.operation": "insert"})""",
    """write(read().filter("rider == 'rider-F'"), **{"hoodie.datasource.write.operation": "delete"})""",
    """
soft = read().filter("uuid == 'e96c4396'")
for name_ in ("rider", "driver", "fare"):
    soft = soft.withColumn(name_, lit(None).cast(soft.schema[name_].dataType))
write(soft)""",
    """
fresh = spark.createDataFrame([(1695172487990, "over", "rider-X", "driver-X", 2.5, "chennai")]).toDF(*columns)
write(fresh, **{"hoodie.datasource.write.operation": "insert_overwrite"})""",
    """
bulk = spark.createDataFrame([(1695172487991, "bulk", "rider-Y", "driver-Y", 3.5, "new_york")]).toDF(*columns)
write(bulk, **{"hoodie.datasource.write.operation": "bulk_insert"})""",
    """
write(bulk.limit(1), **{
    "hoodie.datasource.write.operation": "delete_partition",
    "hoodie.datasource.write.partitions.to.delete": "sao_paulo,new*",
})""",
    """write(fresh, **{"hoodie.datasource.write.operation": "delete_partition"})""",
    'write(spark.createDataFrame(data).toDF(*columns), **{"hoodie.metadata.enable": "true"})',
]
ROWS = "result = sorted([list(row) for row in read().select(*columns).collect()], key=str)"
QUERIES = """
times = sorted({row[0] for row in read().select("_hoodie_commit_time").collect()})
before = spark.read.format(name).option("as.of.instant", times[-1]).load(path).select(*columns)
since = spark.read.format(name).options(**{
    "hoodie.datasource.query.type": "incremental",
    "hoodie.datasource.read.begin.instanttime": "000",
}).load(path).select(*columns)
result = [sorted([list(row) for row in found.collect()], key=str) for found in (before, since)]
"""


def without_failing(statements: list[str]) -> list[str]:
    """Those that Hudi too can do without a record key: it fails where partitions to delete are those of rows."""
    return [text for text in statements if "fresh," not in text or "delete_partition" not in text]


@pytest.mark.parametrize(
    ("table_type", "has_key"),
    [
        ("MERGE_ON_READ", True),
        *([("COPY_ON_WRITE", True), ("MERGE_ON_READ", False), ("COPY_ON_WRITE", False)] if LONG else []),
    ],
)
def test_the_same_rows_are_there_after_each_statement(
    spark: SparkSession, hudi: RealHudi, tmp_path: Path, table_type: str, *, has_key: bool
) -> None:
    hudi_spark.register(spark)
    ours: dict[str, Any] = {"spark": spark}
    settings = "name, path, table_type, has_key = {!r}, {!r}, {!r}, {!r}\n"
    mine = settings.format("hudiformat", str(tmp_path / "ours"), table_type, has_key)
    exec(mine + SETUP, ours)  # noqa: S102 - the text above
    hudi.eval_(settings.format("hudi", str(tmp_path / "theirs"), table_type, has_key) + SETUP)
    for text in STATEMENTS if has_key else without_failing(STATEMENTS):
        exec(text, ours)  # noqa: S102
        exec(ROWS, ours)  # noqa: S102
        assert ours["result"] == hudi.eval_(f"{text}\n{ROWS}"), text
    exec(QUERIES, ours)  # noqa: S102
    assert ours["result"] == hudi.eval_(QUERIES)
    assert len(ours["result"][0]) == (5 if has_key else 9)
