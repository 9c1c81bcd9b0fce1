"""Spark's own reader and tasks of Python show the rows of tables whose columns have changed as the library does."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import hudiformat as hf
from tests.effort import sample
from tests.rows import assert_same_rows
from tests.services.test_changed_columns import CHANGES, OPTIONS, planned, run

pytest.importorskip("pyspark.sql")

import hudiformat.spark as hudi_spark
from hudiformat.spark.write.schema import arrow_schema, spark_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.unmeasured


@pytest.mark.parametrize(("service", "change"), sample(list(product(["compaction", "clustering"], CHANGES)), of=8))
def test_rows_of_now_and_of_then_are_those_of_the_library(
    spark: SparkSession, tmp_path: Path, service: str, change: str
) -> None:
    table = planned(tmp_path / "t", service, 9)
    moments = [one.time for one in table.timeline.completed_writes]
    table.evolve(**CHANGES[change])
    run(table, service)
    again = hf.open_table(tmp_path / "t", options=OPTIONS)
    for moment in (None, *moments):
        found = hudi_spark.snapshot(spark, table.path, as_of=moment).toArrow()
        assert_same_rows(found, _as_spark_has(again.snapshot(as_of=moment)), key=("k",))
    since = hudi_spark.incremental(spark, table.path, "000").toArrow()
    assert_same_rows(since, _as_spark_has(again.incremental("000")), key=("k",))


def _as_spark_has(table: pa.Table) -> pa.Table:
    return table.cast(arrow_schema(spark_schema(table.schema)))
