"""A stream into a table: every batch is one commit, also when it comes again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat.spark.write.checkpoints import newest_batch
from hudiformat.timeline.archive.archiving import ArchiveLimits, archive_instants
from hudiformat.timeline.timeline import read_metadata
from tests.spark.streams import SCHEMA, add_file, forget_commit, ids, new_table, rows, staged, stream_in

pytest.importorskip("pyspark.sql.streaming.datasource")

import hudiformat.spark as hudi_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.unmeasured


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> hf.Table:
    hudi_spark.register(spark)
    return new_table(tmp_path / "table")


def test_every_batch_is_a_commit_that_names_it(spark: SparkSession, table: hf.Table, tmp_path: Path) -> None:
    for number in range(3):
        add_file(tmp_path / "in", number, rows(10 * number, 10))
    stream_in(spark, tmp_path / "in", table)
    assert ids(table) == sorted(f"k{number}" for number in range(30))
    query = json.loads((tmp_path / "checkpoint" / "metadata").read_text())["id"]
    found = [
        json.loads(read_metadata(table._context.storage, table.config, one).extra_metadata[
            "_hudi_streaming_sink_checkpoint"
        ])
        for one in table.timeline.completed
    ]  # fmt: skip
    assert found == [{query: "0"}, {query: "1"}, {query: "2"}]
    assert staged(table) == []


def test_a_batch_that_comes_again_is_passed_over(spark: SparkSession, table: hf.Table, tmp_path: Path) -> None:
    for number in range(2):
        add_file(tmp_path / "in", number, rows(10 * number, 10))
    stream_in(spark, tmp_path / "in", table)
    before = table.timeline.instants
    forget_commit(tmp_path / "in", 1)
    stream_in(spark, tmp_path / "in", table)
    assert table.timeline.instants == before
    assert ids(table) == sorted(f"k{number}" for number in range(20))
    assert staged(table) == []


def test_a_batch_that_comes_again_is_known_from_the_archive(
    spark: SparkSession, table: hf.Table, tmp_path: Path
) -> None:
    add_file(tmp_path / "in", 0, rows(0, 10))
    stream_in(spark, tmp_path / "in", table)
    [first] = table.timeline.completed
    for number in range(10):
        table.insert(rows(100 + number, 1))
    limits = ArchiveLimits(max_commits=3, min_commits=2, compaction_delta_commits=1)
    table.schedule_compaction()
    table.compact()
    archive_instants(table._context.storage, table.config, limits)
    assert first not in table.timeline.completed
    forget_commit(tmp_path / "in", 0)
    stream_in(spark, tmp_path / "in", table)
    assert len(ids(table)) == len(set(ids(table))) == 20


def test_two_queries_do_not_take_each_others_batches_for_theirs(
    spark: SparkSession, table: hf.Table, tmp_path: Path
) -> None:
    add_file(tmp_path / "in", 0, rows(0, 10))
    stream_in(spark, tmp_path / "in", table)
    shutil.rmtree(tmp_path / "in")
    add_file(tmp_path / "in", 0, rows(10, 10))
    stream_in(spark, tmp_path / "in", table, checkpoint="another")
    assert len(ids(table)) == 20


def test_a_writer_may_be_named(spark: SparkSession, table: hf.Table, tmp_path: Path) -> None:
    key = {"hoodie.datasource.write.streaming.checkpoint.identifier": "mine"}
    add_file(tmp_path / "in", 0, rows(0, 10))
    stream_in(spark, tmp_path / "in", table, **key)
    assert newest_batch(table._context.state(), "mine") == 0
    stream_in(spark, tmp_path / "in", table, checkpoint="another", **key)  # batch 0 of the same writer
    assert len(table.timeline.completed) == 1


def test_a_batch_that_fails_leaves_nothing(spark: SparkSession, table: hf.Table, tmp_path: Path) -> None:
    add_file(tmp_path / "in", 0, rows(0, 10))
    stream_in(spark, tmp_path / "in", table)
    before = {path for path in Path(table.path).rglob("*") if path.is_file()}
    add_file(tmp_path / "in", 1, pa.table({"id": [None, "x"], "ts": [1, 1]}, schema=SCHEMA))
    with pytest.raises(Exception, match="id"):
        stream_in(spark, tmp_path / "in", table)
    assert {path for path in Path(table.path).rglob("*") if path.is_file()} == before
    assert staged(table) == []
    add_file(tmp_path / "in", 1, rows(10, 10))
    stream_in(spark, tmp_path / "in", table)
    assert ids(table) == sorted(f"k{number}" for number in range(20))


def test_a_stream_compacts_after_so_many_delta_commits(spark: SparkSession, table: hf.Table, tmp_path: Path) -> None:
    inline = {
        "operation": "upsert",
        "hoodie.compact.inline": "true",
        "hoodie.compact.inline.max.delta.commits": "2",
        "hoodie.index.type": "INMEMORY",
    }
    for number in range(4):
        add_file(tmp_path / "in", number, rows(0, 10, ts=number))
    stream_in(spark, tmp_path / "in", table, **inline)
    assert [done.action.value for done in table.timeline.completed] == [
        "deltacommit", "deltacommit", "commit", "deltacommit", "deltacommit", "commit",
    ]  # fmt: skip
    assert set(table.read_optimized()["ts"].to_pylist()) == {3}
    assert len(ids(table)) == 10


def test_overwriting_streams_are_refused(spark: SparkSession, table: hf.Table, tmp_path: Path) -> None:
    add_file(tmp_path / "in", 0, rows(0, 10))
    source = spark.readStream.schema("id string, ts bigint").parquet(str(tmp_path / "in")).groupBy("id").max("ts")
    writer = source.writeStream.format("hudiformat").outputMode("complete")
    with pytest.raises(Exception, match="output mode: expected append, found complete"):
        writer.option("checkpointLocation", str(tmp_path / "c")).start(table.path).awaitTermination()
