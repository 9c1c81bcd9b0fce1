"""Read the literals of conditions as values of the type of the column that they are compared with."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import date, datetime, time, timezone, tzinfo
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.types as pat

from hudiformat.errors import FilterError

if TYPE_CHECKING:
    from sqlglot.expressions import Expression

_LONGEST = 38
"""The most digits of a decimal in Spark."""

_DOUBLE_DIGITS = 15
"""Different decimals of up to this many digits stay different when Spark converts them to doubles."""

_SURROGATES, _LAST = range(0xD800, 0xE000), 0x10FFFF

_FRACTION = re.compile(r"\.(\d+)")

_BOOLEANS = {"true": True, "false": False}
_NOT_FINITE = ("nan", "inf", "-inf", "infinity", "-infinity")


class _Double(Decimal):
    """A literal of Spark's type double, as the shortest decimal that stands for it."""

    most = 1 << 53
    """From here on, different whole numbers may become equal when Spark converts them to doubles."""


class _Float(_Double):
    """A literal of Spark's type float."""

    most = 1 << 24


def value_of(node: Expression) -> Any:
    """Return the value of a literal: None, a bool, str, bytes or Decimal, or for dates and times ``(type, text)``.

    Raises:
        FilterError: *node* is no literal.
    """
    kind = type(node).__name__
    if kind == "Literal":
        return str(node.this) if node.is_string else _parse_number(node.this)
    if kind in _READERS:
        return _READERS[kind](node)
    raise _literal_error(node)


def _negate(node: Expression) -> Decimal:
    number = value_of(node.this)
    if not isinstance(number, Decimal):
        raise _literal_error(node)
    return type(number)(number.copy_negate()) if number else number  # a minus sign would round to 28 digits


def _concat_literals(node: Expression) -> str:
    """Return the text of literals that follow each other, which Spark joins to one."""
    return "".join(value_of(part) for part in node.expressions)


def _read_cast(node: Expression) -> Any:
    """Return the value of DATE '..', TIMESTAMP '..', 1L, and of casts of literals that keep the value.

    Raises:
        FilterError: the cast is another one.
    """
    kind = node.args["to"].this.name
    value = value_of(node.this) if type(node.this).__name__ == "Literal" else None
    if kind in _TIMES and isinstance(value, str):
        return ("date" if kind == "DATE" else "timestamp", value)
    if isinstance(value, Decimal):
        if kind in _FLOATING:
            return _round_to(value, _FLOATING[kind])
        if _is_exact_in(value, node.args["to"]):
            return Decimal(value)
    raise _literal_error(node)


def _is_exact_in(value: Decimal, to: Expression) -> bool:
    """Return whether a cast to the type *to*, of integers or decimals, leaves *value* as it is."""
    kind = to.this.name
    if kind in _WHOLE:
        return value == value.to_integral_value() and -_WHOLE[kind] <= value < _WHOLE[kind]
    if kind != "DECIMAL":
        return False
    digits, scale, *_ = *(int(one.this.name) for one in to.expressions), *((10, 0)[len(to.expressions) :])
    return -int(value.as_tuple().exponent) <= scale and abs(value) < Decimal(10) ** (digits - scale)


def _round_to(value: Decimal, kind: type[_Double]) -> _Double:
    """Return the nearest number of *kind*.

    Raises:
        FilterError: *value* is too large.
    """
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
    "Concat": _concat_literals,
    "Neg": _negate,
    "Cast": _read_cast,
    "TryCast": _read_cast,
}


def _literal_error(node: Expression) -> FilterError:
    return FilterError(f"expected a literal, found {node.sql('spark')}")


def _parse_number(text: str) -> Decimal:
    try:
        return _round_to(Decimal(text), _Double) if "e" in text.lower() else Decimal(text)
    except InvalidOperation as error:
        raise FilterError(f"{text} is no number") from error


def literal_scalar(value: Any, kind: pa.DataType, zone: tzinfo = timezone.utc) -> pa.Scalar:
    """Return *value*, a result of :func:`value_of`, as a scalar to compare with a column of type *kind*.

    Times without a zone are in *zone*.

    Raises:
        FilterError: values of these types cannot be compared.
    """
    if isinstance(value, tuple):
        value = _parse_time(value[1], kind, is_date=value[0] == "date", zone=zone)
    elif isinstance(value, str) and pat.is_temporal(kind):
        value = _parse_time(value, kind, is_date=pat.is_date(kind), zone=zone)
    expected = _python_type(kind)
    if expected is None or not isinstance(value, expected) or isinstance(value, bool) != pat.is_boolean(kind):
        raise FilterError(f"{_format_value(value)} is not compared with a column of type {kind}")
    if isinstance(value, Decimal):
        return _number_scalar(value, kind)
    if isinstance(value, datetime) and isinstance(kind, pa.TimestampType):
        return pa.scalar(value, pa.timestamp("us", kind.tz))
    return pa.scalar(value) if isinstance(value, time) else pa.scalar(value, kind)


