"""Schemas that evolve by writes on Spark: functions, the data source, and a stream."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

import hudiformat as hf
from hudiformat import spark as hudi_spark

pytestmark = pytest.mark.unmeasured

SCHEMA = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("p", pa.string()), ("v", pa.int32())])
OLD = pa.table({"id": ["a", "b"], "ts": [1, 1], "p": ["x", "x"], "v": [1, 2]}, SCHEMA)
WIDER = "select 'a' as id, 2L as ts, 'x' as p, cast(5000000000 as bigint) as v, nullif('new', '') as z"
SET_NULL = "hoodie.write.set.null.for.missing.columns"


@pytest.fixture(params=["SIMPLE", "GLOBAL_SIMPLE", "BUCKET"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> hf.Table:
    path = tmp_path / "table"
    options = {"hoodie.index.type": request.param}
    hf.create_table(
        path, name="t", schema=SCHEMA, record_key=["id"], ordering=["ts"], partition_by=["p"], options=options
    )
    made = hf.open_table(path, options={} if request.param == "BUCKET" else options)
    made.upsert(OLD)
    return made


def values(table: hf.Table, *columns: str) -> list[tuple[object, ...]]:
    rows = hf.open_table(table.path).snapshot(columns=["id", *columns]).sort_by("id").to_pylist()
    return [tuple(row.values()) for row in rows]


def index_of(table: hf.Table) -> dict[str, str]:
    kind = table._context.options.index_type.value
    return {} if kind == "BUCKET" else {"hoodie.index.type": kind}


def test_functions_bring_new_columns_and_wider_types(spark: SparkSession, table: hf.Table) -> None:
    hudi_spark.upsert(spark.sql(WIDER), table.path, options=index_of(table))
    assert values(table, "v", "z") == [("a", 5_000_000_000, "new"), ("b", 2, None)]
    fewer = spark.sql("select 'b' as id, 3L as ts, 'x' as p, 7L as v")
    with pytest.raises(hf.SchemaError, match="lack columns of the table: z"):
        hudi_spark.upsert(fewer, table.path, options=index_of(table))
    hudi_spark.upsert(fewer, table.path, options={**index_of(table), SET_NULL: "true"})
    assert values(table, "v", "z") == [("a", 5_000_000_000, "new"), ("b", 7, None)]


def test_the_data_source_brings_them_too(spark: SparkSession, table: hf.Table) -> None:
    hudi_spark.register(spark)
    options = index_of(table)
    spark.sql(WIDER).write.format("hudiformat").mode("append").options(**options).save(table.path)
    assert values(table, "v", "z") == [("a", 5_000_000_000, "new"), ("b", 2, None)]
    assert spark.read.format("hudiformat").load(table.path).schema["v"].dataType.simpleString() == "bigint"


def test_a_stream_brings_them_with_its_first_batch(spark: SparkSession, tmp_path: Path, table: hf.Table) -> None:
    pytest.importorskip("pyspark.sql.datasource", reason="PySpark 4")
    if not hasattr(__import__("pyspark.sql.datasource", fromlist=[""]), "DataSourceStreamArrowWriter"):
        pytest.skip("writing a stream needs PySpark 4.1")
    hudi_spark.register(spark)
    for number in range(2):
        rows = spark.sql(f"select 'k{number}' as id, 2L as ts, 'x' as p, {number}L as v, nullif('z{number}', '') as z")
        rows.write.mode("append").parquet(str(tmp_path / "source"))
        stream = spark.readStream.schema(rows.schema).parquet(str(tmp_path / "source"))
        writing = stream.writeStream.format("hudiformat").options(**index_of(table), path=table.path)
        writing = writing.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
        writing.start().awaitTermination()
    assert values(table, "v", "z") == [("a", 1, None), ("b", 2, None), ("k0", 0, "z0"), ("k1", 1, "z1")]
