"""Literals of conditions -> values of the type of the column that they are compared with."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date, datetime, timezone, tzinfo
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.types as pat

from hudiformat.errors import FilterError

if TYPE_CHECKING:
    from sqlglot.expressions import Expression

_LONGEST = 38
"""Digits of a decimal in Spark."""

_DOUBLE_DIGITS = 15
"""Decimals of so many digits stay different from each other when Spark makes doubles of them."""

_SURROGATES, _LAST = range(0xD800, 0xE000), 0x10FFFF


class _Double(Decimal):
    """The number that a literal of Spark's type double is, in as few digits as name it."""

    most = 1 << 53
    """Whole numbers from here on may be equal to others once Spark has made doubles of them."""


class _Float(_Double):
    """The number that a literal of Spark's type float is."""

    most = 1 << 24


def value_of(node: Expression) -> Any:
    """The value of a literal: None, a bool, str, bytes or Decimal, or for dates and times ``(type, text)``.

    Raises:
        FilterError: it is no literal.
    """
    kind = type(node).__name__
    if kind == "Literal":
        return str(node.this) if node.is_string else _number(node.this)
    if kind in _READERS:
        return _READERS[kind](node)
    raise _no_literal(node)


def _negative(node: Expression) -> Decimal:
    number = value_of(node.this)
    if not isinstance(number, Decimal):
        raise _no_literal(node)
    return type(number)(number.copy_negate()) if number else number  # a minus sign would round to 28 digits


def _pieces(node: Expression) -> str:
    """Of literals one after the other, which Spark takes for one."""
    return "".join(value_of(part) for part in node.expressions)


def _of_type(node: Expression) -> Any:
    """Of DATE '..', TIMESTAMP '..', 1L and casts of literals that keep the value."""
    kind = node.args["to"].this.name
    value = value_of(node.this) if type(node.this).__name__ == "Literal" else None
    if kind in _TIMES and isinstance(value, str):
        return ("date" if kind == "DATE" else "timestamp", value)
    if isinstance(value, Decimal):
        if kind in _FLOATING:
            return _rounded(value, _FLOATING[kind])
        if _keeps(value, node.args["to"]):
            return Decimal(value)
    raise _no_literal(node)


def _keeps(value: Decimal, to: Expression) -> bool:
    """Whether a cast to the type *to* of integers or decimals leaves *value* as it is."""
    kind = to.this.name
    if kind in _WHOLE:
        return value == value.to_integral_value() and -_WHOLE[kind] <= value < _WHOLE[kind]
    if kind != "DECIMAL":
        return False
    digits, scale, *_ = *(int(one.this.name) for one in to.expressions), *((10, 0)[len(to.expressions) :])
    return -int(value.as_tuple().exponent) <= scale and abs(value) < Decimal(10) ** (digits - scale)


def _rounded(value: Decimal, kind: type[_Double]) -> _Double:
    """The nearest number of *kind*."""
    nearest = pa.scalar(float(value), pa.float32() if kind is _Float else pa.float64()).as_py()
    if not math.isfinite(nearest):
        raise FilterError(f"{value} is too large")
    return kind(repr(nearest))


_FLOATING = {"FLOAT": _Float, "DOUBLE": _Double}
_WHOLE = {"TINYINT": 1 << 7, "SMALLINT": 1 << 15, "INT": 1 << 31, "BIGINT": 1 << 63}
_TIMES = ("DATE", "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMPNTZ", "TIMESTAMPLTZ")
_READERS: dict[str, Callable[[Expression], Any]] = {
    "Paren": lambda node: value_of(node.this),
    "Null": lambda _: None,
    "Boolean": lambda node: bool(node.this),
    "HexString": lambda node: bytes.fromhex(node.this),
    "Concat": _pieces,
    "Neg": _negative,
    "Cast": _of_type,
    "TryCast": _of_type,
}


def _no_literal(node: Expression) -> FilterError:
    return FilterError(f"expected a literal, found {node.sql('spark')}")


def _number(text: str) -> Decimal:
    try:
        return _rounded(Decimal(text), _Double) if "e" in text.lower() else Decimal(text)
    except InvalidOperation as error:
        raise FilterError(f"{text} is no number") from error


