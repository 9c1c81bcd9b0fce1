"""Errors of tasks reach the driver as what they were raised as."""

from __future__ import annotations

import pytest

import hudiformat as hf

errors = pytest.importorskip("pyspark.errors")

from hudiformat.spark.errors import reraised  # noqa: E402 - needs PySpark


def said_by_spark(raised: str) -> Exception:
    """What Spark raises on the driver, with the traceback of a task that ends in *raised*."""
    found = errors.PythonException(f"An exception was thrown:\nTraceback (most recent call last):\n  ...\n{raised}\n")
    assert isinstance(found, Exception)
    return found


def test_an_error_of_ours_is_raised_in_place_of_sparks() -> None:
    theirs = said_by_spark("hudiformat.errors.DataError: the record key is null\n\tat org.apache.spark")
    with pytest.raises(hf.DataError, match="^the record key is null$") as caught, reraised():
        raise theirs
    assert caught.value.__cause__ is theirs


def test_a_message_of_several_lines_stays_whole() -> None:
    with pytest.raises(hf.SchemaError, match="^first line\nsecond line$"), reraised():
        raise said_by_spark("hudiformat.errors.SchemaError: first line\nsecond line")


@pytest.mark.parametrize(
    "raised", ["ValueError: no number", "hudiformat.errors.NoSuchError: x", "hudiformat.errors.re: x"]
)
def test_other_errors_are_left_as_they_are(raised: str) -> None:
    theirs = said_by_spark(raised)
    with pytest.raises(errors.PythonException) as caught, reraised():
        raise theirs
    assert caught.value is theirs


def test_an_error_that_did_not_pass_through_spark_is_left_as_it_is() -> None:
    ours = hf.DataError("hudiformat.errors.SchemaError: quoted")
    with pytest.raises(hf.DataError) as caught, reraised():
        raise ours
    assert caught.value is ours
