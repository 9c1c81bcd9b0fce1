"""The data source and ``write`` delete whole partitions: those that are named, or those of the rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import hudiformat as hf
from tests.tables import content, new_table, rows

pytest.importorskip("pyspark.sql.datasource")

import hudiformat.spark as hudi_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OPERATION = {"hoodie.datasource.write.operation": "delete_partition"}
NAMED = "hoodie.datasource.write.partitions.to.delete"


def by_source(df: DataFrame, path: str, options: dict[str, str]) -> None:
    df.write.format("hudiformat").mode("append").options(**options).save(path)


def by_function(df: DataFrame, path: str, options: dict[str, str]) -> None:
    hudi_spark.write(df, path, options=options)


@pytest.mark.parametrize("write", [by_source, by_function])
def test_partitions_are_named_or_those_of_the_rows(spark: SparkSession, tmp_path: Path, write: Any) -> None:
    hudi_spark.register(spark)
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE", options={"hoodie.index.type": "SIMPLE"})
    table.insert(rows(*((name, 1, name, 1) for name in ("a1", "a2", "b", "c", "d"))))
    df = spark.createDataFrame([("x", 1, "c", 1)], "k string, ts long, p string, v int")
    write(df, table.path, OPERATION)
    assert [row[2] for row in content(table)] == ["a1", "a2", "b", "d"]
    write(df, table.path, {**OPERATION, NAMED: "a*, d,nowhere"})
    assert [row[2] for row in content(table)] == ["b"]
    assert [one.action.value for one in table.timeline.completed[-2:]] == ["replacecommit"] * 2


def test_no_stream_deletes_partitions(spark: SparkSession, tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    hudi_spark.register(spark)
    stream = spark.readStream.format("rate").load().selectExpr("'x' as k", "value as ts", "'p' as p", "1 as v")
    writer = (
        stream.writeStream.format("hudiformat").option("checkpointLocation", str(tmp_path / "c")).options(**OPERATION)
    )
    with pytest.raises(Exception, match="delete_partition"):
        writer.trigger(availableNow=True).start(table.path).awaitTermination()
    assert isinstance(table, hf.Table)
