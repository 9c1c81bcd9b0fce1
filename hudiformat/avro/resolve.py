"""Fitting columns to a schema: order, missing columns, and the promotions that lose nothing.

These are Avro's promotions (int to long to float to double, string and bytes either way), wider decimals and finer
time units, and Arrow's several layouts of one type.  Nested records are fitted by field name like the top.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.types as pat

from hudiformat.avro.buffers import Mask, bitmap, offsets, validity
from hudiformat.errors import DataError, SchemaError

_UNITS = ("s", "ms", "us", "ns")
_TEXT = (pat.is_string, pat.is_large_string, pat.is_string_view)
_BINARY = (pat.is_binary, pat.is_large_binary, pat.is_binary_view, pat.is_fixed_size_binary)
_LISTS = (pat.is_list, pat.is_large_list, pat.is_fixed_size_list)


def resolve(batch: pa.RecordBatch, target: pa.Schema) -> pa.RecordBatch:
    """The columns that *target* names, in its order and types; columns that it does not name are dropped.

    A nullable column that is missing is filled with nulls.

    Raises:
        SchemaError: a column is missing and not nullable, comes twice, or has a type that does not fit.
        DataError: a null, or bytes that are no UTF-8 text, where the target does not allow them.
    """
    rows = _struct(batch.schema.names, batch.columns, batch.num_rows, None)
    return batch_of(_children(rows, target, ""), target, batch.num_rows)


def batch_of(columns: Sequence[pa.Array], schema: pa.Schema, rows: int) -> pa.RecordBatch:
    """A batch that keeps its number of rows even without a column."""
    whole = pa.StructArray.from_buffers(pa.struct(list(schema)), rows, [None], children=list(columns))
    return pa.RecordBatch.from_struct_array(whole).replace_schema_metadata(schema.metadata)


def _struct(names: Sequence[str], columns: Sequence[pa.Array], rows: int, valid: Mask | None) -> pa.StructArray:
    kind = pa.struct([pa.field(name, column.type) for name, column in zip(names, columns, strict=True)])
    return pa.StructArray.from_buffers(kind, rows, [bitmap(valid)], children=list(columns))


def _children(rows: pa.StructArray, fields: pa.Schema | pa.StructType, path: str) -> list[pa.Array]:
    """The fields of *rows* that are asked for, fitted."""
    names = [field.name for field in rows.type]
    result = []
    for field in fields:
        inner = f"{path}.{field.name}" if path else field.name
        found = names.count(field.name)
        if found > 1:
            raise SchemaError(f"column {inner} is there {found} times: rename or drop one", column=inner)
        if not found and not field.nullable:
            raise SchemaError(f"column {inner} of type {field.type} is required and missing", column=inner)
        if found:
            array = _fit(rows.field(names.index(field.name)), field.type, inner)
            _check_nulls(array, field, rows, inner)
        else:
            array = pa.nulls(len(rows), field.type)
        result.append(array)
    return result


def _check_nulls(array: pa.Array, field: pa.Field, parent: pa.StructArray, path: str) -> None:
    """Refuse a null in a column that has none; below a null parent it does not count."""
    valid = None if field.nullable else validity(array)
    if valid is None:
        return
    above = validity(parent)
    if (~valid if above is None else above & ~valid).any():
        raise DataError(f"column {path} is not nullable and has a null", column=path)


def _fit(array: pa.Array, kind: pa.DataType, path: str) -> pa.Array:
    """The array in type *kind*."""
    found = array.type
    if found.equals(kind):
        return array
    if isinstance(found, pa.BaseExtensionType):
        return _fit(array.storage, kind, path)
    if pat.is_dictionary(found):
        return _fit(array.dictionary_decode(), kind, path)
    return _fit_nested(array, kind, path) if pat.is_nested(kind) else _fit_flat(array, kind, path)


def _fit_flat(array: pa.Array, kind: pa.DataType, path: str) -> pa.Array:
    if pat.is_null(array.type):
        return pa.nulls(len(array), kind)
    if not _widens(array.type, kind):
        raise _misfit(array.type, kind, path)
    try:
        return array.cast(kind)
    except pa.ArrowInvalid as error:
        raise DataError(f"column {path} cannot be cast from {array.type} to {kind}: {error}", column=path) from error


def _fit_nested(array: pa.Array, kind: pa.DataType, path: str) -> pa.Array:
    found = array.type
    if pat.is_null(found):
        return pa.nulls(len(array), kind)
    if pat.is_struct(found) and pat.is_struct(kind):
        children = _children(array, kind, path)
        return pa.StructArray.from_buffers(kind, len(array), [bitmap(validity(array))], children=children)
    if pat.is_map(found) and pat.is_map(kind):
        names = (kind.key_field.name, kind.item_field.name)
        entries = _struct(names, (array.keys, array.items), len(array.keys), None)
        return _with_items(array, kind, entries, pa.struct([kind.key_field, kind.item_field]), path)
    if any(test(found) for test in _LISTS) and pat.is_list(kind):
        return _with_items(array, kind, array.values, kind.value_type, f"{path}.item")
    raise _misfit(found, kind, path)


def _with_items(array: pa.Array, kind: pa.DataType, items: pa.Array, inner: pa.DataType, path: str) -> pa.Array:
    """A list or map of type *kind* of the same shape, its *items* fitted to *inner*."""
    places = offsets(array)
    first, last = int(places[0]), int(places[-1])
    fitted = _fit(items.slice(first, last - first), inner, path)
    start = pa.py_buffer((places - first).astype(np.int32))
    return pa.Array.from_buffers(kind, len(array), [bitmap(validity(array)), start], children=[fitted])


def _misfit(found: pa.DataType, kind: pa.DataType, path: str) -> SchemaError:
    return SchemaError(f"column {path} is of type {found}, which does not fit {kind}: cast it", column=path)


def _widens(found: pa.DataType, kind: pa.DataType) -> bool:
    """Whether every value of one type has a counterpart in the other."""
    if pat.is_integer(found):
        bits = found.bit_width + pat.is_unsigned_integer(found)
        whole = pat.is_signed_integer(kind) and kind.bit_width >= bits
        return bool(whole) or (bits <= 64 and (pat.is_float32(kind) or pat.is_float64(kind)))  # noqa: PLR2004
    if pat.is_floating(found) and pat.is_floating(kind):
        return int(found.bit_width) <= int(kind.bit_width)
    if any(test(found) for test in (*_TEXT, *_BINARY)):
        text = any(test(kind) for test in _TEXT) and not pat.is_fixed_size_binary(found)
        return text or any(test(kind) for test in _BINARY[:3])
    if pat.is_decimal(found) and pat.is_decimal(kind):
        whole = kind.precision - kind.scale >= found.precision - found.scale
        return bool(whole and kind.scale >= found.scale)
    return _finer(found, kind)


def _finer(found: pa.DataType, kind: pa.DataType) -> bool:
    """Whether both say a date, a time of day or a moment, and the second at least as finely."""
    if pat.is_timestamp(found) and pat.is_timestamp(kind):
        if (found.tz is None) != (kind.tz is None):
            return False
    elif not (pat.is_time(found) and pat.is_time(kind)):
        return bool(pat.is_date(found) and pat.is_date(kind))
    return _UNITS.index(found.unit) <= _UNITS.index(kind.unit)