def text_scalar(text: str, kind: pa.DataType) -> pa.Scalar:
    """Return *text*, such as ``10``, as a scalar to compare with a column of type *kind*, which holds no texts.

    Raises:
        FilterError: it is no value of this type.
    """
    value: Any = text
    if pat.is_boolean(kind):
        value = _BOOLEANS.get(text.strip().lower(), text)
    elif pat.is_floating(kind) and text.strip().lower() in _NOT_FINITE:
        return pa.scalar(float(text), pa.float64())
    elif pat.is_integer(kind) or pat.is_floating(kind) or pat.is_decimal(kind):
        value = _parse_number(text.strip())
        if not value.is_finite():
            raise FilterError(f"{text!r} is not compared with a column of type {kind}")
    return literal_scalar(value, kind)


def _format_value(value: Any) -> str:
    return str(value) if isinstance(value, Decimal) else repr(value)


def _python_type(kind: pa.DataType) -> type | None:
    if pat.is_integer(kind) or pat.is_floating(kind) or pat.is_decimal(kind):
        return Decimal
    return next((of_kind for is_kind, of_kind in _PYTHON_TYPES if is_kind(kind)), None)


_PYTHON_TYPES: tuple[tuple[Callable[[pa.DataType], bool], type], ...] = (
    (pat.is_boolean, bool),
    (pat.is_string, str),
    (pat.is_large_string, str),
    (pat.is_binary, bytes),
    (pat.is_large_binary, bytes),
    (pat.is_timestamp, datetime),
    (pat.is_time, time),
    (pat.is_date, date),
)


def _number_scalar(value: Decimal, kind: pa.DataType) -> pa.Scalar:
    """Return a number as an exact scalar; for a column of floating-point numbers, as the nearest double.

    Raises:
        FilterError: the number cannot be compared with the column as Spark does.
    """
    if pat.is_floating(kind):
        return pa.scalar(float(value), pa.float64())
    is_long = pat.is_decimal(kind) and max(value.adjusted() + 1, 1) + kind.scale > _DOUBLE_DIGITS
    if isinstance(value, _Double) and (is_long or abs(value) >= value.most):
        raise FilterError(
            f"{value} is not compared with a column of type {kind}: Spark would compare both as doubles, which are not "
            "exact; write the number without an exponent, and without a cast to float or double"
        )
    scale = max(0, -int(value.as_tuple().exponent))
    digits = max(len(value.as_tuple().digits) + max(0, int(value.as_tuple().exponent)), scale + 1)
    if digits <= _LONGEST:
        return pa.scalar(value, pa.decimal128(digits, scale))
    raise FilterError(f"{value} is not compared with a column of type {kind}")


def _parse_time(text: str, kind: pa.DataType, *, is_date: bool, zone: tzinfo) -> date | datetime | time:
    """Return a date, a time of day, or a time as the column has it: with its zone, or without any.

    Raises:
        FilterError: the text is no date or time, or cannot be compared with the column.
    """
    if pat.is_time(kind):
        return _parse_time_of_day(text)
    try:
        found = datetime.fromisoformat(_six_digits(text.strip().replace("Z", "+00:00")))
    except ValueError as error:
        form = "date such as '2024-01-31'" if is_date else "time such as '2024-01-31 12:00:00'"
        raise FilterError(f"{text!r} is not a {form}") from error
    if (is_date or pat.is_date(kind)) and (found.tzinfo is not None or found.time() != datetime.min.time()):
        reason = "the column holds dates" if pat.is_date(kind) else "it is cast to a date"
        raise FilterError(f"{text!r} has a time of day or a time zone, and {reason}: leave them out")
    if pat.is_date(kind):
        return found.date()
    if not pat.is_timestamp(kind):
        raise FilterError(f"{text!r} is not compared with a column of type {kind}")
    if kind.tz is None:
        if found.tzinfo is not None:
            raise FilterError(f"{text!r} has a time zone, and the column has none: leave the zone out")
        return found
    return (found if found.tzinfo is not None else found.replace(tzinfo=zone)).astimezone(timezone.utc)


def _parse_time_of_day(text: str) -> time:
    try:
        found = time.fromisoformat(_six_digits(text.strip()))
    except ValueError as error:
        raise FilterError(f"{text!r} is not a time of day such as '12:00:00'") from error
    if found.tzinfo is not None:
        raise FilterError(f"{text!r} has a time zone, and the column has none: leave the zone out")
    return found


def _six_digits(text: str) -> str:
    """Return *text* with six digits of a fraction of a second, if it has one: Python 3.10 reads three or six alone."""
    return _FRACTION.sub(lambda match: f".{match[1]:0<6.6}", text)


def prefix_upper_bound(prefix: str) -> str | None:
    """Return the least text that is greater than all texts that begin with *prefix*; None if there is none."""
    for end in range(len(prefix), 0, -1):
        code = ord(prefix[end - 1]) + 1
        if code in _SURROGATES:  # halves of characters, which are no text
            code = _SURROGATES.stop
        if code <= _LAST:
            return prefix[: end - 1] + chr(code)
    return None