def typed_literal(value: Any, kind: pa.DataType, zone: tzinfo = timezone.utc) -> pa.Scalar:
    """*value* of :func:`value_of` as one to compare a column of type *kind* with.

    Times without a zone are in *zone*.

    Raises:
        FilterError: values of these types are not compared here.
    """
    if isinstance(value, tuple):
        value = _moment(value[1], kind, is_date=value[0] == "date", zone=zone)
    elif isinstance(value, str) and pat.is_temporal(kind):
        value = _moment(value, kind, is_date=pat.is_date(kind), zone=zone)
    expected = _expected(kind)
    if expected is None or not isinstance(value, expected) or isinstance(value, bool) != pat.is_boolean(kind):
        raise FilterError(f"{_shown(value)} is not compared with a column of type {kind}")
    if isinstance(value, Decimal):
        return _number_of(value, kind)
    return pa.scalar(value, kind)


def _shown(value: Any) -> str:
    return str(value) if isinstance(value, Decimal) else repr(value)


def _expected(kind: pa.DataType) -> type | tuple[type, ...] | None:
    if pat.is_boolean(kind):
        return bool
    if pat.is_integer(kind) or pat.is_floating(kind) or pat.is_decimal(kind):
        return Decimal
    if pat.is_string(kind) or pat.is_large_string(kind):
        return str
    if pat.is_binary(kind) or pat.is_large_binary(kind):
        return bytes
    if pat.is_timestamp(kind):
        return datetime
    return date if pat.is_date(kind) else None


def _number_of(value: Decimal, kind: pa.DataType) -> pa.Scalar:
    """A number exactly; a column of floating-point numbers is compared with the nearest one of 64 bits."""
    if pat.is_floating(kind):
        return pa.scalar(float(value), pa.float64())
    is_long = pat.is_decimal(kind) and max(value.adjusted() + 1, 1) + kind.scale > _DOUBLE_DIGITS
    if isinstance(value, _Double) and (is_long or abs(value) >= value.most):
        raise FilterError(f"{value} is not compared with a column of type {kind}, of whose values Spark makes doubles")
    whole = value == value.to_integral_value()
    if pat.is_integer(kind) and whole and -(1 << 63) <= value < (1 << 63):
        return pa.scalar(int(value), pa.int64())
    scale = max(0, -int(value.as_tuple().exponent))
    digits = max(len(value.as_tuple().digits) + max(0, int(value.as_tuple().exponent)), scale + 1)
    if pat.is_decimal(kind) and digits <= _LONGEST:
        return pa.scalar(value, pa.decimal128(digits, scale))
    raise FilterError(f"{value} is not compared with a column of type {kind}")


def _moment(text: str, kind: pa.DataType, *, is_date: bool, zone: tzinfo) -> date | datetime:
    """A date, or a time as the column has them: with its zone, or without any."""
    try:
        found = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError as error:
        raise FilterError(f"{text!r} is no {'date' if is_date else 'time'} in the form of ISO 8601") from error
    if (is_date or pat.is_date(kind)) and (found.tzinfo is not None or found.time() != datetime.min.time()):
        raise FilterError(f"{text!r} is no date, which {'the column has' if pat.is_date(kind) else 'it is cast to'}")
    if pat.is_date(kind):
        return found.date()
    if not pat.is_timestamp(kind):
        raise FilterError(f"{text!r} is not compared with a column of type {kind}")
    if kind.tz is None:
        if found.tzinfo is not None:
            raise FilterError(f"{text!r} has a time zone, which the column has not")
        return found
    return (found if found.tzinfo is not None else found.replace(tzinfo=zone)).astimezone(timezone.utc)


def after_prefix(prefix: str) -> str | None:
    """The least text that is greater than all that begin with *prefix*; None where there is none."""
    for end in range(len(prefix), 0, -1):
        code = ord(prefix[end - 1]) + 1
        if code in _SURROGATES:  # halves of characters, which are no text
            code = _SURROGATES.stop
        if code <= _LAST:
            return prefix[: end - 1] + chr(code)
    return None
