"""Streams into plain files by the data source: what foreachBatch does, without a function."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hudiformat.errors import OptionError, UnsupportedFeatureError
from tests.effort import only_long
from tests.spark.files.support import add_file
from tests.spark.files.test_sink import MERGED, hidden, ids, shown

pytest.importorskip("pyspark.sql.streaming.datasource")

import hudiformat.spark as hudi_spark
from hudiformat.spark.files.source import share_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BY_DAY = {"hudiformat.sink.partition.columns": "day"}


def run(spark: SparkSession, folder: Path, out: Path, options: dict[str, str]) -> None:
    """One query over the files of *folder*, a batch for each file."""
    hudi_spark.register(spark)
    source = spark.readStream.schema("id bigint, day string, at timestamp").option("maxFilesPerTrigger", 1)
    writer = source.parquet(str(folder)).repartition(3).writeStream.format("hudiformat-files").options(**options)
    writer = writer.option("checkpointLocation", str(folder.parent / "checkpoint"))
    writer.trigger(availableNow=True).start(str(out)).awaitTermination()


@only_long
def test_batches_are_merged_and_their_partitions_committed(spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for number in range(2):
        add_file(tmp_path / "in", number)
    run(spark, tmp_path / "in", out, {**BY_DAY, **MERGED})
    assert ids(spark, out) == [*range(20), *range(100, 120)]
    files = [name for name in shown(out) if not name.endswith("_SUCCESS")]
    assert len(files) == 4  # two days, two batches: the files of three tasks are one
    assert sum(name.endswith("_SUCCESS") for name in shown(out)) == 2
    assert [name for name in hidden(out) if name.endswith(".inprogress")] == []
    add_file(tmp_path / "in", 2)
    run(spark, tmp_path / "in", out, {**BY_DAY, **MERGED})
    assert ids(spark, out) == [*range(20), *range(100, 120), *range(200, 220)]


@only_long
def test_a_batch_that_comes_again_is_not_written_again(spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "out"
    add_file(tmp_path / "in", 0)
    run(spark, tmp_path / "in", out, BY_DAY)
    before = shown(out)
    for path in (tmp_path / "checkpoint" / "commits").glob("*0*"):
        path.unlink()  # Spark was stopped before it had recorded the batch
    run(spark, tmp_path / "in", out, BY_DAY)
    assert shown(out) == before
    assert ids(spark, out) == list(range(20))
    assert [name for name in hidden(out) if name.endswith(".inprogress")] == []


def test_what_a_killed_attempt_has_left_goes_with_its_batch(spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "out"
    staging = out / ".hudiformat-sink" / "default" / "staging"
    staging.mkdir(parents=True)
    (staging / f"{0:020}-left.inprogress").write_bytes(b"")
    add_file(tmp_path / "in", 0)
    run(spark, tmp_path / "in", out, BY_DAY)
    assert [name for name in hidden(out) if name.endswith(".inprogress")] == []
    assert ids(spark, out) == list(range(20))


def test_options_are_checked_and_what_needs_a_session_is_refused() -> None:
    share = share_of({"path": "/p", **BY_DAY, "hudiformat.sink.event.time": "at", "hudiformat.sink.lateness": "5"})
    assert (share.partition_by, share.event_time, share.lateness) == (("day",), "at", 5)
    with pytest.raises(OptionError, match="path: expected the path of a folder, found none"):
        share_of({})
    with pytest.raises(OptionError, match="hudiformat.sink.lateness: expected milliseconds, found '5s'"):
        share_of({"path": "/p", "hudiformat.sink.lateness": "5s"})
    with pytest.raises(OptionError, match="did you mean 'auto-compaction'"):
        share_of({"path": "/p", "auto-compactoin": "true"})
    with pytest.raises(UnsupportedFeatureError, match=r"foreachBatch\(hudiformat.spark.file_sink\(.*metastore="):
        share_of({"path": "/p", "sink.partition-commit.policy.kind": "metastore,success-file"})


def test_columns_that_are_missing_stop_the_query(spark: SparkSession, tmp_path: Path) -> None:
    add_file(tmp_path / "in", 0)
    with pytest.raises(Exception, match="hour"):
        run(spark, tmp_path / "in", tmp_path / "out", {"hudiformat.sink.partition.columns": "hour"})
