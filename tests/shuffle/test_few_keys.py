"""The keys of few rows are sent to the tasks that look for them; those of many are not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tests.shuffle.test_global_lookup import Pair, rows_of

pytest.importorskip("pyspark.sql")

from hudiformat.shuffle import few_keys, summary
from hudiformat.shuffle.few_keys import packed_keys
from hudiformat.shuffle.tagging import KEY, PATH

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_keys_come_by_partition_path_unless_there_are_many(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = spark.createDataFrame([("x", "a"), ("y", "b"), ("x", "c"), ("x", "a")], f"{PATH} string, {KEY} string")
    found = few_keys.few_keys(rows.repartition(2))
    assert found is not None
    assert {path: sorted(keys.to_pylist()) for path, keys in found.items()} == {"x": ["a", "c"], "y": ["b"]}
    assert few_keys.few_keys(rows.where("false")) == {}
    monkeypatch.setattr(few_keys, "MOST", 3)
    assert few_keys.few_keys(rows) is None


def test_a_task_stops_once_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(few_keys, "MOST", 3)
    read = []

    def batches() -> Iterator[pa.RecordBatch]:
        for number in range(9):
            read.append(number)
            yield pa.record_batch({PATH: ["x"] * 2, KEY: [f"k{number}"] * 2})

    (packed,) = packed_keys(batches())
    assert read == [0, 1]
    assert pa.ipc.open_stream(packed[0][0].as_py()).read_all().num_rows == 4
    assert list(packed_keys([])) == []


def test_rows_of_many_keys_are_joined_with_all_keys_of_the_table(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summary, "MOST", 0)
    pair = Pair(spark, tmp_path, "COPY_ON_WRITE", {"hoodie.index.type": "SIMPLE"})
    pair.begin("upsert", rows_of(1))
    pair.write("upsert", rows_of(2))
