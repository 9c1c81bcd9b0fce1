"""Convert the filters that callers pass, expressions of Arrow, text or tuples, to expressions, and evaluate them."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from functools import reduce
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.conditions.comparison import COMPARISONS, compare, held_values, values_alike
from hudiformat.conditions.literals import text_scalar
from hudiformat.errors import FilterError, SchemaError, format_value, unknown_column_error

Filter: TypeAlias = pc.Expression | str | Sequence[Any]
"""A filter of rows, in one of three forms.

An expression of Arrow; text such as ``"p = 'x' and v > 0"``; or tuples such as ``[("p", "=", "x"), ("v", ">", 0)]``,
all of which have to hold.  Of several lists of tuples, one list has to hold.
"""

_OPERATORS = ("=", "==", *list(COMPARISONS)[1:], "in", "not in")
_HOLD_TEXTS: Sequence[Callable[[pa.DataType], bool]] = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_fixed_size_binary,
)
_LONG = 64
"""From so many bits on, a number is no long of Arrow's."""
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_POSITION = re.compile(r"(?<![.\w])FieldPath\(|FieldRef\.Nested\(FieldRef\.FieldPath\(")
"""A column that is named by its number, in the text of an expression without its string literals."""


def as_filter(given: Filter | None, schema: pa.Schema) -> pc.Expression | None:
    """Return *given* as an expression over rows with the columns of *schema*; None stays None.

    Raises:
        FilterError: it has none of the forms, or names a column by its number.
        SchemaError: it names a column that *schema* does not have.
    """
    if isinstance(given, pc.Expression):
        _refuse_positions(given, schema)
        return given
    if given is None:
        return None
    if isinstance(given, str):
        from hudiformat.conditions.translation import as_expression  # noqa: PLC0415 - only for text

        return as_expression(given, schema)
    groups = _sequence(given)
    groups = [given] if isinstance(groups[0], tuple) else groups
    return reduce(operator.or_, [_all_of(group, schema) for group in groups])


def match_rows(rows: pa.Table, condition: pc.Expression) -> pa.BooleanArray:
    """Return for each of *rows* whether *condition* is true for it, false or null.

    This takes a third of the time of ``rows.filter(condition)``, which copies all columns also where every row
    matches.

    Raises:
        ArrowException: *condition* is no condition, uses a column that is missing, or compares values that cannot be
            compared.
    """
    from pyarrow import acero  # noqa: PLC0415 - it imports pandas

    source = acero.Declaration("table_source", acero.TableSourceNodeOptions(rows))
    computed = acero.Declaration("project", acero.ProjectNodeOptions([condition]), [source]).to_table(use_threads=False)
    flags = computed.column(0).combine_chunks()
    if not isinstance(flags, pa.BooleanArray):
        raise pa.ArrowTypeError(f"expected a condition, found {condition}, whose values are {flags.type}")
    return flags


def can_evaluate(condition: pc.Expression, schema: pa.Schema) -> bool:
    """Return whether *condition* can be evaluated on rows with *schema*: its columns exist, and can be compared."""
    return _error_of(condition, schema.empty_table()) is None


def columns_of(condition: pc.Expression, schema: pa.Schema) -> list[str]:
    """Return the columns of *schema* that *condition* uses.

    Raises:
        SchemaError: *condition* uses another column, or compares values that cannot be compared.
    """
    # Arrow does not list the columns of an expression, but it raises an error if one of them is missing.
    text = str(condition)
    tried = schema.empty_table().select([name for name in schema.names if name in text])
    if _error_of(condition, tried) is not None:  # the text may have a name in another form: try all columns
        tried = schema.empty_table()
        if (message := _error_of(condition, tried)) is not None:
            raise SchemaError(f"the filter {condition} does not fit the columns {', '.join(schema.names)}: {message}")
    return [name for name in tried.column_names if _error_of(condition, tried.drop_columns([name])) is not None]


def _error_of(condition: pc.Expression, rows: pa.Table) -> str | None:
    """Return the message of Arrow's error when it evaluates *condition* on *rows*; None if it can."""
    try:
        match_rows(rows, condition)
    except pa.ArrowException as error:
        return str(error)
    return None


