"""Texts of conditions -> trees of sqlglot, in the dialect of Spark."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hudiformat.errors import FilterError, UnsupportedFeatureError

if TYPE_CHECKING:
    from sqlglot.expressions import Expression

_PLACE = re.compile(r"Line \d+, Col: (\d+)")


def parsed(text: str) -> Expression:
    """The tree of a condition.

    Raises:
        FilterError: it is no condition.
        UnsupportedFeatureError: sqlglot is not installed.
    """
    try:
        import sqlglot  # noqa: PLC0415 - only those who filter by texts need it
    except ImportError as error:
        message = f"{text!r}: filters as text need sqlglot; run pip install 'hudiformat[sql]'"
        raise UnsupportedFeatureError(message, feature="filters as text") from error
    try:
        trees = sqlglot.parse(text, dialect="spark")
    except sqlglot.errors.SqlglotError as error:
        raise FilterError(f"{text!r} is no condition such as \"p = 'x' and v > 0\": {_where(error)}") from error
    if len(trees) != 1 or trees[0] is None:
        raise FilterError(f"{text!r}: expected one condition such as \"p = 'x' and v > 0\", found {len(trees)}")
    return trees[0]


def _where(error: Exception) -> str:
    """Where the text stops to make sense; sqlglot's own sentences name its classes."""
    lines = str(error).splitlines()
    found = _PLACE.search(lines[0]) if lines else None
    return f"it makes no sense from character {found[1]} on" if found else lines[0].strip()
