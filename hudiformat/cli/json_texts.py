"""Values that JSON has as texts, dates and hex digits, to values of Arrow: the way back of what commands print."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.types as pat

from hudiformat.errors import DataError


def as_texts(kind: pa.DataType) -> pa.DataType:
    """Return *kind* with strings for dates and bytes, at any depth: pyarrow takes a text of JSON for the bytes."""
    if pat.is_date(kind) or _is_bytes(kind):
        return pa.string()
    if pat.is_struct(kind):
        return pa.struct([field.with_type(as_texts(field.type)) for field in kind])
    return pa.list_(kind.value_field.with_type(as_texts(kind.value_type))) if pat.is_list(kind) else kind


def from_texts(reader: pa.RecordBatchReader, schema: pa.Schema) -> pa.RecordBatchReader:
    """Return the rows of *reader* with dates and bytes for texts, where *schema* has them.

    Raises:
        DataError: from the reader, a text that is not hex.
        pyarrow.ArrowInvalid: from the reader, a text that is not a date.
    """
    stored = set(schema.names)
    fields = [schema.field(field.name) if field.name in stored else field for field in reader.schema]
    wanted = pa.schema(fields)
    return reader if wanted == reader.schema else pa.RecordBatchReader.from_batches(wanted, _batches(reader, wanted))


def _batches(reader: pa.RecordBatchReader, wanted: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in reader:
        columns = [_column(column, field) for column, field in zip(batch.columns, wanted, strict=True)]
        yield pa.RecordBatch.from_arrays(columns, schema=wanted)


def _column(array: pa.Array, field: pa.Field) -> pa.Array:
    if pat.is_date(field.type) or array.type == field.type:
        return array.cast(field.type)
    try:  # not by casts: Arrow casts also what is below null structs
        return pa.array([_from_text(value, field.type) for value in array.to_pylist()], field.type)
    except pa.ArrowException:
        raise  # a text that is not a date
    except ValueError as error:
        raise DataError(f"column {field.name}: expected bytes as hex digits: {error}", column=field.name) from None


def _from_text(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if pat.is_date(kind):
        return pa.scalar(value).cast(kind).value
    if _is_bytes(kind):
        return bytes.fromhex(value)
    if pat.is_struct(kind):
        return {field.name: _from_text(value[field.name], field.type) for field in kind}
    return [_from_text(item, kind.value_type) for item in value] if pat.is_list(kind) else value


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pat.is_binary(kind) or pat.is_fixed_size_binary(kind)) and not pat.is_decimal(kind)
