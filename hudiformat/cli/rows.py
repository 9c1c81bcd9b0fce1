"""Convert rows of Arrow data to JSON values, and print them as a table whose first rows determine the widths.

Binary becomes hex; decimals, dates, times and timestamps become text, as Arrow formats them; a map becomes an object;
floats that JSON cannot express become "NaN", "Infinity" or "-Infinity".
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import Any

import pyarrow as pa
import pyarrow.types as pat
from rich.cells import cell_len

from hudiformat.cli.printing import Column, Table, printable, terminal_width, truncate

Row = dict[str, Any]
_STEP = 1000  # rows that are converted at a time


def rows_of(batch: pa.RecordBatch) -> Iterator[Row]:
    """Yield the rows of *batch* as dictionaries by column name."""
    names = batch.schema.names
    converters = [_converter(kind) for kind in batch.schema.types]
    text_types = [_with_strings(kind) for kind in batch.schema.types]
    for start in range(0, batch.num_rows, _STEP):
        arrays = [column.slice(start, _STEP).cast(kind) for column, kind in zip(batch.columns, text_types, strict=True)]
        columns = [map(convert, array.to_pylist()) for convert, array in zip(converters, arrays, strict=True)]
        if not columns:
            yield from ({} for _ in range(min(_STEP, batch.num_rows - start)))
        for values in zip(*columns, strict=True):
            yield dict(zip(names, values, strict=True))


def _with_strings(kind: pa.DataType) -> pa.DataType:
    """Return *kind* with strings for types that Arrow formats better: Python has no year 10000 and no nanoseconds."""
    if pat.is_temporal(kind) or pat.is_decimal(kind):
        return pa.string()
    if pat.is_list(kind):
        return pa.list_(_with_strings_field(kind.value_field))
    if pat.is_map(kind):
        return pa.map_(kind.key_field, _with_strings_field(kind.item_field))
    if pat.is_struct(kind):
        return pa.struct([_with_strings_field(field) for field in kind])
    return kind


def _with_strings_field(field: pa.Field) -> pa.Field:
    return pa.field(field.name, _with_strings(field.type))  # nullable, because all fields of a null struct are null


def _converter(kind: pa.DataType) -> Callable[[Any], Any]:
    """Return the function that converts a Python value of this Arrow type to a JSON value."""
    convert: Callable[[Any], Any]
    if pat.is_floating(kind):
        convert = _number
    elif pat.is_binary(kind) or pat.is_large_binary(kind) or pat.is_fixed_size_binary(kind):
        convert = bytes.hex
    elif pat.is_list(kind) or pat.is_fixed_size_list(kind):
        convert = _list_of(_converter(kind.value_type))
    elif pat.is_map(kind):
        convert = _map_of(_converter(kind.item_type))
    elif pat.is_struct(kind):
        convert = _struct_of({field.name: _converter(field.type) for field in kind})
    else:
        return lambda value: value
    return lambda value: None if value is None else convert(value)


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


_MAX_WIDTH = 40
_META = "_hoodie_"
_MEASURED = 100  # rows that determine the widths of the columns


def print_rows(rows: Iterator[Row], *, mark: str | None = None, indent: str = "") -> int:
    """Print *rows* one by one, with long values truncated, and return their number.

    A *mark* is printed in front of each row, and the row is in colour.
    """
    head = list(islice(rows, _MEASURED))
    if not head:
        return 0
    marks = [] if mark is None else [mark]
    hidden = _columns_to_hide(head[0])
    head = [_without(row, hidden) for row in head]
    widths = [max(cell_len(text) for text in (name, *(_cell(row[name]) for row in head))) for name in head[0]]
    named = [Column(printable(name), width) for name, width in zip(head[0], widths, strict=True)]
    table = Table(*(Column("", len(text)) for text in marks), *named, indent=indent)
    count = 0
    rest = (_without(row, hidden) for row in rows)
    for count, row in enumerate(chain(head, rest), 1):  # noqa: B007 - the last one is the number
        table.row(*marks, *map(_cell, row.values()), colour="yellow" if marks else None)
    return count


def _columns_to_hide(row: Row) -> frozenset[str]:
    """Return the columns to hide: the meta fields, on a terminal without --wide, if there are other columns."""
    meta = frozenset(name for name in row if name.startswith(_META))
    return meta if terminal_width() is not None and len(meta) < len(row) else frozenset()


def _without(row: Row, hidden: frozenset[str]) -> Row:
    return {name: value for name, value in row.items() if name not in hidden} if hidden else row


def _cell(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return truncate(printable(text), _MAX_WIDTH)
