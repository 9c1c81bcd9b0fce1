"""Compare a column with values that it may be unable to hold, such as a half among whole numbers."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from hudiformat.errors import FilterError

COMPARISONS: Mapping[str, Callable[[pc.Expression, Any], pc.Expression]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""Arithmetic of decimals that never rounds."""
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY = 86_400


def compare(column: pc.Expression, sign: str, value: pa.Scalar, kind: pa.DataType) -> pc.Expression:
    """Return the comparison of *column*, of type *kind*, with *value*, which is neither rounded nor cut off.

    *sign* is one of COMPARISONS.  ``> 2.5`` is ``> 2`` in a column of whole numbers, and ``= 2.5`` is never true.

    Raises:
        FilterError: values of these types cannot be compared.
    """
    if not value.is_valid or (steps := _steps_of(kind)) is None:
        return COMPARISONS[sign](column, _double(value, kind) if pat.is_floating(kind) and value.is_valid else value)
    below, is_held = steps.floor(value)
    if is_held:
        return COMPARISONS[sign](column, steps.scalar(below))
    if sign in ("=", "!="):
        return column.is_valid() if sign == "!=" else pc.scalar(False)
    if steps.lowest <= below <= steps.highest:
        return column > steps.scalar(below) if sign in (">", ">=") else column <= steps.scalar(below)
    return column.is_valid() if (below > steps.highest) == (sign in ("<", "<=")) else pc.scalar(False)


def values_alike(values: Sequence[Any], kind: pa.DataType) -> pa.Array | None:
    """Return *values* as an array of the type *kind*; None if one is of another sort, or is nothing that *kind* holds.

    This is quick for many; :func:`held_values` looks at each.
    """
    try:
        found = pa.array(values)
        return found.cast(kind) if any(is_like(found.type) and is_like(kind) for is_like in _ALIKE) else None
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None


_ALIKE: tuple[Callable[[pa.DataType], bool], ...] = (
    pat.is_string,
    pat.is_binary,
    pat.is_boolean,
    pat.is_integer,
    pat.is_decimal,
    pat.is_date32,
    pat.is_time,
    lambda kind: isinstance(kind, pa.TimestampType) and kind.tz is None,
    lambda kind: isinstance(kind, pa.TimestampType) and kind.tz is not None,
)


def held_values(values: Iterable[pa.Scalar], kind: pa.DataType) -> pa.Array:
    """Return those of *values* that are equal to some value of the type *kind*, as an array to look values up in.

    Raises:
        FilterError: values of these types cannot be compared.
    """
    steps = _steps_of(kind)
    if steps is not None:
        floors = [steps.floor(one) for one in values if one.is_valid]
        return pa.array([steps.value(below) for below, is_held in floors if is_held], kind)
    known = [one for one in values if one.is_valid]
    if not pat.is_floating(kind):
        return pa.array([one.as_py() for one in known], kind)
    found = [_double(one, kind).as_py() for one in known]
    found = [one for one in found if pa.scalar(one, kind).as_py() == one]  # NaN is equal to nothing
    return pa.array([*found, *(-one for one in found if one == 0)], kind)  # zeros differ in Arrow's look-up


@dataclass(frozen=True, slots=True)
class _Steps:
    """The values of a type, as whole numbers of its unit: of a hundredth, a millisecond, a day."""

    kind: pa.DataType
    lowest: int
    highest: int
    units: Callable[[pa.Scalar], Fraction | None]
    """How many units a value of any type is; None if it is not compared with this type."""

    def floor(self, value: pa.Scalar) -> tuple[int, bool]:
        """Return the greatest step that is not above *value*, perhaps out of bounds, and whether it is *value*.

        Raises:
            FilterError: values of these types cannot be compared.
        """
        if pat.is_floating(value.type) and not math.isfinite(value.as_py()):
            if not (pat.is_integer(self.kind) or pat.is_decimal(self.kind)):
                raise _comparison_error(value, self.kind)
            return self.lowest - 1 if value.as_py() < 0 else self.highest + 1, False  # NaN is above all
        units = self.units(value)
        if units is None:
            raise _comparison_error(value, self.kind)
        below = math.floor(units)
        return below, below == units and self.lowest <= below <= self.highest

    def value(self, step: int) -> int | Decimal:
        """Return a step as Arrow takes it for a value: Python's own dates and times end with the year 9999."""
        if isinstance(self.kind, pa.Decimal128Type | pa.Decimal256Type):
            return Decimal(step).scaleb(-self.kind.scale, _EXACT)
        return step

    def scalar(self, step: int) -> pa.Scalar:
        return pa.scalar(self.value(step), self.kind)


