"""Send errors of tasks to the driver.

Spark sends only the text of a traceback.  So a task adds a line to each HudiFormatError, with the class, the message
and the attributes as JSON, and the driver creates the error again from this line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

from hudiformat import errors

_MARK = "hudiformat.raised "
"""The beginning of the line."""


@contextmanager
def mark_errors() -> Iterator[None]:
    """Add the line to a HudiFormatError that the block raises."""
    try:
        yield
    except errors.HudiFormatError as error:
        line = encode_error(error)
        if hasattr(error, "add_note"):  # Python 3.11
            error.add_note(line)
        else:
            error.args = (f"{error}\n{line}",)
        raise


def encode_error(error: errors.HudiFormatError) -> str:
    """Return the line for *error*; a class that is not in ``hudiformat.errors`` is replaced by its base class there."""
    kind = next(one for one in type(error).__mro__ if one.__module__ == errors.__name__)
    facts = {name: value for name, value in vars(error).items() if isinstance(value, str | int | None)}
    return _MARK + json.dumps({"class": kind.__name__, "message": str(error), "facts": facts})


def decode_error(text: str) -> errors.HudiFormatError | None:
    """Return the error that the last line in *text*, Spark's message about a task, describes; None without such a line.

    A traceback begins with the innermost error, and each line describes one: the last is the outermost, which says what
    happened to the caller.  The others are its causes.
    """
    found: list[errors.HudiFormatError] = []
    for line in reversed(text.split(_MARK)[1:]):
        error = _decode_line(line)
        if error is not None and repr(error) not in map(repr, found):  # a message may have the traceback twice
            found.append(error)
    for error, cause in pairwise(found):
        error.__cause__ = cause
    return found[0] if found else None


def _decode_line(line: str) -> errors.HudiFormatError | None:
    try:
        given, _ = json.JSONDecoder().raw_decode(line)
        kind, message, facts = getattr(errors, given["class"]), given["message"], given["facts"]
    except (ValueError, LookupError, TypeError, AttributeError):  # the line is cut off, or not ours
        return None
    if not isinstance(kind, type) or not issubclass(kind, errors.HudiFormatError):
        return None
    error = kind(message)
    vars(error).update(facts)
    return error
