"""The columns and values of a statement in SQL -> expressions of Arrow with the same result.

Values are literals, columns, and sums, differences and products of integers or of doubles.  DuckDB rounds and widens
others by rules of its own: these are refused.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from hudiformat.conditions.literals import value_of
from hudiformat.conditions.translation import translate_condition
from hudiformat.errors import FilterError, SchemaError, UnsupportedFeatureError, unknown_column_error

if TYPE_CHECKING:
    from sqlglot.expressions import Expression

_ARITHMETIC: Mapping[str, Callable[[pc.Expression, pc.Expression], pc.Expression]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mul": operator.mul,
}
"""An overflow is an error of Arrow's, as of DuckDB."""


def refuse(what: str, *, instead: str) -> NoReturn:
    """Refuse a part of a statement; *instead* says what to write.

    Raises:
        UnsupportedFeatureError: always.
    """
    raise UnsupportedFeatureError(
        f"SQL: expected a statement without {what}, found one with it; {instead}", feature=f"{what} in SQL"
    )


@dataclass(frozen=True, slots=True)
class Scope:
    """The tables whose columns a part of a statement may use: the columns of each, by the name of the table.

    With one table, columns stand at the top of the rows; with two, they are fields of ``source`` and ``target``.
    """

    tables: Mapping[str, tuple[str, pa.Schema]]
    """By the name in the statement, in lower case: where its columns are, and which these are."""

    @property
    def schema(self) -> pa.Schema:
        """The columns of the rows that expressions are evaluated on."""
        if len(places := list(self.tables.values())) == 1 and not places[0][0]:
            return places[0][1]
        return pa.schema([(place, pa.struct(list(schema))) for place, schema in places])

    def condition(self, node: Expression) -> pc.Expression:
        """Return a condition as an expression.

        Raises:
            FilterError: it is none that is supported.
            SchemaError: there is no such column.
        """
        return translate_condition(node.transform(self._resolve), self.schema)

    def value(self, node: Expression, field: pa.Field) -> pc.Expression:
        """Return a new value of the column *field* as an expression.

        Raises:
            UnsupportedFeatureError: its value may differ from DuckDB's.
            SchemaError: there is no such column, or a literal is no value of *field*.
        """
        if (literal := _literal(node)) is not None:
            return pc.scalar(_scalar(literal.value, field))
        found, kind = self._value(node)
        if not (kind == field.type or _is_held(kind, field.type)):
            refuse(f"a value of type {kind} for a column of type {field.type}", instead="write it by update or merge")
        return found

    def path(self, node: Expression) -> Sequence[str]:
        """Return the names by which a column is reached.

        Raises:
            SchemaError: there is no such column.
        """
        names = [part.name for part in node.parts]
        place = self.tables.get(names[0].lower()) if len(names) > 1 else None
        if place is not None:
            names = names[1:]
        holding = [one for one in ([place] if place else self.tables.values()) if one[1].get_field_index(names[0]) >= 0]
        if len(holding) != 1:
            known = [name for _, schema in self.tables.values() for name in schema.names]
            if holding:
                raise SchemaError(f"column {names[0]}: expected the name of its table before it, found none")
            raise unknown_column_error(names[0], known)
        return [*filter(None, [holding[0][0]]), *names]

    def _resolve(self, node: Expression) -> Expression:
        """Replace a column by one without the name of its table, or with the place of its rows."""
        if type(node).__name__ != "Column":
            return node
        from sqlglot import expressions  # noqa: PLC0415 - only for statements

        parts = [expressions.Identifier(this=name, quoted=True) for name in self.path(node)]
        return expressions.Column(**dict(zip(("this", "table", "db", "catalog"), reversed(parts), strict=False)))

    def _value(self, node: Expression) -> tuple[pc.Expression, pa.DataType]:
        name = type(node).__name__
        if name == "Paren":
            return self._value(node.this)
        if name in ("Column", "Dot"):
            path = self.path(node)
            kind: pa.DataType = self.schema.field(path[0]).type
            for part in path[1:]:
                kind = kind.field(kind.get_field_index(part)).type if isinstance(kind, pa.StructType) else pa.null()
            return pc.field(*path), kind
        if name not in _ARITHMETIC:
            refuse(
                f"the value {node.sql('duckdb')}", instead="write it by update or merge, as an expression of pyarrow"
            )
        sides = [node.this, node.expression]
        kinds = [self._value(one)[1] for one in sides if _literal(one) is None]
        kind = pa.int64() if kinds and all(map(pat.is_integer, kinds)) else pa.float64()
        if not kinds or not all(pat.is_integer(one) or one == kind for one in kinds):
            refuse(
                f"the value {node.sql('duckdb')}", instead="write it by update or merge, as an expression of pyarrow"
            )
        left, right = (self._operand(one, pa.field("", kind)) for one in sides)
        return _ARITHMETIC[name](left, right), kind

    def _operand(self, node: Expression, field: pa.Field) -> pc.Expression:
        if (literal := _literal(node)) is not None:
            return pc.scalar(_scalar(literal.value, field))
        return self._value(node)[0].cast(field.type)


_EXACT_DIGITS, _EXACT_BITS = 15, 32
"""Decimals of so many digits, and integers of so many bits, are each nearest to another double."""


def _is_held(kind: pa.DataType, other: pa.DataType) -> bool:
    """Return whether values of *kind* are the same in *other*, or an error where they are too large."""
    if pat.is_integer(kind) and pat.is_integer(other):
        return True
    if isinstance(kind, pa.Decimal128Type) and isinstance(other, pa.Decimal128Type):
        return kind.scale <= other.scale
    is_narrow = (pat.is_integer(kind) and kind.bit_width <= _EXACT_BITS) or pat.is_float32(kind)
    is_narrow |= isinstance(kind, pa.Decimal128Type) and kind.precision <= _EXACT_DIGITS
    return is_narrow and pat.is_float64(other)


@dataclass(frozen=True, slots=True)
class _Literal:
    value: Any


def _literal(node: Expression) -> _Literal | None:
    try:
        return _Literal(value_of(node))
    except FilterError:
        return None


def _scalar(value: Any, field: pa.Field) -> pa.Scalar:
    """Return a literal as a value of *field*, which is not rounded.

    Raises:
        SchemaError: it is none.
    """
    text = value[1] if isinstance(value, tuple) else value
    kind = field.type
    is_number = isinstance(value, Decimal)
    try:
        if is_number and pat.is_floating(kind):
            return pa.scalar(float(value), kind)
        if isinstance(text, str) and (pat.is_date32(kind) or pat.is_timestamp(kind)):
            return pa.scalar(text).cast(kind)
        is_text = pat.is_string(kind) or pat.is_large_string(kind)
        is_other = (
            (isinstance(text, str) and not is_text)
            or (isinstance(value, bool) and not pat.is_boolean(kind))
            or (is_number and not pat.is_decimal(kind) and not (pat.is_integer(kind) and value == int(value)))
        )
        if not is_other:
            return pa.scalar(int(value) if is_number and pat.is_integer(kind) else text, kind)
        cause: Exception | None = None
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        cause = error
    raise SchemaError(
        f"SQL: column {field.name!r}: expected a value of type {kind}, found {text}", column=field.name
    ) from cause
