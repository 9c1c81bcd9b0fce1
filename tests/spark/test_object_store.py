"""Spark and an object store: driver and tasks meet there alone, and learn from their environment how to reach it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hudiformat as hf
from hudiformat.storage.opening import open_storage
from tests.effort import only_long

pytest.importorskip("pyspark.sql.streaming.datasource")

import hudiformat.spark as hudi_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tools.s3_server import S3Server

pytestmark = pytest.mark.unmeasured

SCHEMA = pa.schema([pa.field("id", pa.string()), pa.field("ts", pa.int64()), pa.field("p", pa.string())])


@pytest.fixture
def place(spark: SparkSession, s3: S3Server, bucket: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A bucket that tasks reach too, as if the session had been made with ``spark.executorEnv.AWS_...``."""
    for key, value in s3.environ.items():
        monkeypatch.setitem(spark.sparkContext.environment, key, value)
    return bucket


def things(spark: SparkSession, start: int, count: int, *, ts: int = 1) -> DataFrame:
    numbers = spark.range(start, start + count, 1, 2)
    return numbers.selectExpr("concat('k', id) as id", f"cast({ts} as bigint) as ts", "concat('p', id % 2) as p")


def rows(*values: tuple[str, int, str]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, value, strict=True)) for value in values], SCHEMA)


def found(table: pa.Table) -> dict[str, int]:
    return dict(zip(table["id"].to_pylist(), table["ts"].to_pylist(), strict=True))


@only_long
def test_a_table_is_written_and_streamed_out_of_and_into(spark: SparkSession, place: str, tmp_path: Path) -> None:
    hudi_spark.register(spark)
    path, copy = f"{place}/table", f"{place}/copy"
    for made in (path, copy):
        hf.create_table(made, name="t", schema=SCHEMA, record_key=["id"], ordering=["ts"], partition_by=["p"])
    hf.open_table(path).insert(rows(*((f"k{i}", 1, f"p{i % 2}") for i in range(6))))  # by tasks: test_cluster.py
    hudi_spark.upsert(things(spark, 4, 4, ts=2), path)
    expected = {**{f"k{i}": 1 for i in range(4)}, **{f"k{i}": 2 for i in range(4, 8)}}
    assert found(hf.open_table(path).snapshot()) == expected
    assert found(spark.read.format("hudiformat").load(path).toArrow()) == expected
    stream = spark.readStream.format("hudiformat").load(path).select(*SCHEMA.names).writeStream.format("hudiformat")
    stream = stream.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
    stream.start(copy).awaitTermination()
    copied = hf.open_table(copy)
    assert found(copied.snapshot()) == expected
    assert len(copied.timeline.completed) == 1
    assert [*copied.verify(), *hf.open_table(path).verify()] == []


def test_merged_files_are_shown(spark: SparkSession, place: str) -> None:
    options = {"auto-compaction": "true", "sink.partition-commit.policy.kind": "success-file"}
    sink = hudi_spark.file_sink(f"{place}/files", partition_by=["p"], options=options)
    for batch in range(2):
        sink(things(spark, 10 * batch, 6), batch)  # by two tasks, both with rows of both partitions
    storage = open_storage(f"{place}/files")
    names = [(folder, one.name) for folder in ("p=p0", "p=p1") for one in storage.list(folder)]
    assert sorted(name.split("-")[0] for _, name in names) == ["_SUCCESS"] * 2 + ["compacted"] * 4
    merged = [storage.read(f"{folder}/{name}") for folder, name in names if name != "_SUCCESS"]
    ids = [key for data in merged for key in pq.read_table(pa.BufferReader(data))["id"].to_pylist()]
    assert sorted(ids) == sorted(f"k{i}" for i in (*range(6), *range(10, 16)))


def test_what_tasks_would_not_be_told_is_refused(spark: SparkSession, s3: S3Server, place: str) -> None:
    hf.create_table(f"{place}/table", name="t", schema=SCHEMA, record_key=["id"], ordering=["ts"], partition_by=["p"])
    told = f"{place}/table?region={s3.environ['AWS_REGION']}"
    with pytest.raises(
        hf.OptionError, match=r"expected one without credentials .*/table.* spark.executorEnv.AWS_ENDPOINT_URL"
    ):
        hudi_spark.insert(things(spark, 0, 1), told)
