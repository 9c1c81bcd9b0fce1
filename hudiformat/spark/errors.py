"""Errors that pass through Spark, which turns an exception of a Python process into the text of a traceback.

In the driver, :func:`reraise_task_errors` raises the errors of tasks again, which ``spark.write.task_errors`` encodes
in these texts.  An error of the data source reaches users only as text: :func:`hide_frames` removes the frames of this
package from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

from pyspark.errors import PySparkException

from hudiformat import errors
from hudiformat.spark.write.task_errors import decode_error
from hudiformat.spark.write.workers import prepare_worker

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")
_FRAME = re.compile(r'  File ".*", line \d+')


class SparkError(Exception):
    """Spark's message about a HudiFormatError, without the frames of Java and PySpark; ``error`` is Spark's error."""

    def __init__(self, message: str, error: Exception | None = None) -> None:
        super().__init__(message)
        self.error = error

    @classmethod
    def of(cls, error: Exception) -> SparkError:
        """Make the error from the first line of Spark's message and the last frame of its traceback."""
        lines = str(error).splitlines() or [""]
        last = max((number for number, line in enumerate(lines) if _FRAME.match(line)), default=None)
        frame = [] if last is None else [line for line in lines[last : last + 2] if line.startswith("  ")]
        return cls("\n".join([f"{type(error).__name__}: {lines[0].strip()}", *frame]), error)


@contextmanager
def reraise_task_errors() -> Iterator[None]:
    """Raise the HudiFormatError that stopped a task, instead of Spark's error."""
    try:
        yield
    except Exception as error:
        if (ours := _decode(error)) is None:
            raise
        _innermost(ours).__cause__ = SparkError.of(error)
        raise ours from ours.__cause__


def hide_frames(method: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
    """Wrap *method* so that a HudiFormatError has no frames of this package; a note names the cause of the error.

    Spark calls the method in a worker process, which is prepared first: see :func:`prepare_worker`.
    """

    @wraps(method)
    def called(*given: _Given.args, **named: _Given.kwargs) -> _Result:
        prepare_worker()
        try:
            return method(*given, **named)
        except errors.HudiFormatError as error:
            raise _add_note(error) from None

    return called


def hide_iterator_frames(method: Callable[_Given, Iterator[_Result]]) -> Callable[_Given, Iterator[_Result]]:
    """Wrap a method that returns an iterator as :func:`hide_frames` does; errors may come while it is used."""

    @wraps(method)
    def called(*given: _Given.args, **named: _Given.kwargs) -> Generator[_Result]:
        prepare_worker()
        try:
            yield from method(*given, **named)
        except errors.HudiFormatError as error:
            raise _add_note(error) from None

    return called


def _add_note(error: errors.HudiFormatError) -> errors.HudiFormatError:
    cause = error.__cause__
    if cause is not None and hasattr(error, "add_note"):  # Python 3.11
        error.add_note(f"caused by {type(cause).__name__}: {str(cause).partition(chr(10))[0]}")
    return error.with_traceback(None)


def _innermost(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _decode(error: BaseException) -> errors.HudiFormatError | None:
    if isinstance(error, errors.HudiFormatError) or not isinstance(error, PySparkException):
        return None
    return decode_error(str(error))
