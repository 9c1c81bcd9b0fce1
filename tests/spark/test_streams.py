"""Streams into tables and out of them: every row once, whatever is stopped when."""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow.dataset import dataset

import hudiformat as hf
from examples.flights.source import read_flights
from hudiformat.timeline.archive.archiving import read_archived
from hudiformat.timeline.commit_metadata import CommitMetadata
from hudiformat.timeline.timeline import read_metadata
from hudiformat.write.commit.transaction import Commit
from tests.effort import LONG, only_long
from tests.rows import assert_same_rows
from tests.spark.killable import leave_first_offset_unfinished, running, wait_for, wait_for_a_commit
from tests.spark.streams import add_file, forget_commit, ids, new_table, rows, staged, stream_out
from tests.tables import unpack

pytest.importorskip("pyspark.sql.streaming.datasource")

import hudiformat.spark as hudi_spark
from tests.spark.stream_into_table import stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FLIGHTS = pa.schema(
    [
        pa.field("id", pa.string()),
        pa.field("ts", pa.int64()),
        pa.field("month", pa.string()),
        pa.field("delay", pa.float64()),
    ]
)
BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}
KILLS = int(os.environ.get("HUDIFORMAT_KILLS", "1" if LONG else "0"))
"""At any moment after a commit; before these a query is killed that has staged rows."""
SCRIPT = Path(__file__).with_name("stream_into_table.py")


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> hf.Table:
    hudi_spark.register(spark)
    return new_table(tmp_path / "table")


def test_batches_may_be_written_by_all_tasks(spark: SparkSession, table: hf.Table, tmp_path: Path) -> None:
    for number in range(2):
        add_file(tmp_path / "in", number, rows(10 * number, 10))
    commits: list[Commit | None] = []

    def write(df: DataFrame, batch: int) -> None:
        commits.append(hudi_spark.write_batch(df, table.path, batch, operation="insert"))

    for _ in range(2):
        source = spark.readStream.schema("id string, ts bigint").option("maxFilesPerTrigger", 1)
        writer = source.parquet(str(tmp_path / "in")).writeStream.foreachBatch(write)
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
        writer.start().awaitTermination()
        forget_commit(tmp_path / "in", 1)
    assert [commit is not None and commit.num_writes for commit in commits] == [10, 10, False]
    assert ids(table) == sorted(f"k{number}" for number in range(20))


def test_a_batch_of_no_stream_is_refused(spark: SparkSession, table: hf.Table) -> None:
    df = spark.createDataFrame([("a", 1)], "id string, ts bigint")
    with pytest.raises(hf.OptionError, match="expected a batch of a stream"):
        hudi_spark.write_batch(df, table.path, 0)
    name = {"hoodie.datasource.write.streaming.checkpoint.identifier": "mine"}
    assert hudi_spark.write_batch(df, table.path, 0, options=name) is not None
    assert hudi_spark.write_batch(df, table.path, 0, options=name) is None


def test_the_operation_of_a_batch_may_be_an_option(spark: SparkSession, table: hf.Table) -> None:
    df = spark.createDataFrame([("a", 1)], "id string, ts bigint")
    options = {
        "hoodie.datasource.write.streaming.checkpoint.identifier": "mine",
        "hoodie.datasource.write.operation": "insert",
    }
    for number in range(2):
        hudi_spark.write_batch(df, table.path, number, options=options)
    assert ids(table) == ["a", "a"]
    hudi_spark.write_batch(df, table.path, 2, operation="insert_overwrite_table", options=options)
    assert ids(table) == ["a"]


@only_long
@pytest.mark.spark
@pytest.mark.unmeasured
def test_a_query_that_is_killed_loses_and_doubles_no_row(java: Path, spark: SparkSession, tmp_path: Path) -> None:
    """A process streams in all four ways at once, and is killed in the middle of whatever each of them is doing.

    The session of the tests takes the rest.
    """
    dice = random.Random()
    tables = [new_flights(tmp_path / "source", BUCKETS), new_flights(tmp_path / "batches", {})]
    table = tables[0]
    files = flights_by_day(3 * KILLS + 2)
    for number, file in enumerate(files):
        add_file(tmp_path / "in", number, file)
    for name in ("source", "batches", "sink", "files"):
        leave_first_offset_unfinished(tmp_path / f"checkpoint-{name}")
    with running(java, query_of(tmp_path), tmp_path / "log") as query:
        wait_for(lambda: bool(list(Path(table.path).glob(".hoodie/.temp/*/staged*"))), query)
        killed = int(query.poll() is None)
    while killed <= KILLS and len(table.timeline.completed) < len(files):
        with running(java, query_of(tmp_path), tmp_path / "log") as query:
            wait_for_a_commit(table, query)
            time.sleep(dice.uniform(0, 1))
            killed += query.poll() is None
    assert killed
    stream(spark, str(tmp_path / "in"), str(tmp_path))
    spark.conf.unset("spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart")
    for one in tables:
        assert_every_batch_is_there(one, files)
    every = pa.concat_tables(files).sort_by([("id", "ascending"), ("ts", "ascending")])
    for name in ("sink", "files"):
        written = dataset(tmp_path / name, partitioning="hive").to_table().select(FLIGHTS.names).cast(FLIGHTS)
        assert written.sort_by([("id", "ascending"), ("ts", "ascending")]).equals(every), name
        assert list((tmp_path / name).rglob("*.inprogress")) == []


