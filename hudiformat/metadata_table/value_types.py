"""Encode the values of statistics: each type has a wrapper, and from table version 9 on also an ordinal.

Source: ValueType, ValueMetadata, HoodieAvroWrapperUtils, Hudi 1.2.0.  Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pyarrow.types as pat

from hudiformat.codec.statistics import ColumnStatistics, unknown_statistics

_NAMESPACE = "org.apache.hudi.avro.model"
_NULL, _DECIMAL = 1, 10
_ORDINALS: Mapping[pa.DataType, tuple[int, str]] = {
    pa.null(): (_NULL, ""),
    pa.bool_(): (2, "Boolean"),
    pa.int32(): (3, "Int"),
    pa.int64(): (4, "Long"),
    pa.float32(): (5, "Float"),
    pa.float64(): (6, "Double"),
    pa.string(): (7, "String"),
    pa.binary(): (8, "Bytes"),
    pa.date32(): (12, "Int"),
    pa.time32("ms"): (13, "Int"),
    pa.time64("us"): (14, "Long"),
    pa.timestamp("ms", "UTC"): (15, "Long"),
    pa.timestamp("us", "UTC"): (16, "Long"),
    pa.timestamp("ns", "UTC"): (17, "Long"),
    pa.timestamp("ms"): (18, "Long"),
    pa.timestamp("us"): (19, "Long"),
    pa.timestamp("ns"): (20, "Long"),
}
"""The ordinal of a type, and the wrapper of its values."""
_KINDS = {ordinal: kind for kind, (ordinal, _) in _ORDINALS.items()}
_FIXED = 9
_UNTYPED = {
    "BooleanWrapper": pa.bool_(),
    "IntWrapper": pa.int32(),
    "LongWrapper": pa.int64(),
    "FloatWrapper": pa.float32(),
    "DoubleWrapper": pa.float64(),
    "StringWrapper": pa.string(),
    "BytesWrapper": pa.binary(),
    "DateWrapper": pa.date32(),
    "DecimalWrapper": pa.decimal128(30, 15),
    "TimeMicrosWrapper": pa.time64("us"),
    "TimestampMicrosWrapper": pa.timestamp("us", "UTC"),
}
"""The type of the values in a wrapper if the record has no ordinal."""
_WRAPPED_PRECISION, _WRAPPED_SCALE = 30, 15
_NANOS = 1_000_000_000
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": _NANOS}

_YEAR_ONE = -719_162
"""The first day of the year 1, in days from 1970: Hudi reads earlier days in a DateWrapper as others."""
_EXACT = Context(prec=80)

Wrapper = tuple[str, dict[str, Any]]
"""The name and the fields of a record, the form in which fastavro accepts a branch of a union."""


def is_indexable(kind: pa.DataType, *, has_types: bool) -> bool:
    """Return whether columns of this type have statistics; without ordinals, decimals must fit into 30 digits.

    Source: HoodieTableMetadataUtil.isColumnTypeSupported.
    """
    if pat.is_decimal128(kind):
        whole = kind.precision + _WRAPPED_SCALE - kind.scale
        return has_types or (whole <= _WRAPPED_PRECISION and kind.scale <= _WRAPPED_SCALE)
    return kind in _ORDINALS or pat.is_fixed_size_binary(kind)


def wrap(kind: pa.DataType, value: Any, *, has_types: bool) -> Wrapper | None:
    """Wrap a bound of a column of type *kind* for a record; return None for None, and for a type without statistics."""
    if value is None or not is_indexable(kind, has_types=has_types):
        return None
    if pat.is_decimal(kind):
        if has_types:
            return _wrapper("Bytes", _unscaled_bytes(value, kind.scale))
        return _wrapper("Decimal", value.quantize(Decimal(1).scaleb(-_WRAPPED_SCALE), context=_EXACT))
    if pat.is_fixed_size_binary(kind):
        return _wrapper("Bytes", value)
    if pat.is_date32(kind) and not has_types:
        return _wrapper("Date", max(value, _YEAR_ONE))
    return _wrapper(_ORDINALS[kind][1], value)


def type_info(kind: pa.DataType) -> dict[str, Any]:
    """Return the record that describes a value's type.  Source: ValueMetadata.getValueTypeInfo."""
    if pat.is_decimal(kind):
        return {"typeOrdinal": _DECIMAL, "additionalInfo": f"{kind.precision},{kind.scale}"}
    ordinal = _FIXED if pat.is_fixed_size_binary(kind) else _ORDINALS[kind][0]
    return {"typeOrdinal": ordinal, "additionalInfo": None}


