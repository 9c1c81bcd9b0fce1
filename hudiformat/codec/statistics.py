"""Compute statistics of the columns of a file from the rows that are written to it.  Pure.

They have to cover every value, because readers skip a file if a filter cannot be true between the bounds.  Hudi takes
the statistics of a base file from its Parquet footer, which has none for a row group with a NaN or with long texts,
and so loses rows.  Here they are computed from the rows.

No bound is NaN: infinity is the upper bound of a column with a NaN.  Spark sorts NaN behind all numbers, but Hudi
caches the bounds of all files in a Spark frame, and Spark's statistics of cached columns leave NaN out: for ``d > 10``
it drops the files with the bounds [11.0, NaN], together with others that are cached beside them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

_LONGEST_TEXT = 2000
"""Bytes of a bound; the bounds of longer values are shortened, so that the metadata table stays small."""
_SHORTENED = 400
_LAST_CHARACTER, _LAST_BEFORE_SURROGATES, _FIRST_AFTER_SURROGATES = 0x10FFFF, 0xD7FF, 0xE000
_HIGHEST = 64
"""A text of this many of the highest characters is the upper bound if nothing is known of a column's texts."""
_GREGORIAN, _APART = -141_427, 12
"""The first day of the Gregorian calendar, in days from 1970, and more days than the calendars are apart."""
_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_FAR = 2**62
"""Microseconds or milliseconds from 1970 that are beyond any date, and that Java can still convert."""


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """The statistics of a column of a file.

    ``kind`` is the column's type, null if the file has no rows.  ``lower`` and ``upper`` are None if there are only
    nulls; dates and times are whole numbers in the unit of the type, decimals are Decimal.  ``values`` counts the rows,
    nulls included.  ``size`` and ``uncompressed`` are bytes in a base file, 0 in a log file.

    Source: HoodieColumnRangeMetadata.
    """

    kind: pa.DataType
    lower: Any = None
    upper: Any = None
    values: int = 0
    nulls: int = 0
    size: int = 0
    uncompressed: int = 0

    def __add__(self, other: ColumnStatistics) -> ColumnStatistics:
        """Return the statistics of the values of both, which have the same type.

        Source: HoodieColumnRangeMetadata.merge.
        """
        return ColumnStatistics(
            kind=other.kind if pat.is_null(self.kind) else self.kind,
            lower=_lowest(self.lower, other.lower),
            upper=_highest(self.upper, other.upper),
            values=self.values + other.values,
            nulls=self.nulls + other.nulls,
            size=self.size + other.size,
            uncompressed=self.uncompressed + other.uncompressed,
        )


NO_ROWS = ColumnStatistics(pa.null())
"""The statistics of a file without rows, such as a log file of deletes."""


def column_statistics(column: pa.Array | pa.ChunkedArray) -> ColumnStatistics:
    """Return the statistics of a column's values.

    Source: HoodieTableMetadataUtil.collectColumnRangeMetadata.
    """
    values = _comparable_values(column)
    kind = column.type.value_type if pat.is_dictionary(column.type) else column.type
    limits = pc.min_max(values)
    lower, upper = limits["min"].as_py(), limits["max"].as_py()
    if pat.is_floating(values.type):
        lower, upper = bounds_of_numbers(lower, upper, has_nan=pc.any(pc.is_nan(values)).as_py() is True)
    if pat.is_temporal(kind):
        lower, upper = loosen_ancient(kind, lower, upper)
    if lower is not None and (pat.is_string(kind) or pat.is_binary(kind)):
        lower, upper = shorten_bounds(lower, upper)
    return ColumnStatistics(kind, lower, upper, len(column), column.null_count)


def bounds_of_numbers(lower: float | None, upper: float | None, *, has_nan: bool) -> tuple[float | None, float | None]:
    """Return bounds of floating-point numbers that cover NaN too, if there is one; they are never NaN themselves.

    The lower bound is then below the upper one: in a file with equal bounds all values have to be this one.
    """
    if not has_nan:
        return lower, upper
    return -math.inf if lower is None or not lower < math.inf else lower, math.inf


