"""Batches are cut by their rows while hudiformat works, and the session is left as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark.sql")

from hudiformat.spark.write.batches import _LIMIT, cut_by_rows, planned_once, tasks_at_once

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_a_limit_in_bytes_is_lifted_for_as_long_as_it_is_sparks_own(spark: SparkSession) -> None:
    with cut_by_rows(spark):
        assert spark.conf.get(_LIMIT) == str(2**31 - 1)
        with cut_by_rows(spark):  # in another thread
            pass
        assert spark.conf.get(_LIMIT) == str(2**31 - 1)
    assert spark.conf.get(_LIMIT, None) is None


def test_a_limit_that_the_session_has_set_counts(spark: SparkSession) -> None:
    spark.conf.set(_LIMIT, "1000000")
    try:
        with cut_by_rows(spark):
            assert spark.conf.get(_LIMIT) == "1000000"
        assert spark.conf.get(_LIMIT) == "1000000"
    finally:
        spark.conf.unset(_LIMIT)


def test_shuffles_are_planned_beforehand_until_the_last_write_is_over(spark: SparkSession) -> None:
    keys = ("spark.sql.adaptive.enabled", "spark.sql.shuffle.partitions")
    before = [spark.conf.get(key) for key in keys]
    with planned_once(spark, 0):
        assert [spark.conf.get(key) for key in keys] == ["false", str(4 * tasks_at_once(spark))]
        with pytest.raises(ValueError, match="stop"), planned_once(spark, 1):  # in another thread
            raise ValueError("stop")
        assert spark.conf.get(keys[0]) == "false"
    assert [spark.conf.get(key) for key in keys] == before
    spark.conf.set("spark.sql.shuffle.partitions", "50")
    try:
        with planned_once(spark, 10_000_000):
            assert spark.conf.get("spark.sql.shuffle.partitions") == "40"
        with planned_once(spark, 10**9):
            assert spark.conf.get("spark.sql.shuffle.partitions") == "50"
    finally:
        spark.conf.set(keys[1], before[1] or "2")
