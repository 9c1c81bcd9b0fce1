"""The table that tests of the data source write to and read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import hudiformat as hf
from tests.effort import LONG
from tests.spark.source.support import SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(params=["BUCKET", *(["SIMPLE"] if LONG else [])])
def table(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> hf.Table:
    import hudiformat.spark as hudi_spark  # noqa: PLC0415 - needs PySpark

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