def loosen_ancient(kind: pa.DataType, lower: int | None, upper: int | None) -> tuple[int | None, int | None]:
    """Return bounds of dates or timestamps of which those before 1582-10-15 are 12 days lower or higher.

    Hudi reads bounds by classes of Java with the Julian calendar, in which the days from 1582-10-05 to 1582-10-14 do
    not exist, and so takes some for others: 1582-10-14 for 1582-10-24.

    Source: ColumnStatsIndexSupport.deserialize, Hudi 1.2.0.
    """
    day = 1 if pat.is_date32(kind) else _PER_DAY[kind.unit] if pat.is_timestamp(kind) else None
    if day is None or lower is None or upper is None:
        return lower, upper
    least, most = (-(2**31), 2**31 - 1) if pat.is_date32(kind) else (-(2**63), 2**63 - 1)
    first = _GREGORIAN * day
    lower = max(lower - _APART * day, least) if lower < first else lower
    return lower, min(upper + _APART * day, most) if upper < first else upper


def unknown_statistics(kind: pa.DataType, values: int = 0) -> ColumnStatistics:
    """Return statistics of a column about which nothing is known: bounds that include every value, and some nulls."""
    lower, upper = _widest_bounds(kind)
    return ColumnStatistics(kind, lower, upper, max(values, 2), 1)


class StatisticsCollector:
    """Add up the statistics of *columns* over the rows of a file; a name with dots names a nested field.

    Columns of *schema* that the rows do not have, as in a partial update, may have any value.
    """

    def __init__(self, columns: Sequence[str], schema: pa.Schema) -> None:
        self._kinds = {name: kind for name in columns if (kind := kind_of(schema, name)) is not None}
        self._found: dict[str, ColumnStatistics] = {}

    def add(self, rows: pa.Table | pa.RecordBatch) -> None:
        """Add the values of *rows* to the statistics."""
        for name, kind in self._kinds.items():
            column = field_of(rows, name)
            new = unknown_statistics(kind, rows.num_rows) if column is None else column_statistics(column)
            known = self._found.get(name)
            self._found[name] = new if known is None else known + new

    def __add__(self, other: StatisticsCollector) -> StatisticsCollector:
        """Return this collector with the statistics of *other*, which has the same columns, added to it."""
        for name, new in other._found.items():
            known = self._found.get(name)
            self._found[name] = new if known is None else known + new
        return self

    def finish(self, sizes: Mapping[str, tuple[int, int]] | None = None) -> dict[str, ColumnStatistics]:
        """Return the statistics by column; *sizes* are the bytes of each in a base file, and its bytes uncompressed."""
        found = {name: self._found.get(name, NO_ROWS) for name in self._kinds}
        for name in found.keys() & (sizes or {}).keys():
            size, uncompressed = (sizes or {})[name]
            found[name] = replace(found[name], size=size, uncompressed=uncompressed)
        return found


def kind_of(schema: pa.Schema, name: str) -> pa.DataType | None:
    """Return the type of a column, or of a nested field ``a.b``; None if *schema* has no field of that name."""
    first, *others = [name] if schema.get_field_index(name) >= 0 else name.split(".")
    if schema.get_field_index(first) < 0:
        return None
    kind = schema.field(first).type
    for part in others:
        if not pat.is_struct(kind) or kind.get_field_index(part) < 0:
            return None
        kind = kind.field(part).type
    return kind


def field_of(rows: pa.Table | pa.RecordBatch, name: str) -> pa.Array | pa.ChunkedArray | None:
    """Return a column, or a nested field ``a.b``; None if the rows have no field of that name."""
    schema = rows.schema
    if schema.get_field_index(name) >= 0:
        return rows.column(name)
    first, *others = name.split(".")
    if not others or schema.get_field_index(first) < 0:
        return None
    return pc.struct_field(rows.column(first), others)