@cache
def _steps_of(kind: pa.DataType) -> _Steps | None:
    """Return the steps of a type; None of one without, such as texts, and of floating-point numbers."""
    if isinstance(kind, pa.Decimal128Type | pa.Decimal256Type):
        scale, limit = kind.scale, 10**kind.precision - 1
        return _Steps(kind, -limit, limit, lambda value: _number(value, 10**scale))
    if not (pat.is_integer(kind) or pat.is_timestamp(kind) or pat.is_date32(kind) or pat.is_time(kind)):
        return None
    limit = 1 << (kind.bit_width - 1)
    if pat.is_integer(kind):
        lowest, highest = (0, 2 * limit - 1) if pat.is_unsigned_integer(kind) else (-limit, limit - 1)
        return _Steps(kind, lowest, highest, lambda value: _number(value, 1))
    if isinstance(kind, pa.Time32Type | pa.Time64Type):
        of_second = _PER_SECOND[kind.unit]
        return _Steps(kind, 0, of_second * _DAY - 1, lambda value: _time(value, of_second))
    zone = kind.tz if isinstance(kind, pa.TimestampType) else None
    units = _PER_SECOND[kind.unit] if isinstance(kind, pa.TimestampType) else Fraction(1, _DAY)
    return _Steps(kind, -limit, limit - 1, lambda value: _moment(value, units, has_zone=zone is not None))


def _number(value: pa.Scalar, units: int) -> Fraction | None:
    if pat.is_floating(value.type):
        return Fraction(repr(value.as_py())) * units  # 9.1, and not the double next to it
    if pat.is_integer(value.type) or pat.is_decimal(value.type):
        return Fraction(value.as_py()) * units
    return None


def _moment(value: pa.Scalar, units: int | Fraction, *, has_zone: bool) -> Fraction | None:
    """Return the time since 1970 in *units* of a second; a date is its midnight."""
    kind = value.type
    if isinstance(kind, pa.TimestampType) and (kind.tz is not None) == has_zone:
        return Fraction(_stored(value), _PER_SECOND[kind.unit]) * units
    return Fraction(_stored(value) * _DAY) * units if pat.is_date32(kind) else None


def _time(value: pa.Scalar, units: int) -> Fraction | None:
    kind = value.type
    if isinstance(kind, pa.Time32Type | pa.Time64Type):
        return Fraction(_stored(value), _PER_SECOND[kind.unit]) * units
    return None


def _stored(value: pa.Scalar) -> int:
    """Return the number by which Arrow stores a time."""
    return int(value.cast(pa.int32() if value.type.bit_width == 32 else pa.int64()).as_py())  # noqa: PLR2004 - bits of time32


def _double(value: pa.Scalar, kind: pa.DataType) -> pa.Scalar:
    """Return a number as the nearest double.

    Raises:
        FilterError: it is no number.
    """
    if not (pat.is_floating(value.type) or pat.is_integer(value.type) or pat.is_decimal(value.type)):
        raise _comparison_error(value, kind)
    return pa.scalar(float(value.as_py()), pa.float64())


def _comparison_error(value: pa.Scalar, kind: pa.DataType) -> FilterError:
    zones = [one.tz for one in (value.type, kind) if isinstance(one, pa.TimestampType)]
    advice = ""
    if len(zones) == len((value, kind)):
        advice = ": give it a time zone" if zones[1] is not None else ": leave its time zone out"
    return FilterError(f"{value} of type {value.type} is not compared with a column of type {kind}{advice}")
