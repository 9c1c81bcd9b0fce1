"""Values at the edge of every type, and the literals by which Spark SQL names them."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.types as pat

LONG = 2_000
"""Bytes from which on the bounds of texts are shortened."""
_TEXTS = (
    *(b"", b"a", b"ab", b"abc", b"b", b"$", b"a$b", b"\\", b"'", b"%", b"_", b"\x00", b"\x7f", b" ", b"null"),
    *("\xe9".encode(), "\uffff".encode(), "\U00010000".encode(), "\U0010ffff".encode(), "\uff01".encode()),
    b"m" * (LONG + 1),
    b"m" * (LONG + 1) + b"z",
    b"m" * LONG + b"n",
    "\U0010ffff".encode() * (LONG // 4 + 1),
    "\ud7ff".encode() * (LONG // 3 + 1),
)
_BYTES = (
    b"",
    b"\x00",
    b"\x00\x00",
    b"\x7f",
    b"\x80",
    b"\xff",
    b"\xff" * 3,
    b"a",
    b"\xff" * (LONG + 1),
    b"a" * LONG * 2,
)
_DOUBLES = (
    *(math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 11.0, 10.5, 5e-324, -5e-324),
    *(1.7976931348623157e308, -1.7976931348623157e308),
)
_FLOATS = (*_DOUBLES[:9], 1.401298464324817e-45, 3.4028234663852886e38, -3.4028234663852886e38)
_DAYS = (0, -1, 1, -719_162, -719_528, 2_932_896, -141_428, -141_427, 19_000, 99_999_999, -99_999_999)
"""1970, the years 1, 0 and 9999, the days around the change of calendars, and far beyond."""
_MICROS = (
    0,
    -1,
    1,
    999,
    1_704_189_844_004_000,
    253_402_300_799_999_999,
    -62_135_596_800_000_000,
    -12_219_292_800_000_001,
)
"""1970, 2024, the end of 9999, the begin of the year 1, and the last moment of the old calendar."""


@dataclass(frozen=True, slots=True)
class Edges:
    """The *values* of a type that are drawn, as they are stored: days, microseconds, unscaled numbers, bytes."""

    kind: pa.DataType
    values: tuple[Any, ...]


def _decimals(precision: int) -> tuple[int, ...]:
    most = 10**precision - 1
    return (0, 1, -1, most, -most, 1100, 10**precision // 2)


EDGES: Mapping[str, Edges] = {
    "flag": Edges(pa.bool_(), (False, True)),
    "small": Edges(pa.int32(), (0, 1, -1, 11, 2**31 - 1, -(2**31))),
    "big": Edges(pa.int64(), (0, 1, -1, 11, 2**53 + 1, 2**63 - 1, -(2**63))),
    "f": Edges(pa.float32(), _FLOATS),
    "d": Edges(pa.float64(), _DOUBLES),
    "text": Edges(pa.string(), _TEXTS),
    "bin": Edges(pa.binary(), _BYTES),
    "day": Edges(pa.date32(), _DAYS),
    "at": Edges(pa.timestamp("us", "UTC"), _MICROS),
    "wall": Edges(pa.timestamp("us"), _MICROS),
    "cents": Edges(pa.decimal128(9, 2), _decimals(9)),
    "wide": Edges(pa.decimal128(38, 10), _decimals(38)),
}
"""The columns of the tables, by name."""


def array(kind: pa.DataType, stored: list[Any]) -> pa.Array:
    """Return the Arrow array of values as :class:`Edges` has them."""
    if pat.is_string(kind):
        return pa.array(stored, pa.binary()).cast(pa.string())
    if pat.is_decimal(kind):
        return pa.array([None if one is None else _decimal(kind, one) for one in stored], kind)
    if pat.is_temporal(kind):
        return pa.array(stored, pa.int32() if pat.is_date32(kind) else pa.int64()).cast(kind)
    return pa.array(stored, kind)


def literal(kind: pa.DataType, value: Any) -> str:  # noqa: PLR0911 - one for each type
    """Return a text of Spark SQL that gives the value exactly; sessions are in UTC."""
    if pat.is_string(kind):
        return f"string(X'{value.hex()}')"
    if pat.is_binary(kind):
        return f"X'{value.hex()}'"
    if pat.is_decimal(kind):
        return f"cast('{_decimal(kind, value)}' as decimal({kind.precision},{kind.scale}))"
    if pat.is_date32(kind):
        return f"date_from_unix_date({value})"
    if pat.is_timestamp(kind):
        return f"timestamp_micros({value})" if kind.tz else f"cast(timestamp_micros({value}) as timestamp_ntz)"
    if pat.is_floating(kind):
        return f"{'double' if pat.is_float64(kind) else 'float'}('{_number(value)}')"
    return (
        str(value).lower()
        if pat.is_boolean(kind)
        else f"cast('{value}' as {'int' if pat.is_int32(kind) else 'bigint'})"
    )


def _decimal(kind: Any, unscaled: int) -> Decimal:
    return Decimal(unscaled).scaleb(-kind.scale, context=Context(prec=40))


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return f"{'-' if value < 0 else ''}Infinity" if math.isinf(value) else repr(value)


def draw(edges: Edges, chance: Random) -> Any:
    """Return a value of the edge, most often, or one between."""
    kind, some = edges.kind, chance.random()
    if some < 0.7 or pat.is_boolean(kind):
        return chance.choice(edges.values)
    if pat.is_string(kind) or pat.is_binary(kind):
        return bytes(chance.choice(b"abcm") for _ in range(chance.randrange(4)))
    if pat.is_float32(kind):
        return struct.unpack("f", struct.pack("f", chance.uniform(-20, 20)))[0]
    if pat.is_floating(kind):
        return chance.uniform(-20, 20)
    return chance.randrange(-1000, 1000)
