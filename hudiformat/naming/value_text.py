"""The text that a column's values have in record keys and partition paths.

Hudi writes the text of a Java object.  Where its own write paths disagree about that text there is none to follow:
a timestamp is a count of microseconds to an upsert and a date with a time to a bulk insert, so one table would hold
two keys for one row.  Such types are refused.
"""

from __future__ import annotations

from datetime import date

import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.errors import DataError, SchemaError

_YEAR_ONE = date.min
_YEAR_9999 = date.max


def value_text(column: pa.Array, name: str) -> pa.Array:
    """The values of a column as a string array; null stays null.

    Strings, signed integers, booleans and dates.  Dictionary-encoded columns give the text of their values.

    Raises:
        SchemaError: another type.
        DataError: a date outside the years 1 to 9999, which Java writes with a sign.

    Source: HoodieAvroUtils.getNestedFieldValAsString, BuiltinKeyGenerator, Hudi 1.2.0.
    """
    if pa.types.is_dictionary(column.type):
        return value_text(column.cast(column.type.value_type), name)
    if pa.types.is_null(column.type):
        return column.cast(pa.string())
    if pa.types.is_date(column.type):
        return _date_text(column.cast(pa.date32()), name)
    if not _has_fixed_text(column.type):
        raise SchemaError(
            f"column {name} of type {column.type} cannot be part of a record key or partition path: expected string,"
            " int, long, boolean or date; Hudi's own writers disagree about the text of other types",
            column=name,
        )
    return column if pa.types.is_string(column.type) else column.cast(pa.string())


def _has_fixed_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_signed_integer(kind)
        or pa.types.is_boolean(kind)
    )


def _date_text(column: pa.Array, name: str) -> pa.Array:
    days = column.cast(pa.int32())
    low, high = (value.as_py() for value in pc.min_max(days).values())
    epoch = date(1970, 1, 1).toordinal()
    if low is not None and not _YEAR_ONE.toordinal() - epoch <= low <= high <= _YEAR_9999.toordinal() - epoch:
        raise DataError(f"column {name}: dates outside the years 1 to 9999 have no text in Hudi", column=name)
    return column.cast(pa.string())
