"""Conditions of Spark SQL rule out files where the session's time zone is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

pytest.importorskip("pyspark.sql")

from hudiformat.spark.read.native import pruning

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = pa.schema([("v", pa.int64())])


def test_a_zone_that_only_java_knows_rules_out_nothing(spark: SparkSession) -> None:
    assert pruning(spark, "v > 1", SCHEMA) is not None
    for zone in ("America/New_York", "Z"):
        spark.conf.set("spark.sql.session.timeZone", zone)
        assert pruning(spark, "v > 1", SCHEMA) is not None
    spark.conf.set("spark.sql.session.timeZone", "GMT+3")
    assert pruning(spark, "v > 1", SCHEMA) is None
    spark.conf.set("spark.sql.session.timeZone", "UTC")
