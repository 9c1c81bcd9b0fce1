"""Our errors out of Spark's: what a task raises reaches the driver as the text of a traceback."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from hudiformat import errors

_RAISED = re.compile(r"^hudiformat\.errors\.(\w+): (.*(?:\n(?!\s*$|Traceback|\tat ).*)*)", re.MULTILINE)


@contextmanager
def reraised() -> Iterator[None]:
    """Raise the error of ours that a task stopped with, instead of Spark's."""
    try:
        yield
    except Exception as error:
        if (ours := _ours(error)) is None:
            raise
        raise ours from error


def _ours(error: BaseException) -> errors.HudiFormatError | None:
    if isinstance(error, errors.HudiFormatError) or not isinstance(error, PySparkException):
        return None
    found = _RAISED.search(str(error))
    kind = getattr(errors, found[1], None) if found else None
    if found is None or not isinstance(kind, type) or not issubclass(kind, errors.HudiFormatError):
        return None
    return kind(found[2].strip())
