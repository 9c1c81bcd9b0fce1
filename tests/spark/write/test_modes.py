"""The first write makes the table from Hudi's keys: functions, data source and streams."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import hudiformat as hf
from tests.spark.streams import add_file, ids, rows

pytest.importorskip("pyspark.sql")
import hudiformat.spark as hudi_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KEYS = {
    "hoodie.table.name": "trips",
    "hoodie.datasource.write.recordkey.field": "uuid",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.partitionpath.field": "city",
}


def trips(spark: SparkSession, *values: tuple[str, int, str, float]) -> DataFrame:
    return spark.createDataFrame(list(values), "uuid string, ts long, city string, fare double")


def fares(path: Path) -> dict[str, float]:
    found = hf.open_table(path).snapshot()
    return dict(zip(found["uuid"].to_pylist(), found["fare"].to_pylist(), strict=True))


def test_the_first_write_makes_the_table(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "trips"
    hudi_spark.write(trips(spark, ("a", 1, "x", 1.0), ("b", 1, "y", 2.0)), str(path), options=KEYS)
    config = hf.open_table(path)._context.state().config
    assert (config.name, config.table_type.value, config.partition_fields) == ("trips", "COPY_ON_WRITE", ("city",))
    hudi_spark.write(trips(spark, ("a", 2, "x", 3.0)), str(path), options=KEYS)
    assert fares(path) == {"a": 3.0, "b": 2.0}
    delete = KEYS | {"hoodie.datasource.write.operation": "delete"}
    hudi_spark.write(trips(spark, ("a", 3, "x", 0.0)), str(path), options=delete)
    assert fares(path) == {"b": 2.0}


def test_the_modes_are_sparks(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "trips"
    first, other = trips(spark, ("a", 1, "x", 1.0), ("b", 1, "y", 2.0)), trips(spark, ("c", 1, "x", 3.0))
    assert hudi_spark.write(first, str(path), mode="ignore", options=KEYS) is not None
    assert hudi_spark.write(other, str(path), mode="ignore", options=KEYS) is None
    with pytest.raises(hf.TableExistsError, match="use mode append or overwrite"):
        hudi_spark.write(other, str(path), mode="errorifexists", options=KEYS)
    assert fares(path) == {"a": 1.0, "b": 2.0}
    some = KEYS | {"hoodie.datasource.write.operation": "insert_overwrite"}
    hudi_spark.write(other, str(path), mode="overwrite", options=some)
    assert fares(path) == {"b": 2.0, "c": 3.0}
    hudi_spark.write(first, str(path), mode="overwrite", options=KEYS)
    assert fares(path) == {"a": 1.0, "b": 2.0}
    with pytest.raises(hf.OptionError, match="expected one of append, overwrite, .*found 'upsert'"):
        hudi_spark.write(first, str(path), mode="upsert", options=KEYS)


@pytest.mark.parametrize("columns", ["uuid", ["city", "uuid"], []])
def test_a_table_keeps_its_partition_columns(spark: SparkSession, tmp_path: Path, columns: str | list[str]) -> None:
    path, df = str(tmp_path / "trips"), trips(spark, ("a", 1, "x", 1.0))
    for _ in range(2):
        hudi_spark.write(df, path, partition_by="city", options=KEYS)
    with pytest.raises(hf.OptionError, match="expected the partition columns of the table, city, found"):
        hudi_spark.write(df, path, partition_by=columns, options=KEYS)
    assert len(hf.open_table(path).timeline.completed) == 2


def test_a_table_without_partitions_is_one_partition_that_rows_are_of(spark: SparkSession, tmp_path: Path) -> None:
    hudi_spark.register(spark)
    path, df = str(tmp_path / "trips"), trips(spark, ("a", 1, "x", 1.0), ("b", 1, "y", 2.0))
    keys = {name: value for name, value in KEYS.items() if "partitionpath" not in name}
    gone = {"hoodie.datasource.write.operation": "delete_partition"}
    for by_source in (False, True):
        hudi_spark.write(df, path, options=keys)
        for some, left in ((df.where("fare > 9"), 2), (df.where("fare = 1"), 0)):
            if by_source:
                some.write.format("hudiformat").options(**gone).mode("append").save(path)
            else:
                hudi_spark.write(some, path, options=gone)
            assert len(fares(Path(path))) == left


def test_rows_without_a_partition_column_delete_no_partition(spark: SparkSession, tmp_path: Path) -> None:
    hudi_spark.register(spark)
    path, df = str(tmp_path / "trips"), trips(spark, ("a", 1, "x", 1.0), ("b", 1, "y", 2.0))
    hudi_spark.write(df, path, options=KEYS)
    gone = {"hoodie.datasource.write.operation": "delete_partition"}
    message = "the column 'city', which the table's keys are made of, is missing; the columns are uuid, ts, fare"
    with pytest.raises(hf.DataError, match=message):
        hudi_spark.write(df.drop("city"), path, options=gone)
    with pytest.raises(Exception, match=f"DataError: {message}"):
        df.drop("city").write.format("hudiformat").options(**gone).mode("append").save(path)
    named = gone | {"hoodie.datasource.write.partitions.to.delete": "x"}
    df.drop("city").write.format("hudiformat").options(**named).mode("append").save(path)
    assert fares(Path(path)) == {"b": 2.0}


def test_a_table_can_be_made_of_a_data_frame_or_its_schema(spark: SparkSession, tmp_path: Path) -> None:
    df = trips(spark, ("a", 1, "x", 1.0))
    made = hudi_spark.create_table(df, str(tmp_path / "one"), options=KEYS)
    assert made.snapshot().num_rows == 0
    assert (
        hudi_spark.create_table(df.schema, str(tmp_path / "two"), options=KEYS)._context.state().config.name == "trips"
    )
    with pytest.raises(hf.TableExistsError):
        hudi_spark.create_table(df, str(tmp_path / "one"), options=KEYS)


def test_without_a_record_key_each_row_gets_a_key(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "trips")
    for _ in range(2):
        hudi_spark.write(trips(spark, ("a", 1, "x", 1.0)), path)
        state = hf.open_table(path)._context.state()
        assert state.metadata(state.timeline.completed_writes[-1]).operation_type == "BULK_INSERT"
    found = hf.open_table(path).snapshot()
    assert len(set(found["_hoodie_record_key"].to_pylist())) == found.num_rows == 2
    hudi_spark.write(hudi_spark.read(spark, path).limit(1), path)  # an upsert of a row that was read
    assert hf.open_table(path).snapshot().num_rows == 2


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_the_data_source_makes_the_table(spark: SparkSession, tmp_path: Path, mode: str) -> None:
    hudi_spark.register(spark)
    path = tmp_path / "trips"
    for fare in (1.0, 2.0):
        df = trips(spark, ("a", 1, "x", fare))
        df.write.format("hudiformat").options(**KEYS).mode(mode).save(str(path))
        assert fares(path) == {"a": fare}
    config = hf.open_table(path)._context.state().config
    assert (config.name, config.ordering_fields) == ("trips", ("ts",))


def test_a_stream_makes_the_table(spark: SparkSession, tmp_path: Path) -> None:
    hudi_spark.register(spark)
    add_file(tmp_path / "in", 0, rows(0, 10))
    source = spark.readStream.schema("id string, ts bigint").parquet(str(tmp_path / "in"))
    writer = source.writeStream.format("hudiformat").option("hoodie.datasource.write.recordkey.field", "id")
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
    writer.start(str(tmp_path / "table")).awaitTermination()
    table = hf.open_table(tmp_path / "table")
    assert len(ids(table)) == 10
