"""Convert the rows of a caller's data frame to column types that a table can store.

Categories and run-ends become plain values.  Times get the unit of the table's column, or microseconds.  Columns of
nulls get the type of the table's column.  An index of pandas that the table does not have is dropped.  No value
changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from hudiformat.errors import DataError

_PANDAS_INDEX = re.compile(r"__index_level_\d+__")
_STORED_UNITS = ("us", "ms")


def adapt_to_schema(
    reader: pa.RecordBatchReader, table: pa.Schema, units: Mapping[str, str] = MappingProxyType({})
) -> pa.RecordBatchReader:
    """Return a reader of the same rows, with the types that a table with the columns of *table* can store.

    It is the same reader if no column has to be converted.  A column of timestamps that is not of the table's type gets
    its unit of *units*, if there is one.

    Raises:
        DataError: from the reader, a time that would lose digits in the unit that is stored.
    """
    stored = set(table.names)
    names = [name for name in reader.schema.names if name in stored or _PANDAS_INDEX.fullmatch(name) is None]
    fields = [_stored_field(reader.schema.field(index), table, units) for index in _indices(reader.schema, names)]
    schema = pa.schema(fields, metadata=reader.schema.metadata)
    if schema.equals(reader.schema):
        return reader
    return pa.RecordBatchReader.from_batches(schema, _batches(reader, schema))


def _indices(schema: pa.Schema, names: list[str]) -> list[int]:
    """Return the index of each column in *names*; of columns with the same name, which are refused later, each one."""
    kept = set(names)
    return [index for index, name in enumerate(schema.names) if name in kept]


def _batches(reader: pa.RecordBatchReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    indices = _indices(reader.schema, schema.names)
    for batch in reader:
        columns = [_cast_to_stored(batch.column(at), field) for at, field in zip(indices, schema, strict=True)]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _stored_field(field: pa.Field, table: pa.Schema, units: Mapping[str, str]) -> pa.Field:
    there = table.field(field.name).type if table.get_field_index(field.name) >= 0 else None
    if field.name in units and pat.is_timestamp(field.type) and field.type != there:
        return field.with_type(pa.timestamp(units[field.name], field.type.tz))
    return field.with_type(_stored_type(field.type, there))


def _stored_type(kind: pa.DataType, there: pa.DataType | None) -> pa.DataType:
    """Return the type that a column gets; *there* is the type of the table's column, if there is one."""
    if pat.is_run_end_encoded(kind) or pat.is_dictionary(kind):
        value_type = kind.value_type
        return pa.string() if value_type == pa.string_view() else _stored_type(value_type, there)
    if pat.is_null(kind) and there is not None:
        return there
    if pat.is_timestamp(kind) and kind.unit not in _STORED_UNITS:
        unit = there.unit if there is not None and pat.is_timestamp(there) else "us"
        return pa.timestamp(unit, kind.tz)
    if kind == pa.time64("ns"):
        return pa.time64("us")
    return pa.time32("ms") if kind == pa.time32("s") else kind


def _cast_to_stored(array: pa.Array, field: pa.Field) -> pa.Array:
    if array.type == field.type:
        return array
    if pat.is_run_end_encoded(array.type):
        return _cast_to_stored(pc.run_end_decode(array), field)
    if isinstance(array, pa.DictionaryArray):
        values = array.dictionary
        # Arrow's take does not support views.
        values = values.cast(pa.string()) if values.type == pa.string_view() else values
        return _cast_to_stored(values.take(array.indices), field)
    kind = field.type
    try:
        return array.cast(kind)
    except pa.ArrowInvalid as error:
        unit = kind.unit if pat.is_timestamp(kind) or pat.is_time(kind) else None
        advice = f"; round its values first, as with .dt.floor('{unit}') in pandas" if unit is not None else ""
        raise DataError(
            f"column {field.name}: {error}{advice}",
            column=field.name,
        ) from None
