"""Parse the text of conditions into trees of sqlglot, in the dialect of Spark 4.

In it, as in standard SQL, two quotes in a text are one.  Up to Spark 3.5 they end a text and begin the next one.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from hudiformat.errors import FilterError, UnsupportedFeatureError

if TYPE_CHECKING:
    from sqlglot.expressions import Expression

_COLUMN_NUMBER = re.compile(r"Line \d+, Col: (\d+)")


def parse_condition(text: str) -> Expression:
    """Parse a condition as Spark 4 does.

    Raises:
        FilterError: the text is no condition.
        UnsupportedFeatureError: sqlglot is not installed.
    """
    try:
        import sqlglot  # noqa: F401, PLC0415 - only those who filter by texts need it
    except ImportError as error:
        message = (
            f"{text!r}: expected the package sqlglot to be installed, which reads filters as "
            "text, found none; install it: pip install 'hudiformat[sql]'"
        )
        raise UnsupportedFeatureError(message, feature="filters as text") from error
    return _parse(text, _spark_4())


def is_same_in_spark_3(text: str) -> bool:
    """Return whether the condition *text* has the same meaning in Spark 3.5 as in Spark 4.

    Raises:
        FilterError, UnsupportedFeatureError: as for :func:`parse_condition`.
    """
    return bool(parse_condition(text) == _parse(text, "spark"))


@cache
def _spark_4() -> Any:
    from sqlglot.dialects.spark import Spark  # noqa: PLC0415 - only those who filter by texts need it

    escapes = {"STRING_ESCAPES": ["'", '"', "\\"]}
    return type("HudiformatSpark4", (Spark,), {"Tokenizer": type("Tokenizer", (Spark.Tokenizer,), escapes)})


def _parse(text: str, dialect: Any) -> Expression:
    import sqlglot  # noqa: PLC0415 - only those who filter by texts need it

    try:
        trees = sqlglot.parse(text, dialect=dialect)
    except sqlglot.errors.SqlglotError as error:
        example = "\"p = 'x' and v > 0\""
        message = f"{text!r} is not a condition such as {example}: {_error_position(error)}"
        raise FilterError(message) from error
    if len(trees) != 1 or trees[0] is None:
        raise FilterError(f"{text!r}: expected one condition such as \"p = 'x' and v > 0\", found {len(trees)}")
    return trees[0]


def _error_position(error: Exception) -> str:
    """Return where the text cannot be parsed; sqlglot's own message would name its classes."""
    lines = str(error).splitlines()
    found = _COLUMN_NUMBER.search(lines[0]) if lines else None
    return f"it cannot be parsed from character {found[1]} on" if found else lines[0].strip()