def query_of(folder: Path) -> list[str]:
    return [str(SCRIPT), str(folder / "in"), str(folder)]


def new_flights(path: Path, options: dict[str, str]) -> hf.Table:
    return hf.create_table(
        path, name="t", schema=FLIGHTS, record_key=["id"], ordering=["ts"], partition_by=["month"], options=options
    )


def assert_every_batch_is_there(table: hf.Table, files: list[pa.Table]) -> None:
    """Each batch is one commit, and the table has the newest row of each flight."""
    reported = pa.concat_tables(files).group_by("id").aggregate([("ts", "max"), ("month", "min"), ("delay", "max")])
    expected = reported.rename_columns(["id", "ts", "month", "delay"])  # a schedule has no delay
    assert_same_rows(table.snapshot(columns=FLIGHTS.names), expected.select(FLIGHTS.names), key=("id",))
    # Of two files that Spark had begun to read when it was killed it makes one batch.
    root = Path(table.path)
    batches = [int(path.name) for path in (root.parent / f"checkpoint-{root.name}" / "commits").glob("[0-9]*")]
    assert batches_in(table) == sorted(batches) == list(range(len(batches)))
    assert table.timeline.pending == ()
    assert staged(table) == []
    table.clean()
    assert table.verify() == []


def batches_in(table: hf.Table) -> list[int]:
    """The batches that commits of *table* name, archived ones too."""
    storage, config = table._context.storage, table.config
    archived = {one.instant: one.metadata for one in read_archived(storage, config) if one.instant.action.is_write}
    found = archived | {one: read_metadata(storage, config, one) for one in table.timeline.completed_writes}
    written = [one for one in found.values() if isinstance(one, CommitMetadata)]
    said = [json.loads(one.extra_metadata["_hudi_streaming_sink_checkpoint"]) for one in written]
    return sorted(int(batch) for one in said for batch in one.values())


def flights_by_day(days: int) -> list[pa.Table]:
    """What comes on each day: the schedule of that day, and what became of the flights of the day before."""
    flights = read_flights()
    key = [flights[name].cast(pa.string()) for name in ("month", "day", "carrier", "flight", "origin")]
    day = pc.day_of_year(pc.strptime(pc.binary_join_element_wise(*key[:2], "-"), "%m-%d", "s"))
    rows = pa.table(
        {
            "id": pc.binary_join_element_wise(*key, "-"),
            "ts": pa.repeat(1, len(flights)),
            "month": key[0],
            "delay": pa.nulls(len(flights), pa.float64()),
        },
        FLIGHTS,
    )
    delays = flights["arr_delay"].cast(pa.float64())
    arrived = rows.set_column(1, FLIGHTS.field("ts"), pa.array([2] * len(rows))).set_column(3, "delay", delays)
    return [
        pa.concat_tables([rows.filter(pc.equal(day, number)), arrived.filter(pc.equal(day, number - 1))])
        for number in range(1, days + 1)
    ]


@only_long
def test_a_table_is_read_as_it_grows_commit_by_commit(spark: SparkSession, table: hf.Table, tmp_path: Path) -> None:
    for number in range(3):
        table.upsert(rows(number, 2, ts=number))
    batches = stream_out(spark, table, tmp_path / "c", maxCommitsPerTrigger="1")
    assert [sorted((row["id"], row["ts"]) for row in batch) for batch in batches] == [
        [("k0", 0), ("k1", 0)],
        [("k1", 1), ("k2", 1)],
        [("k2", 2), ("k3", 2)],
    ]
    table.upsert(rows(9, 1, ts=5))
    table.upsert(rows(9, 1, ts=6))
    [batch] = stream_out(spark, table, tmp_path / "c")
    assert [(row["id"], row["ts"]) for row in batch] == [("k9", 6)]
    assert stream_out(spark, table, tmp_path / "c") == []


@only_long
def test_changes_are_read_as_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    hudi_spark.register(spark)
    golden = hf.open_table(unpack("v9-mor-cdc-h120", tmp_path).table)
    query = {"hoodie.datasource.query.type": "incremental", "hoodie.datasource.query.incremental.format": "cdc"}
    batches = stream_out(spark, golden, tmp_path / "c", maxCommitsPerTrigger="1", **query)
    found = [row for batch in batches for row in batch]
    expected = golden.cdc("000").to_pylist()
    assert sorted(found, key=str) == sorted(expected, key=str)
    assert len(batches) > 1


@only_long
def test_a_stream_goes_through_a_table_into_another(spark: SparkSession, table: hf.Table, tmp_path: Path) -> None:
    table.upsert(rows(0, 5))
    second = new_table(tmp_path / "second")
    source = spark.readStream.format("hudiformat").load(table.path).select("id", "ts")
    writer = source.writeStream.format("hudiformat").option("checkpointLocation", str(tmp_path / "c"))
    writer.trigger(availableNow=True).start(second.path).awaitTermination()
    assert ids(second) == ids(table)
