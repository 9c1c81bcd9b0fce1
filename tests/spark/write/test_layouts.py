"""Tasks of Spark write tables of all layouts: times in paths, no meta fields, dropped columns, fields of structs."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import hudiformat as hf
from hudiformat.naming.timed_partitions import OUTPUT, TYPE, ZONE

pytest.importorskip("pyspark.sql")

import hudiformat.spark as hudi_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.unmeasured

COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
FIELD, KEY = "hoodie.datasource.write.partitionpath.field", "hoodie.datasource.write.recordkey.field"
_TIMES = {TYPE: "EPOCHMICROSECONDS", OUTPUT: "yyyyMMdd", ZONE: "UTC"}
LAYOUTS = {
    "timed": {**_TIMES, "hoodie.datasource.write.keygenerator.type": "TIMESTAMP", FIELD: "at"},
    "custom": {**_TIMES, FIELD: "p:simple,at:timestamp"},
    "no-meta-fields": {"hoodie.populate.meta.fields": "false"},
    "dropped": {"hoodie.datasource.write.drop.partition.columns": "true"},
    "nested": {FIELD: "st.p", KEY: "st.k"},
    "nested-without-meta-fields": {FIELD: "st.p", KEY: "st.k", "hoodie.populate.meta.fields": "false"},
}
CASES = [
    ("timed", MOR, "SIMPLE"),
    ("timed", COW, "BUCKET"),
    ("custom", COW, "GLOBAL_SIMPLE"),
    ("no-meta-fields", COW, "SIMPLE"),
    ("no-meta-fields", MOR, "GLOBAL_SIMPLE"),
    ("no-meta-fields", MOR, "BUCKET"),
    ("dropped", COW, "SIMPLE"),
    ("dropped", COW, "BUCKET"),
    ("dropped", COW, "GLOBAL_SIMPLE"),
    ("nested", MOR, "SIMPLE"),
    ("nested", COW, "BUCKET"),
    ("nested-without-meta-fields", MOR, "GLOBAL_SIMPLE"),
]


def frame(spark: SparkSession, keys: str, order: int) -> DataFrame:
    found = []
    for key in keys:
        p = "xy"[ord(key) % 2]
        found.append((key, order, p, dt.datetime(2024, 1, 1 + ord(key) % 3), (key, p)))
    return spark.createDataFrame(found, "k string, o bigint, p string, at timestamp, st struct<k: string, p: string>")


@pytest.mark.parametrize(("layout", "table_type", "index"), CASES)
def test_tasks_write_what_one_process_writes(
    spark: SparkSession, layout: str, table_type: str, index: str, tmp_path: Path
) -> None:
    hudi_spark.register(spark)
    path = str(tmp_path / "t")
    own = {"hoodie.index.type": index, "hoodie.bucket.index.num.buckets": "2", "hudiformat.spark.driver.rows": "0"}
    made = {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.precombine.field": "o",
        "hoodie.datasource.write.table.type": table_type,
        KEY: "k",
        FIELD: "p",
        **LAYOUTS[layout],
    }
    hudi_spark.write(frame(spark, "abcd", 1), path, mode="append", options={**made, **own})
    frame(spark, "ae", 2).write.format("hudiformat").mode("append").options(**own).option("operation", "upsert").save(
        path
    )
    hudi_spark.upsert(frame(spark, "bf", 3), path, options=own)
    hudi_spark.delete(frame(spark, "c", 9), path, options=own)
    expected = {"a": 2, "b": 3, "d": 1, "e": 2, "f": 3}
    if layout == "dropped":
        with pytest.raises(hf.UnsupportedFeatureError, match="merge: expected a table whose files have the partition"):
            hudi_spark.merge(frame(spark, "d", 5), path, when_matched=[hf.Update()], options=own)
    else:
        hudi_spark.merge(
            frame(spark, "dg", 5), path, when_matched=[hf.Update()], when_not_matched=[hf.Insert()], options=own
        )
        expected |= {"d": 5, "g": 5}
    hudi_spark.update(spark, path, {"o": 7}, where="k = 'a'", options=own)
    expected["a"] = 7
    found = spark.read.format("hudiformat").load(path).collect()
    assert {row.k: (row.o, row.p) for row in found} == {key: (o, "xy"[ord(key) % 2]) for key, o in expected.items()}
    assert len(found) == len(expected)
    table = hf.open_table(path)
    assert sorted(table.snapshot()["k"].to_pylist()) == sorted(expected)
    assert table.verify() == []
