"""Partitions of a file sink are committed to Spark's catalog."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.spark.files.support import DAYS, START, add_file, run

pytest.importorskip("pyspark")

from hudiformat.spark import CatalogMetastore, file_sink

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
def test_partitions_are_committed_to_sparks_catalog_when_their_time_has_come(
    spark: SparkSession, tmp_path: Path
) -> None:
    for number in range(3):
        add_file(tmp_path / "in", number)
    out = tmp_path / "out"
    spark.sql(
        f"CREATE TABLE shown (id BIGINT, at TIMESTAMP, day STRING) USING parquet PARTITIONED BY (day) LOCATION '{out}'"
    )
    options = {
        "sink.partition-commit.policy.kind": "metastore,success-file",
        "sink.partition-commit.trigger": "partition-time",
        "sink.partition-commit.delay": "90 min",
        "partition.time-extractor.kind": "custom",
    }
    sink = file_sink(
        str(out),
        partition_by=["day"],
        options=options,
        event_time="at",
        lateness=10 * 60_000,
        metastore=CatalogMetastore(spark, "shown"),
        extractor=lambda values: START.replace(tzinfo=None, hour=0 if values["day"] == DAYS[0] else 1),
    )
    run(spark, tmp_path / "in", sink, tasks=2)  # the last watermark is 1:50
    partitions = [row.partition for row in spark.sql("SHOW PARTITIONS shown").collect()]
    assert partitions == ["day=2024-05-06"]
    assert spark.table("shown").count() == 30
    assert sink.end() == ["day=it%27s"]
    assert spark.table("shown").where('day = "it\'s"').count() == 30
    spark.sql("DROP TABLE shown")
