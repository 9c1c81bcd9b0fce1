"""A metastore is told of what Spark writes: by functions, by the data source and by streams."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.catalogs.fake_metastore import FakeMetastore, metastore_on_a_port
from tests.tables import new_table, rows

pytest.importorskip("pyspark.sql")

import pyspark

import hudiformat.spark as hudi_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["metastore_on_a_port"]
HIVE = "hoodie.datasource.hive_sync."


def test_functions_data_source_and_streams_tell_the_metastore(
    spark: SparkSession, tmp_path: Path, metastore_on_a_port: tuple[str, FakeMetastore]
) -> None:
    uri, fake = metastore_on_a_port
    path = str(tmp_path / "t")
    new_table(tmp_path / "t")
    options = {f"{HIVE}enable": "true", f"{HIVE}metastore.uris": uri, f"{HIVE}table.strategy": "RT"}
    partitions = fake.partitions

    def frame(key: str, partition: str) -> pyspark.sql.DataFrame:
        return spark.createDataFrame([(key, 1, partition, 1)], "k string, ts long, p string, v int")

    hudi_spark.upsert(frame("a", "function"), path, options=options)
    assert sorted(partitions["default", "t"]) == ["p=function"]
    assert fake._of("t", "default").parameters["spark.sql.create.version"] == pyspark.__version__
    hudi_spark.register(spark)
    frame("b", "source").write.format("hudiformat").options(**options).mode("append").save(path)
    assert sorted(partitions["default", "t"]) == ["p=function", "p=source"]
    hudi_spark.delete_partitions(spark, path, "source", options=options)
    assert sorted(partitions["default", "t"]) == ["p=function"]
    folder = str(tmp_path / "incoming")
    frame("c", "stream").write.parquet(folder)
    stream = spark.readStream.schema("k string, ts long, p string, v int").parquet(folder)
    writer = stream.writeStream.format("hudiformat").options(**options).trigger(availableNow=True)
    writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start(path).awaitTermination()
    assert sorted(partitions["default", "t"]) == ["p=function", "p=stream"]
    spark.conf.set("spark.hadoop.hive.metastore.uris", uri)
    try:
        report = hudi_spark.sync_catalog(spark, path, database="lake")
    finally:
        spark.conf.unset("spark.hadoop.hive.metastore.uris")
    assert [one.name for one in report.tables] == ["lake.t_ro", "lake.t_rt", "lake.t"]


def test_a_table_is_read_by_its_name_in_a_metastore(
    spark: SparkSession, tmp_path: Path, metastore_on_a_port: tuple[str, FakeMetastore]
) -> None:
    uri, _ = metastore_on_a_port
    table = new_table(tmp_path / "t")
    table.upsert(rows(("a", 1, "x", 1)))
    table.sync_catalog(uri, database="lake")
    found = hudi_spark.read(spark, f"{uri}/lake.t", columns=["k", "v"])
    assert [tuple(row) for row in found.collect()] == [("a", 1)]
