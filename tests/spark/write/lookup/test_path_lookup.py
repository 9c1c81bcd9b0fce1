"""Writing by tasks with the partitioned record index: the same rows as one process writes with it."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tests.metadata_statistics import check_record_index
from tests.spark.write.lookup.test_global_lookup import Pair

pytest.importorskip("pyspark.sql")

from hudiformat.spark.write import summary
from hudiformat.spark.write.lookup.path_lookup import join_for_lookup
from hudiformat.spark.write.lookup.tagging import KEY
from hudiformat.write.index.tagging import PartitionIndex

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OPTIONS = {
    "hoodie.index.type": "RECORD_LEVEL_INDEX",
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.record.level.index.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "false",
}


def rows_of(seed: int) -> list[tuple[str, int | None, str, int, bool]]:
    random = Random(seed)
    keys = random.sample(range(60), 25)
    return [(f"k{key}", seed, random.choice("xyz"), key, random.random() < 0.1) for key in keys]


@pytest.mark.parametrize("few", [True, False])
def test_tasks_write_what_one_process_does(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: bool
) -> None:
    if not few:
        monkeypatch.setattr(summary, "MOST", 0)
    monkeypatch.setattr(PartitionIndex, "_keys_of", None)  # no record key of the table is read
    pair = Pair(spark, tmp_path, "MERGE_ON_READ", OPTIONS)
    pair.begin("upsert", rows_of(1))
    pair.write("upsert", rows_of(2))
    pair.write("delete", [(f"k{number}", 0, "q", 0, False) for number in range(20, 30)])
    pair.open({**OPTIONS, "hoodie.datasource.insert.dup.policy": "drop"})
    pair.write("insert", rows_of(4))
    for table in pair.tables:
        check_record_index(Path(table.path))


def test_keys_are_looked_up_many_at_once_but_not_all() -> None:
    batches = [pa.record_batch({KEY: [f"k{number}"] * 2}) for number in range(5)]
    assert [part.num_rows for part in join_for_lookup(batches, at_once=3)] == [4, 4, 2]
    assert list(join_for_lookup([])) == []