def _refuse_positions(given: pc.Expression, schema: pa.Schema) -> None:
    """Refuse ``field(0)``: which column that is depends on the columns that are read.

    Raises:
        FilterError: *given* has a column by its number.
    """
    if _POSITION.search(_TEXT.sub("", str(given))) and not any("FieldPath(" in name for name in schema.names):
        raise FilterError(f"filter: expected columns by their names, found a number in {str(given)[:80]}")


def _sequence(given: object) -> Sequence[object]:
    if not isinstance(given, Sequence) or isinstance(given, str) or not given:
        raise _filter_error(given)
    return given


def _all_of(given: object, schema: pa.Schema) -> pc.Expression:
    group = _sequence(given)
    return reduce(operator.and_, [_comparison(one, schema) for one in group])


def _comparison(one: object, schema: pa.Schema) -> pc.Expression:
    if not isinstance(one, tuple) or len(one) != len(("column", "operator", "value")) or not isinstance(one[0], str):
        raise _filter_error(one)
    name, sign, value = one
    path = [name] if schema.get_field_index(name) >= 0 else name.split(".")
    if schema.get_field_index(path[0]) < 0:
        raise unknown_column_error(name, schema.names)
    operator_ = sign.lower() if isinstance(sign, str) else ""
    if operator_ not in _OPERATORS:
        raise FilterError(f"filter: expected one of {', '.join(_OPERATORS)}, found {sign!r} in {one!r}")
    kind = _type_of(schema, path)
    try:
        return _compared(pc.field(*path), operator_, value, kind)
    except FilterError as error:
        raise FilterError(f"filter {one!r}: {error}") from None
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise FilterError(f"filter {one!r}: {error}") from None


def _type_of(schema: pa.Schema, path: Sequence[str]) -> pa.DataType | None:
    """Return the type of a column, or of a field inside it; None if there is no such field."""
    kind = schema.field(path[0]).type
    for name in path[1:]:
        if not pa.types.is_struct(kind) or kind.get_field_index(name) < 0:
            return None
        kind = kind.field(name).type
    return kind


def _compared(column: pc.Expression, sign: str, value: Any, kind: pa.DataType | None) -> pc.Expression:
    """Return the comparison of *column*, of type *kind*, with *value*; *sign* is one of _OPERATORS.

    Raises:
        FilterError, ArrowException, TypeError, ValueError: they are not compared.
    """
    if sign in ("in", "not in"):
        is_one = _is_one_of(column, value, kind)
        return ~is_one if sign == "not in" else is_one
    sign = "=" if sign == "==" else sign
    if kind is None or pa.types.is_nested(kind) or pa.types.is_dictionary(kind):
        return COMPARISONS[sign](column, value)
    return compare(column, sign, _scalar_of(value, kind), kind)


def _is_one_of(column: pc.Expression, values: Any, kind: pa.DataType | None) -> pc.Expression:
    """Return whether *column* has one of *values*: what ``=`` finds by each, and null by None.

    Raises:
        FilterError, ArrowException, TypeError, ValueError: they are not compared, or *values* is no list.
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise TypeError(f"expected a list of values after 'in', found {format_value(values)}")
    found = list(values)
    if kind is None or pa.types.is_nested(kind) or pa.types.is_dictionary(kind):
        return column.isin(found)
    known = [value for value in found if value is not None]
    held = values_alike(known, kind)
    if held is None:
        held = held_values([_scalar_of(value, kind) for value in known], kind)
    is_one = column.isin(held)
    return is_one if len(known) == len(found) else is_one | column.is_null()


def _scalar_of(value: Any, kind: pa.DataType) -> pa.Scalar:
    """Return *value* as it is, and a text as a value of the type *kind* if the column holds no texts.

    Raises:
        FilterError, ArrowException, TypeError, ValueError: it is no value that is compared with such a column.
    """
    if isinstance(value, pa.Scalar):
        return value
    if any(is_kind(kind) for is_kind in _HOLD_TEXTS) or value is None:
        return pa.scalar(value, kind)
    if isinstance(value, str):
        return text_scalar(value, kind)
    if pa.types.is_boolean(kind):
        return pa.scalar(value, kind)
    return pa.scalar(Decimal(value) if type(value) is int and value.bit_length() >= _LONG else value)


def _filter_error(given: object) -> FilterError:
    return FilterError(
        "filter: expected an expression of pyarrow, text such as \"p = 'x' and v > 0\", or tuples such as "
        f"[('p', '=', 'x'), ('v', '>', 0)]; found {str(given)[:80]!r}"
    )
