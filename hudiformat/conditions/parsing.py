"""Texts of conditions -> trees of sqlglot, in the dialect of Spark 4.

There, as in standard SQL, two quotes in a text are one.  Up to Spark 3.5 they end a text and begin the next.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from hudiformat.errors import FilterError, UnsupportedFeatureError

if TYPE_CHECKING:
    from sqlglot.expressions import Expression

_PLACE = re.compile(r"Line \d+, Col: (\d+)")


def parsed(text: str) -> Expression:
    """The tree of a condition, as Spark 4 understands it.

    Raises:
        FilterError: it is no condition.
        UnsupportedFeatureError: sqlglot is not installed.
    """
    try:
        import sqlglot  # noqa: F401, PLC0415 - only those who filter by texts need it
    except ImportError as error:
        message = f"{text!r}: filters as text need sqlglot; run pip install 'hudiformat[sql]'"
        raise UnsupportedFeatureError(message, feature="filters as text") from error
    return _tree(text, _spark_4())


def means_the_same_to_all(text: str) -> bool:
    """Whether Spark 3.5 understands the condition *text* as Spark 4 does.

    Raises:
        FilterError, UnsupportedFeatureError: as for :func:`parsed`.
    """
    return bool(parsed(text) == _tree(text, "spark"))


@cache
def _spark_4() -> Any:
    from sqlglot.dialects.spark import Spark  # noqa: PLC0415 - only those who filter by texts need it

    escapes = {"STRING_ESCAPES": ["'", '"', "\\"]}
    return type("HudiformatSpark4", (Spark,), {"Tokenizer": type("Tokenizer", (Spark.Tokenizer,), escapes)})


def _tree(text: str, dialect: Any) -> Expression:
    import sqlglot  # noqa: PLC0415 - only those who filter by texts need it

    try:
        trees = sqlglot.parse(text, dialect=dialect)
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
