"""Errors of tasks reach the driver as what they were raised as."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator

import pytest

import hudiformat as hf

errors = pytest.importorskip("pyspark.errors")

from hudiformat.spark.errors import hide_frames, hide_iterator_frames, reraise_task_errors
from hudiformat.spark.write.task_errors import encode_error


def said_by_spark(raised: str | hf.HudiFormatError) -> Exception:
    """What Spark raises on the driver, with the traceback of a task that ends in *raised*."""
    if isinstance(raised, hf.HudiFormatError):
        raised = f"hudiformat.errors.{type(raised).__name__}: {raised}\n{encode_error(raised)}"
    found = errors.PythonException(
        f"An exception was thrown:\nTraceback (most recent call last):\n  ...\n{raised}\n\n\tat org.apache.spark\n"
    )
    assert isinstance(found, Exception)
    return found


def test_an_error_of_ours_is_raised_in_place_of_sparks() -> None:
    theirs = said_by_spark(hf.DataError("the record key is null", column="k", missing=3))
    with pytest.raises(hf.DataError, match="^the record key is null$") as caught, reraise_task_errors():
        raise theirs
    assert (caught.value.column, caught.value.missing) == ("k", 3)
    assert getattr(caught.value.__cause__, "error", None) is theirs


def test_what_spark_prints_of_it_is_short() -> None:
    """Of sixty lines of Java and Python: Spark's own sentence, and the line in which the task raised the error."""
    frames = [f'  File "/app/hudiformat/write/file_{number}.py", line {number}, in f' for number in range(30)]
    trace = "\n".join(line for frame in frames for line in (frame, "    f()"))
    theirs = errors.PythonException(
        f"Job aborted due to stage failure\nTraceback (most recent call last):\n{trace}\n"
        "hudiformat.errors.DataError: the record key is null\n"
        f"{encode_error(hf.DataError('the record key is null'))}\n" + "\tat org.apache.spark.X\n" * 30
    )
    with pytest.raises(hf.DataError) as caught, reraise_task_errors():
        raise theirs
    lines = "".join(traceback.format_exception(caught.value)).splitlines()
    ours = [line for line in lines if "pytest" not in line and line.strip(" ~^")]  # Python 3.13 marks calls
    assert len(ours) <= 14
    assert ours[0].endswith("SparkError: PythonException: Job aborted due to stage failure")
    assert 'File "/app/hudiformat/write/file_29.py", line 29' in ours[1]
    assert ours[-1] == "hudiformat.errors.DataError: the record key is null"


def test_a_message_of_several_lines_stays_whole() -> None:
    with pytest.raises(hf.SchemaError, match="^first line\nsecond line$"), reraise_task_errors():
        raise said_by_spark(hf.SchemaError("first line\nsecond line"))


@pytest.mark.parametrize("raised", ["ValueError: no number", "hudiformat.errors.DataError: said by somebody else"])
def test_other_errors_are_left_as_they_are(raised: str) -> None:
    theirs = said_by_spark(raised)
    with pytest.raises(errors.PythonException) as caught, reraise_task_errors():
        raise theirs
    assert caught.value is theirs


def test_an_error_that_did_not_pass_through_spark_is_left_as_it_is() -> None:
    ours = hf.DataError("hudiformat.errors.SchemaError: quoted")
    with pytest.raises(hf.DataError) as caught, reraise_task_errors():
        raise ours
    assert caught.value is ours


@hide_frames
def failing() -> None:
    try:
        int("no number")
    except ValueError as error:
        raise hf.DataError("the row is wrong") from error


@hide_iterator_frames
def failing_later() -> Iterator[int]:
    yield 1
    raise hf.DataError("the second row is wrong")


def test_what_spark_shows_of_an_error_is_brief() -> None:
    """The trace has one frame of ours, then the sentence, then what caused it."""
    with pytest.raises(hf.DataError, match="^the row is wrong") as caught:
        failing()
    lines = "".join(traceback.format_exception(caught.value)).splitlines()
    assert sum(line.startswith("  File") for line in lines) == 2  # this function, and the last one
    if sys.version_info >= (3, 11):
        assert lines[-2:] == [
            "hudiformat.errors.DataError: the row is wrong",
            "caused by ValueError: invalid literal for int() with base 10: 'no number'",
        ]


def test_what_fails_while_it_is_read_is_brief_too() -> None:
    rows = failing_later()
    assert next(rows) == 1
    with pytest.raises(hf.DataError, match="^the second row is wrong$") as caught:
        next(rows)
    assert caught.value.__cause__ is None


def test_errors_that_are_not_ours_are_left_as_they_are() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        hide_frames(lambda: 1 // 0)()
    assert caught.traceback[-1].name == "<lambda>"
