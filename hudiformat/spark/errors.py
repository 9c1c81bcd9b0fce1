"""Our errors on their way through Spark, which makes the text of a traceback of what its Python processes raise.

In the driver :func:`reraised` raises the errors of tasks again, which ``spark.write.raised`` carries in these texts.
What the data source raises reaches people only as text: :func:`brief` leaves out of it where in the package the error
was raised, but for a line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

from pyspark.errors import PySparkException

from hudiformat import errors
from hudiformat.spark.write.raised import decode_error
from hudiformat.spark.write.workers import settle

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")
_FRAME = re.compile(r'  File ".*", line \d+')


class SparkError(Exception):
    """What Spark said of an error of ours, without Java's frames and PySpark's; ``error`` is all of it."""

    def __init__(self, message: str, error: Exception | None = None) -> None:
        super().__init__(message)
        self.error = error

    @classmethod
    def of(cls, error: Exception) -> SparkError:
        """The first line, and where in the task the error was raised."""
        lines = str(error).splitlines() or [""]
        last = max((number for number, line in enumerate(lines) if _FRAME.match(line)), default=None)
        frame = [] if last is None else [line for line in lines[last : last + 2] if line.startswith("  ")]
        return cls("\n".join([f"{type(error).__name__}: {lines[0].strip()}", *frame]), error)


@contextmanager
def reraised() -> Iterator[None]:
    """Raise the error of ours that a task stopped with, instead of Spark's."""
    try:
        yield
    except Exception as error:
        if (ours := _ours(error)) is None:
            raise
        raise ours from SparkError.of(error)


def brief(method: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
    """*method*, whose errors of ours come without the frames that they have passed; what caused them is in a note.

    Spark calls it in a process of its own, which settles first.
    """

    @wraps(method)
    def called(*given: _Given.args, **named: _Given.kwargs) -> _Result:
        settle()
        try:
            return method(*given, **named)
        except errors.HudiFormatError as error:
            raise _noted(error) from None

    return called


def brief_iterator(method: Callable[_Given, Iterator[_Result]]) -> Callable[_Given, Iterator[_Result]]:
    """As :func:`brief`, of a method that gives an iterator: it may fail while it is used."""

    @wraps(method)
    def called(*given: _Given.args, **named: _Given.kwargs) -> Generator[_Result]:
        settle()
        try:
            yield from method(*given, **named)
        except errors.HudiFormatError as error:
            raise _noted(error) from None

    return called


def _noted(error: errors.HudiFormatError) -> errors.HudiFormatError:
    cause = error.__cause__
    if cause is not None and hasattr(error, "add_note"):  # Python 3.11
        error.add_note(f"caused by {type(cause).__name__}: {str(cause).partition(chr(10))[0]}")
    return error.with_traceback(None)


def _ours(error: BaseException) -> errors.HudiFormatError | None:
    if isinstance(error, errors.HudiFormatError) or not isinstance(error, PySparkException):
        return None
    return decode_error(str(error))
