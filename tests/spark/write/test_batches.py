"""Batches are cut by their rows while hudiformat works, and the session is left as it was."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark.sql")

from hudiformat.spark.write.batches import (
    _LIMIT,
    _LOANS,
    _change_settings,
    limit_batches_by_rows,
    plan_shuffles_once,
    tasks_at_once,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_a_limit_in_bytes_is_lifted_for_as_long_as_it_is_sparks_own(spark: SparkSession) -> None:
    with limit_batches_by_rows(spark):
        assert spark.conf.get(_LIMIT) == str(2**31 - 1)
        with limit_batches_by_rows(spark):  # in another thread
            pass
        assert spark.conf.get(_LIMIT) == str(2**31 - 1)
    assert spark.conf.get(_LIMIT, None) is None


def test_a_limit_that_the_session_has_set_counts(spark: SparkSession) -> None:
    spark.conf.set(_LIMIT, "1000000")
    try:
        with limit_batches_by_rows(spark):
            assert spark.conf.get(_LIMIT) == "1000000"
        assert spark.conf.get(_LIMIT) == "1000000"
    finally:
        spark.conf.unset(_LIMIT)


def test_shuffles_are_planned_beforehand_until_the_last_write_is_over(spark: SparkSession) -> None:
    keys = ("spark.sql.adaptive.enabled", "spark.sql.shuffle.partitions")
    before = [spark.conf.get(key) for key in keys]
    with plan_shuffles_once(spark, 0):
        assert [spark.conf.get(key) for key in keys] == ["false", str(4 * tasks_at_once(spark))]
        with pytest.raises(ValueError, match="stop"), plan_shuffles_once(spark, 1):  # in another thread
            raise ValueError("stop")
        assert spark.conf.get(keys[0]) == "false"
    assert [spark.conf.get(key) for key in keys] == before
    spark.conf.set("spark.sql.shuffle.partitions", "50")
    try:
        with plan_shuffles_once(spark, 10_000_000):
            assert spark.conf.get("spark.sql.shuffle.partitions") == "40"
        with plan_shuffles_once(spark, 10**9):
            assert spark.conf.get("spark.sql.shuffle.partitions") == "50"
    finally:
        spark.conf.set(keys[1], before[1] or "2")


KEYS = ("spark.sql.adaptive.enabled", "spark.sql.shuffle.partitions")


def settings(spark: SparkSession) -> list[str | None]:
    return [spark.conf.get(key) for key in (*KEYS, _LIMIT)]


@pytest.fixture
def other(spark: SparkSession) -> SparkSession:
    """Another object of Python for the same session, as a batch of a stream has it."""
    return type(spark)(spark.sparkContext, spark._jsparkSession)


def test_writes_of_two_threads_give_the_settings_back_in_any_order(spark: SparkSession, other: SparkSession) -> None:
    assert other is not spark
    before = [spark.conf.get(key, None) for key in (*KEYS, _LIMIT)]
    begun, first_over = Barrier(2, timeout=60), Event()

    def first() -> None:
        with limit_batches_by_rows(spark), plan_shuffles_once(spark, 0):
            begun.wait()
        first_over.set()

    def second() -> list[str | None]:
        with limit_batches_by_rows(other), plan_shuffles_once(other, 10_000_000):
            begun.wait()
            assert first_over.wait(60)
            found = settings(spark)
            raise ValueError(found)

    with ThreadPoolExecutor(2) as pool:
        first_ends, second_ends = pool.submit(first), pool.submit(second)
        with pytest.raises(ValueError, match="'false'") as caught:
            second_ends.result()
        first_ends.result()
    assert caught.value.args[0][0] == "false"  # while the second still wrote
    assert caught.value.args[0][2] is not None
    assert [spark.conf.get(key, None) for key in (*KEYS, _LIMIT)] == before


def test_a_setting_that_somebody_changes_during_a_write_stays_as_he_set_it(spark: SparkSession) -> None:
    before = spark.conf.get(KEYS[1])
    try:
        with plan_shuffles_once(spark, 0):
            spark.conf.set(KEYS[1], "77")
        assert spark.conf.get(KEYS[1]) == "77"
    finally:
        spark.conf.set(KEYS[1], before or "2")


def test_sessions_have_settings_of_their_own_even_after_one_is_gone(spark: SparkSession) -> None:
    for _ in range(3):  # the same memory, so the same id()
        session = spark.newSession()
        session.conf.set(KEYS[0], "true")
        with plan_shuffles_once(spark, 0), plan_shuffles_once(session, 0):
            assert session.conf.get(KEYS[0]) == "false"
        assert session.conf.get(KEYS[0]) == "true"
        del session


def test_what_was_changed_is_given_back_where_a_later_setting_cannot_be(spark: SparkSession) -> None:
    before = spark.conf.get(KEYS[0])
    with (
        pytest.raises(Exception, match="no number|must be"),
        _change_settings(spark, {KEYS[0]: "false", KEYS[1]: "no number"}),
    ):
        raise AssertionError
    assert spark.conf.get(KEYS[0]) == before
    assert not _LOANS._loans
