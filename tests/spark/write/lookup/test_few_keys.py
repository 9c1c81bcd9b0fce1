"""The keys of few rows are sent to the tasks that look for them; those of many are not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat.file_group.slices import BaseFile, FileSlice
from hudiformat.naming.file_names import BaseFileName
from tests.effort import LONG, only_long
from tests.spark.write.lookup.test_global_lookup import POLICY, Pair, doubled, rows_of

pytest.importorskip("pyspark.sql")

from hudiformat.spark.write import by_tasks, summary
from hudiformat.spark.write.lookup import few_keys
from hudiformat.spark.write.lookup.few_keys import pack_keys
from hudiformat.spark.write.lookup.tagging import KEY, PATH
from hudiformat.spark.write.summary import Summary

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
    monkeypatch.setattr(few_keys, "MAX_KEYS", 3)
    assert few_keys.few_keys(rows) is None


def test_a_task_stops_once_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(few_keys, "MAX_KEYS", 3)
    read = []

    def batches() -> Iterator[pa.RecordBatch]:
        for number in range(9):
            read.append(number)
            yield pa.record_batch({PATH: ["x"] * 2, KEY: [f"k{number}"] * 2})

    (packed,) = pack_keys(batches())
    assert read == [0, 1]
    assert pa.ipc.open_stream(packed[0][0].as_py()).read_all().num_rows == 4
    assert list(pack_keys([])) == []


@only_long
@pytest.mark.parametrize(
    ("table_type", "by_partition"),
    [
        ("COPY_ON_WRITE", True),
        ("MERGE_ON_READ", False),
        *([("COPY_ON_WRITE", False), ("MERGE_ON_READ", True)] if LONG else []),
    ],
)
def test_many_keys_are_looked_up_by_partition_or_joined_with_all_keys_of_the_table(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table_type: str, *, by_partition: bool
) -> None:
    monkeypatch.setattr(summary, "MOST", 0)
    monkeypatch.setattr(by_tasks, "_is_shared_by_paths", lambda *_: by_partition)
    pair = Pair(spark, tmp_path, table_type, {"hoodie.index.type": "SIMPLE"})
    pair.begin("upsert", rows_of(1))
    pair.write("upsert", doubled(rows_of(2, deletes=True)))
    pair.write("delete", rows_of(3)[:15])
    pair.open({"hoodie.index.type": "SIMPLE", POLICY: "drop"})
    pair.write("insert", rows_of(4))
    pair.open({"hoodie.index.type": "SIMPLE", POLICY: "fail"})
    with pytest.raises(hf.DataError, match="is in partition .* already"):
        pair.write("insert", rows_of(4))


def test_tasks_take_whole_partitions_where_none_is_large() -> None:
    def known(**counts: int) -> Summary:
        return Summary(sum(counts.values()), tuple(counts), {path: {0: count} for path, count in counts.items()}, None)

    one = FileSlice("x", "f", "1", BaseFile(BaseFileName("f", "0-0-0", "1", "parquet"), 1000))
    assert by_tasks._is_shared_by_paths(known(x=5, y=5), [one])
    assert not by_tasks._is_shared_by_paths(known(x=6, y=4), [one])
    assert not by_tasks._is_shared_by_paths(known(x=10), [one])
    assert not by_tasks._is_shared_by_paths(known(x=5, y=5), [one], most_bytes=999)
    assert by_tasks._is_shared_by_paths(known(x=5, y=5), [one], most_bytes=1000)
    assert not by_tasks._is_shared_by_paths(known(x=5, y=5), [one], most_rows=4)
