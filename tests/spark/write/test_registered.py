"""Tasks of Spark write on registered files, which no folder shows to them under the names that they have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import hudiformat as hf
from tests.foreign.foreign_tables import unpack

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_tasks_find_the_keys_of_registered_files(spark: SparkSession, tmp_path: Path) -> None:
    import hudiformat.spark

    path = unpack("registered-cow9-h120", tmp_path).path
    changed = spark.createDataFrame([("c", 3, "y", 31), ("z", 1, "z", 6)], "k string, ts bigint, p string, v int")
    hudiformat.spark.upsert(changed, str(path))
    found = hf.open_table(path).snapshot(columns=["k", "v"]).sort_by("k").to_pylist()
    assert [tuple(row.values()) for row in found] == [("a", 10), ("b", 2), ("c", 31), ("d", 4), ("e", 5), ("z", 6)]
    assert any("data_2.parquet_" in name for name in hf.open_table(path).files())
