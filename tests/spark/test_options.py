"""Options of the data source, in Hudi's keys."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat.table.options.values import Operation
from hudiformat.timeline.timeline import read_metadata
from tests.spark.streams import new_table

pytest.importorskip("pyspark.sql.datasource")

import hudiformat.spark as hudi_spark
from hudiformat.spark.options import SourceOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> hf.Table:
    hudi_spark.register(spark)
    return new_table(tmp_path / "table")


def test_an_unknown_query_is_refused(spark: SparkSession, table: hf.Table) -> None:
    with pytest.raises(Exception, match="expected one of snapshot, read_optimized, incremental, cdc"):
        spark.read.format("hudiformat").option("hoodie.datasource.query.type", "everything").load(table.path).count()


def test_a_read_without_a_path_is_refused(spark: SparkSession, table: hf.Table) -> None:
    with pytest.raises(Exception, match="path: expected the path of a table, found none"):
        spark.read.format("hudiformat").load()


def test_keys_may_be_written_in_capitals(spark: SparkSession, table: hf.Table) -> None:
    rows = spark.createDataFrame([("a", 1)], "id string, ts bigint").write.format("hudiformat").mode("append")
    rows.option("Hoodie.Datasource.Write.Operation", "insert").save(table.path)
    [done] = table.timeline.completed
    assert read_metadata(table._context.storage, table.config, done).operation_type == "INSERT"


def options(**given: str) -> SourceOptions:
    """Options as Spark hands them over; ``__`` stands for a dot."""
    return SourceOptions({key.replace("__", ".").lower(): value for key, value in given.items()})


def test_a_query_is_a_snapshot_unless_another_is_asked_for() -> None:
    assert options().query == "snapshot"
    assert options(hoodie__datasource__query__type="READ_OPTIMIZED").query == "read_optimized"
    incremental = {"hoodie__datasource__query__type": "incremental"}
    assert options(**incremental).query == "incremental"
    assert options(**incremental, hoodie__datasource__query__incremental__format="cdc").query == "cdc"


def test_a_write_is_an_upsert_unless_another_operation_is_asked_for() -> None:
    assert options().operation is Operation.UPSERT
    assert options(operation="bulk_insert").operation is Operation.BULK_INSERT
    assert options(hoodie__datasource__write__operation="Delete").operation is Operation.DELETE
    with pytest.raises(hf.OptionError, match="expected one of insert, upsert, .*, found 'alter_schema'"):
        _ = options(operation="alter_schema").operation
    assert options(operation="delete_partition").batch_operation(overwrite=False) is Operation.DELETE_PARTITION
    with pytest.raises(hf.OptionError, match="found delete_partition; call hudiformat.spark.delete_part"):
        _ = options(operation="delete_partition").operation


def test_columns_and_partitions_are_lists() -> None:
    assert options().columns is options().partitions_to_delete is None
    assert options(hudiformat__columns="a, b").columns == ["a", "b"]
    named = options(hoodie__datasource__write__partitions__to__delete="x,y/*")
    assert named.partitions_to_delete == ["x", "y/*"]


def test_mode_overwrite_takes_operations_that_overwrite() -> None:
    assert options().batch_operation(overwrite=True) is Operation.INSERT_OVERWRITE_TABLE
    assert options(operation="insert_overwrite").batch_operation(overwrite=True) is Operation.INSERT_OVERWRITE
    assert options(operation="insert").batch_operation(overwrite=False) is Operation.INSERT
    with pytest.raises(hf.OptionError, match="found upsert; use mode append") as caught:
        options(operation="upsert").batch_operation(overwrite=True)
    assert caught.value.option == "operation"


def test_what_the_data_source_does_not_know_is_for_the_table() -> None:
    given = options(path="/t", operation="insert", maxCommitsPerTrigger="3", hoodie__index__type="BLOOM")
    assert given.of_table == {"hoodie.index.type": "BLOOM"}
    assert given.commits_per_batch == 3


@pytest.mark.parametrize(
    ("misspelt", "meant"),
    [("opertion", "operation"), ("maxcommitspertriger", "maxCommitsPerTrigger"), ("as.of.instnt", "as.of.instant")],
)
def test_a_misspelt_option_of_the_spark_side_gets_its_name(tmp_path: Path, misspelt: str, meant: str) -> None:
    table = new_table(tmp_path / "t")
    with pytest.raises(hf.OptionError, match=f"unknown option '{misspelt}'; did you mean '{meant}'") as caught:
        SourceOptions({"path": table.path, misspelt: "1"}).table()
    assert caught.value.option == misspelt
    with pytest.raises(hf.OptionError, match="did you mean 'hoodie.logfile.max.size'"):
        SourceOptions({"path": table.path, "hoodie.logfile.max.sise": "1"}).table()


def test_options_of_read_may_be_written_in_capitals_and_arguments_go_first(
    spark: SparkSession, table: hf.Table
) -> None:
    table.insert(pa.table({"id": ["a"], "ts": [1]}))
    first = table.timeline.completed[-1].time
    table.insert(pa.table({"id": ["b"], "ts": [1]}))
    capitals = {"AS.OF.INSTANT": first, "HudiFormat.Filter": "id = 'a'", "Hoodie.Datasource.Query.Type": "everything"}
    rows = hudi_spark.read(spark, table.path, columns="id", query="snapshot", options=capitals)
    assert [row.id for row in rows.collect()] == ["a"]
    with pytest.raises(hf.OptionError, match="found 'everything'"):
        hudi_spark.read(spark, table.path, options=capitals)


def test_an_option_that_names_no_columns_is_refused(spark: SparkSession, table: hf.Table) -> None:
    table.insert(pa.table({"id": ["a"], "ts": [1]}))
    with pytest.raises(Exception, match=r"hudiformat\.columns: expected names of columns, found ' , '"):
        spark.read.format("hudiformat").option("hudiformat.columns", " , ").load(table.path).count()
    with pytest.raises(
        hf.OptionError, match=r"expected names of columns, found ''; use .*columns=\[\]\) to count rows"
    ):
        hudi_spark.read(spark, table.path, options={"hudiformat.columns": ""})


@pytest.mark.parametrize("query", ["incremental", "cdc"])
def test_a_query_of_a_span_takes_no_moment_and_its_format_is_one_of_hudis(
    spark: SparkSession, table: hf.Table, query: str
) -> None:
    table.insert(pa.table({"id": ["a"], "ts": [1]}))
    begin = {"hoodie.datasource.read.begin.instanttime": "000"}
    with pytest.raises(hf.OptionError, match=f"as.of.instant: expected no moment for a query with .*={query}"):
        hudi_spark.read(spark, table.path, query=query, as_of=table.timeline.completed[-1].time, options=begin)
    form = {"hoodie.datasource.query.incremental.format": "changes"}
    with pytest.raises(hf.OptionError, match="expected latest_state or cdc, found 'changes'"):
        hudi_spark.read(spark, table.path, query=query, options={**begin, **form})
