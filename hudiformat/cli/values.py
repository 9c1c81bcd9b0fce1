"""Rows of Arrow data as values that JSON has.

Binary is hex; decimals, dates, times and timestamps are text, as Arrow spells them; a map is an object; a float that is
no number is "NaN", "Infinity" or "-Infinity".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.types as pat

Row = dict[str, Any]
_STEP = 1000  # rows that are Python's at a time


def rows_of(batch: pa.RecordBatch) -> Iterator[Row]:
    """The rows of *batch*, by column name, made as they are asked for."""
    names = batch.schema.names
    plain = [_plain(kind) for kind in batch.schema.types]
    spelled = [_spelled(kind) for kind in batch.schema.types]
    for start in range(0, batch.num_rows, _STEP):
        arrays = [column.slice(start, _STEP).cast(kind) for column, kind in zip(batch.columns, spelled, strict=True)]
        columns = [map(change, array.to_pylist()) for change, array in zip(plain, arrays, strict=True)]
        if not columns:
            yield from ({} for _ in range(min(_STEP, batch.num_rows - start)))
        for values in zip(*columns, strict=True):
            yield dict(zip(names, values, strict=True))


def _spelled(kind: pa.DataType) -> pa.DataType:
    """The type with strings for what Arrow spells better than Python, which has no year 10000 and no nanoseconds."""
    if pat.is_temporal(kind) or pat.is_decimal(kind):
        return pa.string()
    if pat.is_list(kind):
        return pa.list_(_spelled_field(kind.value_field))
    if pat.is_map(kind):
        return pa.map_(kind.key_field, _spelled_field(kind.item_field))
    if pat.is_struct(kind):
        return pa.struct([_spelled_field(field) for field in kind])
    return kind


def _spelled_field(field: pa.Field) -> pa.Field:
    return pa.field(field.name, _spelled(field.type))  # nullable, for in a struct that is null all fields are


def _plain(kind: pa.DataType) -> Callable[[Any], Any]:
    """What makes a value that JSON has of one of Arrow's."""
    change: Callable[[Any], Any]
    if pat.is_floating(kind):
        change = _number
    elif pat.is_binary(kind) or pat.is_large_binary(kind) or pat.is_fixed_size_binary(kind):
        change = bytes.hex
    elif pat.is_list(kind):
        change = _list_of(_plain(kind.value_type))
    elif pat.is_map(kind):
        change = _map_of(_plain(kind.item_type))
    elif pat.is_struct(kind):
        change = _struct_of({field.name: _plain(field.type) for field in kind})
    else:
        return lambda value: value
    return lambda value: None if value is None else change(value)


def _number(value: float) -> float | str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def _list_of(item: Callable[[Any], Any]) -> Callable[[list[Any]], list[Any]]:
    return lambda values: [item(value) for value in values]


def _map_of(item: Callable[[Any], Any]) -> Callable[[list[tuple[str, Any]]], Row]:
    return lambda pairs: {key: item(value) for key, value in pairs}


def _struct_of(items: dict[str, Callable[[Any], Any]]) -> Callable[[Row], Row]:
    return lambda values: {name: items[name](value) for name, value in values.items()}
