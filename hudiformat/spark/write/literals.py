"""Convert Python values to Spark columns of the type that the table's column has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, time
from typing import Any, cast

from pyspark.sql import Column, Row, functions
from pyspark.sql.types import ArrayType, DataType, IntegerType, LongType, MapType, StructType, TimestampNTZType

from hudiformat.errors import SchemaError, format_value, unknown_column_error


def column_of(value: object, kind: DataType, name: str) -> Column:
    """Return *value*, a column or a Python value, as a column of type *kind*; *name* is for error messages.

    ``functions.lit`` alone does not do: it has no structs and maps, and it reads a datetime without a zone as a moment
    in the session's zone, which changes the time of day.

    Raises:
        SchemaError: a dict has a field that the struct *kind* does not have, or a nested value does not fit *kind*.
    """
    if hasattr(value, "isNotNull"):  # Spark Connect has its own Column class
        return cast("Column", value).cast(kind)
    if value is None:
        return functions.lit(None).cast(kind)
    if isinstance(kind, StructType | MapType | ArrayType):
        return _nested(value, kind, name).cast(kind)
    if isinstance(kind, TimestampNTZType) and isinstance(value, datetime) and value.tzinfo is None:
        return functions.lit(value.isoformat(sep=" ")).cast(kind)
    if isinstance(value, time) and isinstance(kind, LongType | IntegerType):
        return functions.lit(_since_midnight(value, kind)).cast(kind)
    return functions.lit(value).cast(kind)


def _nested(value: Any, kind: StructType | MapType | ArrayType, name: str) -> Column:
    if isinstance(kind, StructType):
        return _structure(value, kind, name)
    if isinstance(kind, MapType):
        parts = [
            (column_of(key, kind.keyType, name), column_of(one, kind.valueType, name))
            for key, one in _pairs(value, kind, name)
        ]
        return functions.create_map(*(part for pair in parts for part in pair))
    if not isinstance(value, Iterable) or isinstance(value, str | bytes):
        raise _type_error(value, kind, name, "a list")
    return functions.array(*(column_of(one, kind.elementType, name) for one in value))


def _structure(value: Any, kind: StructType, name: str) -> Column:
    fields = value.asDict() if isinstance(value, Row) else value
    if not isinstance(fields, Mapping):
        raise _type_error(value, kind, name, "a dict")
    known = set(kind.names)
    if strange := next((one for one in fields if one not in known), None):
        raise unknown_column_error(f"{name}.{strange}", [f"{name}.{one}" for one in kind.names])
    inner = [column_of(fields.get(one.name), one.dataType, f"{name}.{one.name}").alias(one.name) for one in kind]
    return functions.struct(*inner)


def _pairs(value: Any, kind: MapType, name: str) -> list[tuple[Any, Any]]:
    try:
        return list(dict(value).items())
    except (TypeError, ValueError):
        raise _type_error(value, kind, name, "a dict") from None


def _type_error(value: object, kind: DataType, name: str, expected: str) -> SchemaError:
    return SchemaError(
        f"column {name} of type {kind.simpleString()}: expected {expected}, found {format_value(value)}", column=name
    )


def _since_midnight(value: time, kind: DataType) -> int:
    """Return a time of day as the number that Spark shows for it: microseconds in 64 bits, or milliseconds in 32."""
    micros = ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
    return micros if isinstance(kind, LongType) else micros // 1000
