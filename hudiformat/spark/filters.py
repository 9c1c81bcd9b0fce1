"""Filters that Spark hands down (PySpark 4.1) -> an expression of pyarrow's.

Spark asks them again of every row, so what cannot be said alike is left out: of floats, where Spark's NaN is equal to
itself and above all others; of fields of structs; of columns that Spark was told to be of another type.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat
from pyspark.sql import datasource

_COMPARISONS: dict[type, Callable[[Any, Any], Any]] = {
    datasource.EqualTo: operator.eq,
    datasource.EqualNullSafe: operator.eq,
    datasource.GreaterThan: operator.gt,
    datasource.GreaterThanOrEqual: operator.ge,
    datasource.LessThan: operator.lt,
    datasource.LessThanOrEqual: operator.le,
}
_TEXTS: dict[type, Callable[..., Any]] = {
    datasource.StringStartsWith: pc.starts_with,
    datasource.StringEndsWith: pc.ends_with,
    datasource.StringContains: pc.match_substring,
}


def pushed(filters: Sequence[datasource.Filter], stored: pa.Schema, told: pa.Schema) -> pc.Expression | None:
    """What can be said of *filters*, joined by and; None where that is nothing.

    *stored* has the columns as they are, *told* as Spark was told that they are.
    """
    known = pa.schema(
        [field for field in stored if field.name in told.names and told.field(field.name).type == field.type]
    )
    said = [found for one in filters if (found := _said(one, known)) is not None]
    expression: pc.Expression | None = None
    for one in said:
        expression = one if expression is None else expression & one
    return expression


def _said(asked: datasource.Filter, schema: pa.Schema) -> pc.Expression | None:
    if isinstance(asked, datasource.Not):
        inner = _said(asked.child, schema)
        return None if inner is None else ~inner
    name, *inside = getattr(asked, "attribute", ("",))
    if inside or name not in schema.names or pat.is_floating(schema.field(name).type):
        return None
    try:
        return _of_column(asked, pc.field(name), schema.field(name).type)
    except (pa.ArrowException, TypeError, ValueError):  # a value that is none of the column's type
        return None


def _of_column(asked: datasource.Filter, column: pc.Expression, kind: pa.DataType) -> pc.Expression | None:
    if isinstance(asked, datasource.IsNull):
        return column.is_null()
    if isinstance(asked, datasource.IsNotNull):
        return column.is_valid()
    value = getattr(asked, "value")  # noqa: B009 - which all that are left have, and their base class has not
    if isinstance(asked, datasource.In):
        return column.isin(pa.array([one for one in value if one is not None], kind))
    if type(asked) in _TEXTS:
        return _TEXTS[type(asked)](column, value)
    if value is None:  # only <=> is true of null
        return column.is_null() if isinstance(asked, datasource.EqualNullSafe) else None
    compared: pc.Expression = _COMPARISONS[type(asked)](column, pa.scalar(value, kind))
    return compared & column.is_valid() if isinstance(asked, datasource.EqualNullSafe) else compared
