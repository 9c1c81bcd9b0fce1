"""Tests on Spark: what tasks write, whose data frames are small, and a table for the data source."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import hudiformat as hf
from tests.by_tasks import by_tasks
from tests.effort import LONG
from tests.spark.source.support import SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["by_tasks"]


@pytest.fixture(params=["BUCKET", *(["SIMPLE"] if LONG else [])])
def table(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> hf.Table:
    """The table that tests of the data source write to and read."""
    import hudiformat.spark as hudi_spark

    hudi_spark.register(spark)
    return hf.create_table(
        tmp_path / "table",
        name="things",
        schema=SCHEMA,
        record_key=["id"],
        ordering=["ts"],
        partition_by=["p"],
        options={"hoodie.index.type": request.param, "hoodie.bucket.index.num.buckets": "2"},
    )
