"""Rows without a record key are counted, all of them, and one is shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import hudiformat as hf
from tests.tables import new_table

pytest.importorskip("pyspark.sql")

import hudiformat.spark as hudi_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("operation", ["upsert", "insert", "bulk_insert"])
def test_an_error_counts_the_rows_and_shows_one(spark: SparkSession, tmp_path: Path, operation: str) -> None:
    table = new_table(tmp_path / "t")
    df = spark.range(0, 100, 1, 4).selectExpr("if(id % 10 = 0, null, 'k' || id) as k", "id as ts", "'x' as p", "1 as v")
    context = spark.sparkContext
    context.setJobGroup(f"null keys {operation}", "")
    try:
        with pytest.raises(hf.DataError) as caught:
            getattr(hudi_spark, operation)(df, table.path)
        assert len(context.statusTracker().getJobIdsForGroup(f"null keys {operation}")) == 1  # the frame runs once
    finally:
        context.setLocalProperty("spark.jobGroup.id", "")
    text = "record key k: null or empty in 10 of 100 rows, such as {'k': None, 'ts': 0, 'p': 'x', 'v': 1}; nothing was"
    assert str(caught.value).startswith(text)
    assert (caught.value.column, caught.value.missing, caught.value.rows) == ("k", 10, 100)
    assert table.timeline.instants == ()


def test_other_errors_are_as_they_were(spark: SparkSession, tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    df: Any = spark.range(1).selectExpr("'a' as k", "id as ts", "1 as v")
    with pytest.raises(hf.HudiFormatError, match="'p'"):
        hudi_spark.upsert(df, table.path)
