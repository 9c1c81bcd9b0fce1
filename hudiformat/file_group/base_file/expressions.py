"""Collect statistics of the results of Spark functions on the values of a column, for expression indexes.  Pure.

If a result depends on Spark's session, for example on its time zone, or if Arrow and Java may disagree on it, the
bounds are the widest of the type, so that readers do not skip the file.

Source: ExpressionIndexSparkFunctions, SparkMetadataWriterUtils.getExpressionIndexRecordsUsingColumnStats, Hudi 1.2.0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from hudiformat.codec.statistics import (
    NO_ROWS,
    ColumnStatistics,
    column_statistics,
    field_of,
    kind_of,
    unknown_statistics,
)

_Values: TypeAlias = "pa.Array | pa.ChunkedArray"


@dataclass(frozen=True, slots=True)
class IndexedExpression:
    """A *function* of *column*, a dotted path; the expression index *name* keeps statistics of its results."""

    name: str
    column: str
    function: str

    def kind(self, schema: pa.Schema) -> pa.DataType | None:
        """Return the type of the results for rows of *schema*; None if no statistics can be kept for them."""
        found = kind_of(schema, self.column)
        if found is None or self.function != "identity":
            return None if found is None else _RESULTS.get(self.function)
        return found if pat.is_string(found) or found in (pa.int32(), pa.int64(), pa.date32()) else None

    def statistics(self, rows: pa.Table | pa.RecordBatch, kind: pa.DataType) -> ColumnStatistics:
        """Return the statistics of the results for *rows*; *kind* is the type of the results."""
        values = field_of(rows, self.column)
        if values is not None and pat.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        results = None if values is None else _EXACT.get(self.function, _unknown)(values)
        return unknown_statistics(kind, rows.num_rows) if results is None else column_statistics(results)


class ExpressionCollector:
    """Add up the statistics of *expressions* over the rows of a file with *schema*."""

    def __init__(self, expressions: Sequence[IndexedExpression], schema: pa.Schema) -> None:
        self._expressions = [(one, kind) for one in expressions if (kind := one.kind(schema)) is not None]
        self._found: dict[str, ColumnStatistics] = {}

    def add(self, rows: pa.Table | pa.RecordBatch) -> None:
        """Add the results for *rows* to the statistics."""
        self._add({one.name: one.statistics(rows, kind) for one, kind in self._expressions})

    def __add__(self, other: ExpressionCollector) -> ExpressionCollector:
        """Return this collector with the statistics of *other*, which has the same expressions, added to it."""
        self._add(other._found)
        return self

    def finish(self) -> dict[str, ColumnStatistics]:
        """Return the statistics by the name of the index."""
        return {one.name: self._found.get(one.name, NO_ROWS) for one, _ in self._expressions}

    def _add(self, found: Mapping[str, ColumnStatistics]) -> None:
        for name, new in found.items():
            self._found[name] = self._found[name] + new if name in self._found else new


def _unknown(_values: _Values) -> None:
    return None


def _apply_to_ascii(function: Callable[[_Values], _Values], values: _Values) -> _Values | None:
    """Return the results of *function* for ASCII texts; None for other texts, on which Java and Arrow may disagree."""
    is_known = pat.is_string(values.type) and pc.all(pc.string_is_ascii(values), min_count=0).as_py()
    return function(values) if is_known else None


def _apply_to_dates(function: Callable[[_Values], _Values], values: _Values) -> _Values | None:
    """Return the results of *function* for dates; None for other types, whose date depends on Spark's time zone."""
    return function(values).cast(pa.int32()) if pat.is_date32(values.type) else None


_EXACT: Mapping[str, Callable[[_Values], _Values | None]] = {
    "identity": lambda values: values,
    "upper": lambda values: _apply_to_ascii(pc.ascii_upper, values),
    "lower": lambda values: _apply_to_ascii(pc.ascii_lower, values),
    "year": lambda values: _apply_to_dates(pc.year, values),
    "month": lambda values: _apply_to_dates(pc.month, values),
    "day": lambda values: _apply_to_dates(pc.day, values),
}
_RESULTS: Mapping[str, pa.DataType] = {
    **dict.fromkeys(("upper", "lower", "trim", "ltrim", "rtrim", "substring"), pa.string()),
    **dict.fromkeys(("regexp_replace", "regexp_extract", "from_unixtime", "date_format"), pa.string()),
    **dict.fromkeys(("year", "month", "day", "hour", "length"), pa.int32()),
    **dict.fromkeys(("to_date", "date_add", "date_sub"), pa.date32()),
    "unix_timestamp": pa.int64(),
}
