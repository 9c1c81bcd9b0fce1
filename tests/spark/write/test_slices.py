"""The driver lists the newest slices of just the partitions that rows belong to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hudiformat.table.options.values import Operation
from hudiformat.write.commit.transaction import begin_write
from tests.spark.write.lookup.test_global_lookup import Pair, rows_of

pytest.importorskip("pyspark.sql")

from hudiformat.spark.write.lookup.live_rows import newest_slices
from hudiformat.spark.write.lookup.tagging import PATH

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_slices_are_those_of_the_partitions_of_the_rows(spark: SparkSession, tmp_path: Path) -> None:
    pair = Pair(spark, tmp_path, "COPY_ON_WRITE", {"hoodie.index.type": "SIMPLE"})
    pair.begin("upsert", rows_of(1))
    pair.begin("upsert", rows_of(2))
    rows = spark.createDataFrame([("x",), ("z",), ("x",)], f"{PATH} string")
    with begin_write(pair.tables[0]._context, Operation.UPSERT) as write:
        found = newest_slices(rows, write.plan)
    assert sorted(one.partition_path for one in found) == ["x", "z"]
    newest = {file.name for name in "xz" for file in Path(pair.tables[0].path, name).glob("*.parquet")}
    assert {str(one.base_file.name) for one in found if one.base_file} < newest
