"""Hudi's quick start, statement by statement, and Hudi's answers.

``tests/spark/test_quick_start.py`` runs the text with ``hudiformat`` for ``hudi``, and
``tests/conformance/test_quick_start.py`` with real Hudi on PySpark 3.5: both get the answers of ``quick_start.json``,
which ``tests/conformance/quick_start_oracle.py`` writes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

from tests.effort import LONG

ANSWERS = Path(__file__).with_suffix(".json")
KINDS = list(product(["MERGE_ON_READ", "COPY_ON_WRITE"], [True, False])) if LONG else [("MERGE_ON_READ", True)]
"""The type of the table, and whether it has a record key."""
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


def run(execute: Callable[[str], Any], name: str, path: Path, table_type: str, *, has_key: bool) -> list[Any]:
    """Have *execute* run the statements with the data source *name*; the rows after each, and those of queries.

    *execute* runs a text and returns what it leaves in the variable ``result``.
    """
    execute(f"name, path, table_type, has_key = {name!r}, {str(path)!r}, {table_type!r}, {has_key!r}\n{SETUP}")
    statements = STATEMENTS if has_key else without_failing(STATEMENTS)
    return [*(execute(f"{text}\n{ROWS}") for text in statements), execute(QUERIES)]


def answers(table_type: str, *, has_key: bool) -> list[Any]:
    """Hudi's answers."""
    found: list[Any] = json.loads(ANSWERS.read_text())[name_of(table_type, has_key=has_key)]
    return found


def name_of(table_type: str, *, has_key: bool) -> str:
    """The name of a kind of table among the answers."""
    return f"{table_type} {'with' if has_key else 'without'} key"
