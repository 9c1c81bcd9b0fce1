"""Random Arrow schemas and batches of every type that Hudi can store."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

_NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
# Python's datetime ends at the years 1 and 9999; what lies beyond has vectors of its own.
_MOMENTS = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1))  # noqa: DTZ001 - made aware below
_UTC_MOMENTS = _MOMENTS.map(lambda moment: moment.replace(tzinfo=dt.timezone.utc))


def _millis(moment: Any) -> Any:
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


_VALUES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.bool_(): st.booleans(),
    pa.int8(): st.integers(-(2**7), 2**7 - 1),
    pa.int16(): st.integers(-(2**15), 2**15 - 1),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.int64(): st.integers(-(2**63), 2**63 - 1) | st.integers(0, 70).map(lambda bits: (2**bits - 1) >> 8),
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


def decimals(precision: int, scale: int) -> st.SearchStrategy[decimal.Decimal]:
    """Every decimal of a type."""
    top = 10**precision - 1
    return st.integers(-top, top).map(lambda digits: decimal.Decimal(digits).scaleb(-scale, decimal.Context(prec=99)))


def _decimal_types() -> st.SearchStrategy[pa.DataType]:
    return st.integers(1, 38).flatmap(
        lambda precision: st.integers(0, precision).map(lambda scale: pa.decimal128(precision, scale))
    )


@st.composite
def fields(draw: st.DrawFn, depth: int = 3) -> list[pa.Field]:
    """Some fields of different names."""
    names = draw(st.lists(_NAMES, min_size=1, max_size=5 if depth > 1 else 2, unique=True))
    return [pa.field(name, draw(types(depth)), nullable=draw(st.booleans())) for name in names]


def types(depth: int = 3) -> st.SearchStrategy[pa.DataType]:
    """Types that Hudi can store, nested up to *depth*."""
    flat = st.sampled_from(list(_VALUES)) | _decimal_types()
    if depth <= 1:
        return flat
    item = st.tuples(st.deferred(lambda: types(depth - 1)), st.booleans())
    lists = item.map(lambda pair: pa.list_(pa.field("item", pair[0], nullable=pair[1])))
    large = item.map(lambda pair: pa.large_list(pa.field("item", pair[0], nullable=pair[1])))
    maps = item.map(lambda pair: pa.map_(pa.string(), pa.field("value", pair[0], nullable=pair[1])))
    structs = fields(depth - 1).map(pa.struct)
    return st.one_of(flat, flat, flat, lists, large, maps, structs)


def values(kind: pa.DataType) -> st.SearchStrategy[Any]:
    """Python values of a type, as Arrow takes and gives them."""
    if pa.types.is_struct(kind):
        return st.fixed_dictionaries({field.name: _optional(field) for field in kind})
    if pa.types.is_map(kind):
        pairs = st.tuples(st.text(max_size=3), _optional(kind.item_field))
        return st.lists(pairs, max_size=4, unique_by=lambda pair: pair[0])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return st.lists(_optional(kind.value_field), max_size=4)
    return decimals(kind.precision, kind.scale) if pa.types.is_decimal(kind) else _VALUES[kind]


def _optional(field: pa.Field) -> st.SearchStrategy[Any]:
    return st.none() | values(field.type) if field.nullable else values(field.type)


@st.composite
def batches(draw: st.DrawFn, max_rows: int = 12) -> pa.RecordBatch:
    """A random batch of a random schema."""
    schema = pa.schema(draw(fields()))
    rows = draw(st.integers(0, max_rows))
    columns = [draw(st.lists(_optional(field), min_size=rows, max_size=rows)) for field in schema]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