def stored_kind(ordinal: int, info: str | None, wrapper: str | None) -> pa.DataType | None:
    """Return the type of stored bounds, by the *ordinal* (0 if the record has none) or by the name of the *wrapper*.

    Return None for a type that hudiformat does not know.
    """
    if ordinal == _DECIMAL and info:
        precision, _, scale = info.partition(",")
        return pa.decimal128(int(precision), int(scale))
    if ordinal == _FIXED:
        return pa.binary()
    if ordinal:
        return _KINDS.get(ordinal)
    return pa.null() if wrapper is None else _UNTYPED.get(wrapper.rpartition(".")[2])


def unwrap(kind: pa.DataType, value: Any) -> Any:
    """Return a stored bound of type *kind* as a value of :class:`ColumnStatistics`."""
    if pat.is_decimal(kind) and isinstance(value, bytes):
        return Decimal(int.from_bytes(value, "big", signed=True)).scaleb(-kind.scale, context=_EXACT)
    return value


def as_kind(stored: ColumnStatistics, kind: pa.DataType) -> ColumnStatistics:
    """Convert stored statistics to *kind*, the current type of the column.

    The bounds become unknown if the order of values is not the same in both types.

    Source: ValueMetadata.standardizeJavaTypeAndPromote.
    """
    if stored.lower is None or stored.upper is None:
        return replace(stored, kind=kind, lower=None, upper=None)
    convert = _conversion(stored.kind, kind)
    if convert is None:
        unknown = unknown_statistics(kind, stored.values)
        return replace(unknown, size=stored.size, uncompressed=stored.uncompressed)
    return replace(stored, kind=kind, lower=convert(stored.lower), upper=convert(stored.upper))


def _conversion(stored: pa.DataType, kind: pa.DataType) -> Callable[[Any], Any] | None:
    """Return the function that converts a bound of type *stored* to *kind*; None if the order of values differs."""
    if stored == kind or _is_bytes(stored, kind) or (pat.is_decimal(stored) and pat.is_decimal(kind)):
        return _same
    if pat.is_integer(stored) and (pat.is_integer(kind) or pat.is_temporal(kind)):
        return _same  # without types, the wrapper of a timestamp is that of a long
    if pat.is_integer(stored) and pat.is_floating(kind):
        return float
    if pat.is_floating(stored) and pat.is_float64(kind):
        return _same
    if pat.is_timestamp(stored) and pat.is_timestamp(kind) and _PER_SECOND[kind.unit] >= _PER_SECOND[stored.unit]:
        factor = _PER_SECOND[kind.unit] // _PER_SECOND[stored.unit]
        return lambda value: value * factor
    return None


def _same(value: Any) -> Any:
    return value


def _is_bytes(stored: pa.DataType, kind: pa.DataType) -> bool:
    return all(pat.is_binary(one) or pat.is_fixed_size_binary(one) for one in (stored, kind))


def _wrapper(name: str, value: Any) -> Wrapper:
    return f"{_NAMESPACE}.{name}Wrapper", {"value": value}


def _unscaled_bytes(value: Decimal, scale: int) -> bytes:
    """Return the unscaled number in as few bytes as possible.  Source: java.math.BigInteger.toByteArray."""
    number = int(value.scaleb(scale, context=_EXACT))
    bits = number.bit_length() if number >= 0 else (number + 1).bit_length()
    return number.to_bytes(bits // 8 + 1, "big", signed=True)