def _comparable_values(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return the values in a type whose bounds are Python's numbers, texts or bytes."""
    kind = column.type
    if pat.is_dictionary(kind):
        return _dictionary_values(column, kind.value_type)
    if pat.is_date32(kind) or pat.is_time32(kind):
        return column.cast(pa.int32())
    return column.cast(pa.int64()) if pat.is_timestamp(kind) or pat.is_time64(kind) else column


def _dictionary_values(column: pa.Array | pa.ChunkedArray, kind: pa.DataType) -> pa.Array | pa.ChunkedArray:
    """Return the values of a dictionary column that are used, each one at least once."""
    parts: list[Any] = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    found = [part.dictionary.take(part.indices.unique().drop_null()) for part in parts]
    return _comparable_values(pa.chunked_array(found, kind))


def _lowest(left: Any, right: Any) -> Any:
    return min((one for one in (left, right) if one is not None), default=None)


def _highest(left: Any, right: Any) -> Any:
    return max((one for one in (left, right) if one is not None), default=None)


def shorten_bounds(lower: str | bytes, upper: str | bytes) -> tuple[str | bytes, str | bytes]:
    """Return the bounds of texts or bytes as statistics keep them: long ones are cut so that they are still bounds."""
    return _short_lower(lower), _short_upper(upper)


def _short_lower(value: str | bytes) -> str | bytes:
    return value[:_SHORTENED] if _byte_length(value) > _LONGEST_TEXT else value


def _short_upper(value: str | bytes) -> str | bytes:
    r"""Return a text or bytes not lower than *value*: its first 400 characters, the last of which is raised by one.

    Characters that have no next one are removed first: ``b"a" * 399 + b"\xff" * 2000`` becomes ``b"a" * 398 + b"b"``.
    """
    if _byte_length(value) <= _LONGEST_TEXT:
        return value
    if isinstance(value, bytes):
        start = value[:_SHORTENED].rstrip(b"\xff")
        return start[:-1] + bytes([start[-1] + 1]) if start else value
    text = value[:_SHORTENED].rstrip(chr(_LAST_CHARACTER))
    if not text:
        return value
    last = ord(text[-1])
    return text[:-1] + chr(_FIRST_AFTER_SURROGATES if last == _LAST_BEFORE_SURROGATES else last + 1)


def _byte_length(value: str | bytes) -> int:
    return len(value.encode()) if isinstance(value, str) else len(value)


def _widest_bounds(kind: pa.DataType) -> tuple[Any, Any]:
    for is_kind, bounds in _WIDEST:
        if is_kind(kind):
            return bounds(kind)
    raise AssertionError(f"a column of type {kind} has no statistics")


def _decimal_bounds(kind: Any) -> tuple[Decimal, Decimal]:
    highest = Decimal(10**kind.precision - 1).scaleb(-kind.scale, context=Context(prec=kind.precision))
    return highest.copy_negate(), highest  # not -highest, which would be rounded to 28 digits


_WIDEST: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType], tuple[Any, Any]]], ...] = (
    (pat.is_boolean, lambda _: (False, True)),
    (pat.is_floating, lambda _: (-math.inf, math.inf)),
    (pat.is_string, lambda _: ("", chr(_LAST_CHARACTER) * _HIGHEST)),
    (pat.is_fixed_size_binary, lambda kind: (b"\x00" * kind.byte_width, b"\xff" * kind.byte_width)),
    (pat.is_binary, lambda _: (b"", b"\xff" * _HIGHEST)),
    (pat.is_decimal, _decimal_bounds),
    (pat.is_time32, lambda _: (0, 86_400_000 - 1)),
    (pat.is_time64, lambda _: (0, 86_400_000_000 - 1)),
    (pat.is_timestamp, lambda _: (-_FAR, _FAR)),
    (pat.is_int64, lambda _: (-(2**63), 2**63 - 1)),
    (pat.is_null, lambda _: (None, None)),
    (lambda kind: pat.is_int32(kind) or pat.is_date32(kind), lambda _: (-(2**31), 2**31 - 1)),
)
"""The bounds that leave out no value of a type."""
