"""Translate predicates of Polars to expressions of Arrow that are true of all rows that a predicate finds.

In Polars a NaN is greater than all other numbers and equal to itself; a comparison with null is neither true nor false.
``not`` is moved inwards, to the comparisons, so that a part that cannot be translated can be taken as true.  Whoever
uses such an expression applies the predicate itself to the rows that are left.

A predicate is read from Polars's own JSON, which may change from release to release: parts that are not known are taken
as true.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from hudiformat.conditions.comparison import compare, held_values
from hudiformat.conditions.literals import prefix_upper_bound
from hudiformat.errors import FilterError

if TYPE_CHECKING:
    import polars as pl

_SIGNS = {"Eq": "=", "NotEq": "!=", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
_NEGATED = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_TRUE_OF_NAN = (">", ">=", "!=")
_JOINED = {"And": "and", "LogicalAnd": "and", "Or": "or", "LogicalOr": "or"}
_CLOSED = {"Both": (">=", "<="), "Left": (">=", "<"), "Right": (">", "<="), "None": (">", "<")}


def implied_by_predicate(predicate: pl.Expr, schema: pa.Schema) -> pc.Expression | None:
    """Return an expression that is true of all rows for which *predicate* is true; None if nothing is known of them.

    Source: polars.Expr.meta.serialize; the rules of Polars's comparisons.
    """
    try:
        node = json.loads(predicate.meta.serialize(format="json"))
    except Exception:  # noqa: BLE001 - Polars raises errors of several kinds for what it cannot write, such as functions
        return None
    try:
        return _Translator(schema).of(node, negated=False)
    except RecursionError:
        return None


class _UnknownPartError(Exception):
    """A part of a predicate is none that is translated."""


@dataclass(frozen=True, slots=True)
class _Translator:
    """Translates predicates on rows with the columns of ``schema``; a part that may be anything is None."""

    schema: pa.Schema

    def of(self, node: Any, *, negated: bool) -> pc.Expression | None:
        """Return what is true wherever the predicate *node* is true, or with *negated* wherever it is false."""
        try:
            return self._translate(node, negated=negated)
        except (_UnknownPartError, FilterError, pa.ArrowException, KeyError, IndexError, TypeError, ValueError):
            return None

    def _translate(self, node: Any, *, negated: bool) -> pc.Expression | None:
        [(kind, content)] = node.items()
        if kind == "BinaryExpr":
            return self._binary(content, negated=negated)
        if kind == "Function":
            return self._function(content, negated=negated)
        if kind == "Alias":
            return self._translate(content[0], negated=negated)
        if kind == "Literal":
            return pc.scalar(bool(_scalar(node).as_py()) != negated)
        column, of_column = self._column(node)
        return column == pc.scalar(not negated) if pat.is_boolean(of_column) else None

    def _binary(self, content: Mapping[str, Any], *, negated: bool) -> pc.Expression | None:
        left, operator, right = content["left"], content["op"], content["right"]
        if operator in _JOINED:
            return self._join([left, right], all_of=(_JOINED[operator] == "and") != negated, negated=negated)
        column, literal, is_mirrored = (right, left, True) if _is_literal(left) else (left, right, False)
        if operator in ("EqValidity", "NotEqValidity"):
            return self._equality_of_nulls(column, _scalar(literal), equal=(operator == "EqValidity") != negated)
        sign = _SIGNS[operator]
        sign = _MIRRORED[sign] if is_mirrored else sign
        return self._compared(column, _NEGATED[sign] if negated else sign, _scalar(literal))

    def _join(self, nodes: Sequence[Any], *, all_of: bool, negated: bool) -> pc.Expression | None:
        """Join *nodes*: a part that may be anything is left out of a conjunction, and makes a disjunction unknown."""
        parts = [self.of(one, negated=negated) for one in nodes]
        known = [part for part in parts if part is not None]
        if not known or (not all_of and len(known) < len(parts)):
            return None
        return reduce(lambda one, other: one & other if all_of else one | other, known)

    def _function(self, content: Mapping[str, Any], *, negated: bool) -> pc.Expression | None:
        inputs: Sequence[Any] = content["input"]
        [(group, name)] = content["function"].items()
        options: Mapping[str, Any] = {}
        if isinstance(name, dict):
            [(name, options)] = name.items()
        if (group, name) == ("StringExpr", "StartsWith") and not negated:
            return self._starts_with(inputs[0], _scalar(inputs[1]))
        if group != "Boolean":
            return None
        if name == "Not":
            return self.of(inputs[0], negated=not negated)
        if name in ("AllHorizontal", "AnyHorizontal"):
            return self._join(inputs, all_of=(name == "AllHorizontal") != negated, negated=negated)
        return self._of_values(name, inputs, options, negated=negated)

    def _of_values(
        self, name: str, inputs: Sequence[Any], options: Mapping[str, Any], *, negated: bool
    ) -> pc.Expression | None:
        if name == "IsBetween":
            signs = zip(_CLOSED[options["closed"]], inputs[1:], strict=True)
            bounds = [(_NEGATED[sign] if negated else sign, _scalar(bound)) for sign, bound in signs]
            both = [self._compared(inputs[0], sign, bound) for sign, bound in bounds]
            return both[0] | both[1] if negated else both[0] & both[1]
        if name == "IsIn":
            return self._is_in(inputs[0], _values(inputs[1]), equal_nulls=bool(options["nulls_equal"]), negated=negated)
        return self._state(inputs[0], name, negated=negated)

    def _state(self, node: Any, name: str, *, negated: bool) -> pc.Expression | None:
        column, kind = self._column(node)
        if name in ("IsNull", "IsNotNull"):
            return column.is_null() if (name == "IsNull") != negated else column.is_valid()
        if name in ("IsNan", "IsNotNan") and pat.is_floating(kind):
            return pc.is_nan(column) if (name == "IsNan") != negated else ~pc.is_nan(column)
        return None

    def _compared(self, node: Any, sign: str, value: pa.Scalar) -> pc.Expression:
        column, kind = self._column(node)
        if not value.is_valid:
            return pc.scalar(False)
        compared = compare(column, sign, _alike(value, kind), kind)
        return compared | pc.is_nan(column) if pat.is_floating(kind) and sign in _TRUE_OF_NAN else compared

    def _equality_of_nulls(self, node: Any, value: pa.Scalar, *, equal: bool) -> pc.Expression:
        column, _ = self._column(node)
        if not value.is_valid:
            return column.is_null() if equal else column.is_valid()
        return self._compared(node, "=", value) if equal else self._compared(node, "!=", value) | column.is_null()

    def _is_in(self, node: Any, values: pa.Array, *, equal_nulls: bool, negated: bool) -> pc.Expression:
        column, kind = self._column(node)
        held = held_values([_alike(one, kind) for one in values if one.is_valid], kind)
        if negated:
            return ~column.isin(held)  # of a null, too, in which Polars's releases differ
        is_one = column.isin(held)
        if pat.is_floating(kind):
            is_one |= pc.is_nan(column)  # NaN is equal to itself, and held_values leaves it out
        return is_one | column.is_null() if equal_nulls and values.null_count else is_one

    def _starts_with(self, node: Any, prefix: pa.Scalar) -> pc.Expression:
        column, kind = self._column(node)
        text: str = _alike(prefix, kind).as_py()
        end = prefix_upper_bound(text)
        return column >= text if end is None else (column >= text) & (column < end)

    def _column(self, node: Any) -> tuple[pc.Expression, pa.DataType]:
        """Return a column, or a field inside a struct, and its type."""
        first, *inner = self._path(node)
        kind: pa.DataType = self.schema.field(first).type
        for name in inner:
            kind = kind.field(kind.get_field_index(name)).type if isinstance(kind, pa.StructType) else pa.null()
        return pc.field(first, *inner), kind

    def _path(self, node: Any) -> list[str]:
        [(kind, content)] = node.items()
        if kind == "Column":
            return [content]
        if kind == "Function" and set(content["function"]) == {"StructExpr"}:
            return [*self._path(content["input"][0]), content["function"]["StructExpr"]["FieldByName"]]
        raise _UnknownPartError


def _is_literal(node: Any) -> bool:
    return set(node) <= {"Literal"} or (set(node) == {"Alias"} and _is_literal(node["Alias"][0]))


def _series(node: Any) -> Any:
    """Return a literal of Polars as a series of one value.

    Raises:
        _UnknownPartError: it is no literal, or a number that JSON does not hold.
    """
    import polars as pl  # noqa: PLC0415 - only where there are predicates of Polars

    if not _is_literal(node) or None in _numbers(node):  # JSON has null for NaN and infinity
        raise _UnknownPartError
    literal = pl.Expr.deserialize(json.dumps(node).encode(), format="json")
    return pl.select(literal).to_series()


def _numbers(node: Any) -> list[Any]:
    """Return the floating-point numbers of a literal, as its JSON has them."""
    if not isinstance(node, dict):
        return []
    found = [value for kind, value in node.items() if kind in ("Float", "Float32", "Float64")]
    return found + [number for value in node.values() for number in _numbers(value)]


def _scalar(node: Any) -> pa.Scalar:
    [value] = _chunk(_series(node).to_arrow())
    return value


def _values(node: Any) -> pa.Array:
    """Return the values of a list, or of a series."""
    found = _series(node)
    return _chunk((found.explode() if str(found.dtype).startswith(("List", "Array")) else found).to_arrow())


def _chunk(found: pa.Array | pa.ChunkedArray) -> pa.Array:
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


_KINDS: Sequence[Callable[[pa.DataType], bool]] = (
    pat.is_integer,
    pat.is_decimal,
    pat.is_boolean,
    pat.is_date32,
    pat.is_time,
)
_TEXTS = (pat.is_string, pat.is_large_string, pat.is_string_view)
_BYTES = (pat.is_binary, pat.is_large_binary, pat.is_binary_view, pat.is_fixed_size_binary)


def _alike(value: pa.Scalar, kind: pa.DataType) -> pa.Scalar:
    """Return *value*, which is to be of the sort of *kind*: what Polars converts is not compared here.

    Raises:
        _UnknownPartError: it is of another sort.
    """
    for sort in (_TEXTS, _BYTES):
        if any(is_one(kind) for is_one in sort) and any(is_one(value.type) for is_one in sort):
            return pa.scalar(value.as_py(), kind)
    if isinstance(kind, pa.TimestampType) and isinstance(value.type, pa.TimestampType):
        # In other units Polars rounds.  Of two zones the moments are compared.
        if value.type.unit == kind.unit and (value.type.tz is None) == (kind.tz is None):
            return value
    elif value.type == kind or (not pat.is_floating(kind) and any(is_(kind) and is_(value.type) for is_ in _KINDS)):
        return value
    raise _UnknownPartError
