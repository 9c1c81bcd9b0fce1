"""Bootstrapped tables on Spark: tasks find the source files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hudiformat as hf

pytest.importorskip("pyspark.sql")

import hudiformat.spark as hudi_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_tasks_read_and_write_rows_of_source_files(spark: SparkSession, tmp_path: Path, table_type: str) -> None:
    for value in ("x", "y"):
        for number in range(2):
            path = tmp_path / f"p={value}" / f"{number}.parquet"
            path.parent.mkdir(exist_ok=True)
            ids = [f"{value}{number}{row}" for row in range(3)]
            pq.write_table(pa.table({"id": ids, "v": [0, 1, 2], "ts": [1, 1, 1]}), path)
    table = hf.adopt(tmp_path, record_key="id", partition_by="p", ordering="ts", table_type=table_type)
    options = {"hoodie.bootstrap.base.path": str(tmp_path), "hudiformat.spark.driver.rows": "0"}
    hudi_spark.register(spark)

    def found() -> list[tuple[str, int, str]]:
        frame = spark.read.format("hudiformat").options(**options).load(table.path)
        rows = sorted((row.id, row.v, row.p) for row in frame.select("id", "v", "p").collect())
        ours = hf.open_table(table.path, options=options).snapshot(columns=["id", "v", "p"])
        assert sorted(zip(*(ours[name].to_pylist() for name in ("id", "v", "p")), strict=True)) == rows
        return rows

    before = found()
    assert len(before) == 12
    changed = spark.createDataFrame([("x01", 9, 2, "x"), ("new", 9, 1, "y")], "id string, v long, ts long, p string")
    hudi_spark.upsert(changed, table.path, options=options)
    hudi_spark.delete(spark.createDataFrame([("y12", "y")], "id string, p string"), table.path, options=options)
    kept = [row for row in before if row[0] not in ("x01", "y12")]
    expected = sorted([*kept, ("x01", 9, "x"), ("new", 9, "y")])
    assert found() == expected
    if table_type == "MERGE_ON_READ":
        hudi_spark.compact(spark, table.path, options=options)
    hudi_spark.cluster(spark, table.path, options=options)
    assert found() == expected
    assert hudi_spark.verify(spark, table.path, options=options) == []
