"""Random Arrow types that Hudi can store, and random values for them.  Types: spec/avro-records.md."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import pyarrow as pa
import pyarrow.types as pat
from hypothesis import strategies as st

NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
"""Valid Avro names."""

# Python's datetime ends at the years 1 and 9999, where time zones overflow; the vectors have later and earlier values.
_MOMENTS = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1))  # noqa: DTZ001 - made aware below
_UTC_MOMENTS = _MOMENTS.map(lambda moment: moment.replace(tzinfo=dt.timezone.utc))
_EDGES = sorted(sign * 2 ** (7 * size - 1) + step for size in range(1, 10) for sign in (1, -1) for step in (-1, 0))


def _millis(moment: Any) -> Any:
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def integers(bits: int) -> st.SearchStrategy[int]:
    """Generate signed integers, often the ones at which a varint grows by a byte, the lowest and the highest."""
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    edges = [edge for edge in _EDGES if low <= edge <= high]
    return st.integers(low, high) | st.sampled_from([0, *edges, low, high])


VALUES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.bool_(): st.booleans(),
    pa.int8(): integers(8),
    pa.int16(): integers(16),
    pa.int32(): integers(32),
    pa.int64(): integers(64),
    pa.uint8(): st.integers(0, 2**8 - 1),
    pa.uint16(): st.integers(0, 2**16 - 1),
    pa.uint32(): st.integers(0, 2**32 - 1),
    pa.float32(): st.floats(width=32),
    pa.float64(): st.floats(),
    pa.string(): st.text(max_size=20) | st.text("ab", max_size=200),
    pa.large_string(): st.text(max_size=20),
    pa.binary(): st.binary(max_size=20),
    pa.large_binary(): st.binary(max_size=20),
    pa.binary(5): st.binary(min_size=5, max_size=5),
    pa.date32(): st.dates(),
    pa.date64(): st.dates(),
    pa.time32("ms"): st.times().map(_millis),
    pa.time64("us"): st.times(),
    pa.timestamp("ms"): _MOMENTS.map(_millis),
    pa.timestamp("us"): _MOMENTS,
    pa.timestamp("ms", tz="UTC"): _UTC_MOMENTS.map(_millis),
    pa.timestamp("us", tz="UTC"): _UTC_MOMENTS,
}
"""The flat types without decimals."""


def decimals(precision: int, scale: int) -> st.SearchStrategy[decimal.Decimal]:
    """Generate decimals of a type, often zero, the highest and the lowest."""
    top = 10**precision - 1
    digits = st.integers(-top, top) | st.sampled_from([0, top, -top])
    return digits.map(lambda number: decimal.Decimal(number).scaleb(-scale, decimal.Context(prec=99)))


def _decimal_types() -> st.SearchStrategy[pa.DataType]:
    return st.integers(1, 38).flatmap(
        lambda precision: st.integers(0, precision).map(lambda scale: pa.decimal128(precision, scale))
    )


@st.composite
def fields(draw: st.DrawFn, depth: int = 3) -> list[pa.Field]:
    """Generate one to five fields with distinct names, nested up to *depth*."""
    names = draw(st.lists(NAMES, min_size=1, max_size=5 if depth > 1 else 2, unique=True))
    return [pa.field(name, draw(types(depth)), nullable=draw(st.booleans())) for name in names]


def types(depth: int = 3) -> st.SearchStrategy[pa.DataType]:
    """Generate Arrow types that Hudi can store, nested up to *depth*; with 1 they are flat.

    Source: spec/avro-records.md, "Types".
    """
    flat = st.sampled_from(list(VALUES)) | _decimal_types()
    if depth <= 1:
        return flat
    item = st.tuples(st.deferred(lambda: types(depth - 1)), st.booleans())
    lists = item.map(lambda pair: pa.list_(pa.field("item", pair[0], nullable=pair[1])))
    large = item.map(lambda pair: pa.large_list(pa.field("item", pair[0], nullable=pair[1])))
    maps = item.map(lambda pair: pa.map_(pa.string(), pa.field("value", pair[0], nullable=pair[1])))
    structs = fields(depth - 1).map(pa.struct)
    return st.one_of(flat, flat, flat, lists, large, maps, structs)


def values(kind: pa.DataType) -> st.SearchStrategy[Any]:
    """Generate Python values of an Arrow type from :func:`types`, as Arrow converts them; never None.

    Source: spec/avro-records.md, "Types".
    """
    if pat.is_struct(kind):
        return st.fixed_dictionaries({field.name: optional(field) for field in kind})
    if pat.is_map(kind):
        pairs = st.tuples(st.text(max_size=3), optional(kind.item_field))
        return st.lists(pairs, max_size=4, unique_by=lambda pair: pair[0])
    if pat.is_list(kind) or pat.is_large_list(kind):
        return st.lists(optional(kind.value_field), max_size=4)
    return decimals(kind.precision, kind.scale) if pat.is_decimal(kind) else VALUES[kind]


def optional(field: pa.Field) -> st.SearchStrategy[Any]:
    """Generate values of a field, and None if the field is nullable."""
    return st.none() | values(field.type) if field.nullable else values(field.type)
