"""The file sink on Structured Streaming."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from hudiformat.errors import DataError, OptionError, SchemaError
from hudiformat.sink import FileSink, TaskWriter, parse_sink_options
from hudiformat.sink.options import Codec
from hudiformat.storage.opening import open_storage
from tests.spark.files.support import add_file, run

pytest.importorskip("pyspark")

from hudiformat.spark import file_sink

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hudiformat.spark.files.sink import FileBatches

MERGED = {"auto-compaction": "true", "sink.partition-commit.policy.kind": "success-file"}


def shown(folder: Path) -> list[str]:
    """The files that readers see, without the names that differ from run to run."""
    return sorted(
        f"{path.parent.name}/{path.name.split('-')[0]}"
        for path in folder.rglob("*")
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )


def hidden(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / ".hudiformat-sink").rglob("*") if path.is_file())


def ids(spark: SparkSession, folder: Path) -> list[int]:
    return sorted(row.id for row in spark.read.parquet(str(folder)).select("id").collect())


def read_with_java(spark: SparkSession, path: Path) -> tuple[str, list[dict[str, Any]]]:
    """The codec and the rows of an Avro file, by Avro's own classes, which come with Spark."""
    jvm: Any = spark._jvm
    reader = jvm.org.apache.avro.file.DataFileReader(
        jvm.java.io.File(str(path)), jvm.org.apache.avro.generic.GenericDatumReader()
    )
    return reader.getMetaString("avro.codec"), [json.loads(row.toString()) for row in reader]


@pytest.mark.spark
def test_a_batch_becomes_a_file_per_partition_once(spark: SparkSession, tmp_path: Path) -> None:
    for number in range(2):
        add_file(tmp_path / "in", number)
    out = tmp_path / "out"
    run(spark, tmp_path / "in", file_sink(str(out), partition_by=["day"], options=MERGED))
    expected = [f"day={name}/{kind}" for name in ("2024-05-06", "it%27s") for kind in ("_SUCCESS", *["compacted"] * 2)]
    assert shown(out) == sorted(expected)
    assert ids(spark, out) == [*range(20), *range(100, 120)]
    assert hidden(out) == [f"{1:020}.done"]
    for path in (tmp_path / "checkpoint" / "commits").glob("*1*"):
        path.unlink()  # as if the query had been killed before Spark knew of the batch
    add_file(tmp_path / "in", 2)
    run(spark, tmp_path / "in", file_sink(str(out), partition_by=["day"], options=MERGED))
    assert ids(spark, out) == [*range(20), *range(100, 120), *range(200, 220)]


@pytest.mark.spark
def test_a_batch_that_was_decided_is_finished_by_the_next_query(spark: SparkSession, tmp_path: Path) -> None:
    add_file(tmp_path / "in", 0)
    out = str(tmp_path / "out")
    dies: FileBatches = file_sink(out, partition_by=["day"], options=MERGED)

    def die(*_: object) -> None:
        raise DataError("the process is gone")

    dies._make_sink = lambda **_: FileSink(open_storage(out), dies._share.options, run=die)
    with pytest.raises(Exception, match="the process is gone"):
        run(spark, tmp_path / "in", dies)
    assert shown(tmp_path / "out") == []
    assert f"{0:020}.plan" in hidden(tmp_path / "out")
    run(spark, tmp_path / "in", file_sink(out, partition_by=["day"], options=MERGED))
    assert ids(spark, tmp_path / "out") == [*range(20)]
    assert hidden(tmp_path / "out") == [f"{0:020}.done"]


@pytest.mark.spark
def test_an_empty_batch_is_finished_too(spark: SparkSession, tmp_path: Path) -> None:
    sink = file_sink(str(tmp_path), partition_by=["day"])
    empty = spark.createDataFrame([], "id bigint, day string")
    assert sink(empty, 0) is not None
    assert sink(empty, 0) is None
    assert hidden(tmp_path) == [f"{0:020}.done"]


@pytest.mark.spark
def test_avro_files_are_written_and_merged(spark: SparkSession, tmp_path: Path) -> None:
    options = {"format": "avro", "auto-compaction": "true"}
    rows = spark.range(0, 40, numPartitions=3).selectExpr("id", "IF(id % 2 = 0, 'a', NULL) AS name", "'x' AS day")
    assert file_sink(str(tmp_path), partition_by=["day"], options=options)(rows, 0) is not None
    (path,) = tmp_path.glob("day=x/*")
    assert path.name.startswith("compacted-part-0000000000-00000-00000-")
    assert path.suffix == ".avro"
    expected = [{"id": i, "name": None if i % 2 else "a"} for i in range(40)]
    assert read_with_java(spark, path) == ("snappy", expected)


@pytest.mark.all_sets
@pytest.mark.spark
@pytest.mark.parametrize("codec", [codec.value for codec in Codec])
def test_avro_s_java_classes_read_every_codec(spark: SparkSession, tmp_path: Path, codec: str) -> None:
    rows = pa.RecordBatch.from_pydict({"id": list(range(100)), "name": [f"row {i}" for i in range(100)]})
    options = parse_sink_options({"format": "avro", "avro.codec": codec})
    with TaskWriter(open_storage(str(tmp_path)), rows.schema, task=0, options=options) as writer:
        writer.write(rows)
        (file,) = writer.finish().files
    assert read_with_java(spark, tmp_path / file.path) == (codec, rows.to_pylist())


@pytest.mark.spark
def test_what_the_rows_do_not_have_is_refused_before_anything_is_written(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.createDataFrame([(1, "x")], "id bigint, day string")
    with pytest.raises(SchemaError, match="partition column hour: expected once in the rows, found 0 times"):
        file_sink(str(tmp_path), partition_by=["hour"])(rows, 0)
    for column in ("at", "day"):
        with pytest.raises(SchemaError, match=f"event_time: expected a column of timestamps, found '{column}'"):
            file_sink(str(tmp_path), event_time=column)(rows, 0)
    with pytest.raises(SchemaError, match="column m of type map.* cannot be stored: Avro maps have string keys"):
        file_sink(str(tmp_path), options={"format": "avro"})(rows.selectExpr("map(id, day) AS m"), 0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.spark
def test_an_error_of_a_task_is_ours(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.createDataFrame([(1, 0.5)], "id bigint, part double")
    with pytest.raises(SchemaError, match="part"):
        file_sink(str(tmp_path), partition_by=["part"])(rows, 0)
    assert shown(tmp_path) == []


def test_contradictions_are_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="'metastore' and the argument metastore= together"):
        file_sink(str(tmp_path), options={"sink.partition-commit.policy.kind": "metastore"})
    with pytest.raises(OptionError, match="did you mean 'auto-compaction'"):
        file_sink(str(tmp_path), options={"auto-compactio": "true"})
