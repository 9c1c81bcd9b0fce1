"""Convert JSON as the commands print it, with texts for dates, bytes and special floats, to Arrow values.

pyarrow reads neither maps nor numbers in quotes from JSON.  So lines are rewritten before pyarrow reads them: objects
of maps become lists of entries, and the texts "NaN", "Infinity" and "-Infinity" become the numbers that pyarrow reads.
The line ``{"m": {"a": 1}, "x": "NaN"}`` becomes ``{"m": [{"key": "a", "value": 1}], "x": NaN}``.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterable, Iterator
from typing import IO, Any

import pyarrow as pa
import pyarrow.types as pat

from hudiformat.errors import DataError

_NO_NUMBERS = (b'NaN"', b'Infinity"')
_FLOATS = ("NaN", "Infinity", "-Infinity")


def rewrite_lines(file: IO[bytes], schema: pa.Schema) -> IO[bytes]:
    """Return *file* with its lines rewritten for pyarrow, which reads them with the columns of *schema*.

    A line that is not an object is not changed, and pyarrow refuses it.
    """
    row = pa.struct(list(schema))
    has_maps = _has(row, pat.is_map)
    if not has_maps and not _has(row, pat.is_floating):
        return file
    return io.BufferedReader(_Lines(_rewrite_line(line, row, always=has_maps) for line in file))


def _has(kind: pa.DataType, is_wanted: Any) -> bool:
    """Return whether *is_wanted* is true for *kind* or for a type nested in it."""
    children = (kind.field(number).type for number in range(kind.num_fields))
    return bool(is_wanted(kind)) or any(_has(child, is_wanted) for child in children)


def _rewrite_line(line: bytes, row: pa.StructType, *, always: bool) -> bytes:
    if not always and not any(text in line for text in _NO_NUMBERS):
        return line
    try:
        found = json.loads(line.decode(), parse_float=_finite)
    except ValueError:
        return line
    if not isinstance(found, dict):
        return line
    return json.dumps(_to_readable(found, row), ensure_ascii=False).encode() + b"\n"


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{text} is too large")
    return value


def _to_readable(value: Any, kind: pa.DataType) -> Any:
    """Convert *value* to the form that pyarrow reads for a column of *kind*; keep a value that does not fit."""
    if pat.is_floating(kind):
        return float(value) if isinstance(value, str) and value in _FLOATS else value
    if pat.is_map(kind) and isinstance(value, dict):
        return [{"key": key, "value": _to_readable(item, kind.item_type)} for key, item in value.items()]
    if pat.is_struct(kind) and isinstance(value, dict):
        kinds = {field.name: field.type for field in kind}
        return {name: _to_readable(item, kinds[name]) if name in kinds else item for name, item in value.items()}
    if (pat.is_list(kind) or pat.is_fixed_size_list(kind)) and isinstance(value, list):
        return [_to_readable(item, kind.value_type) for item in value]
    return value


class _Lines(io.RawIOBase):
    """A file whose content is an iterator of lines."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        super().__init__()
        self._lines = iter(lines)
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._rest:
            self._rest = memoryview(next(self._lines, b""))
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def as_texts(kind: pa.DataType) -> pa.DataType:
    """Return *kind* with strings for dates and bytes, and lists of entries for maps, at any depth.

    These are the types with which pyarrow reads the JSON; without them it would take a text of hex digits for bytes.
    """
    if pat.is_date(kind) or _is_bytes(kind):
        return pa.string()
    if pat.is_struct(kind):
        return pa.struct([field.with_type(as_texts(field.type)) for field in kind])
    if pat.is_map(kind):
        return pa.list_(pa.struct([("key", kind.key_type), ("value", as_texts(kind.item_type))]))
    return pa.list_(kind.value_field.with_type(as_texts(kind.value_type))) if pat.is_list(kind) else kind


def from_texts(reader: pa.RecordBatchReader, schema: pa.Schema) -> pa.RecordBatchReader:
    """Return the rows of *reader*, read with the types of :func:`as_texts`, converted to the types of *schema*.

    Raises:
        DataError: from the reader, a text does not consist of hex digits.
        pyarrow.ArrowInvalid: from the reader, a text is not a date.
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
    try:  # no cast of whole columns: Arrow would also cast values below null structs
        return pa.array([_from_text(value, field.type) for value in array.to_pylist()], field.type)
    except pa.ArrowException:
        raise  # a text that is not a date
    except ValueError as error:
        raise DataError(f"column {field.name}: expected bytes as hex digits: {error}", column=field.name) from None


def _from_text(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if pat.is_date(kind):
        days: Any = pa.scalar(value).cast(kind)
        return days.value
    if _is_bytes(kind):
        return bytes.fromhex(value)
    if pat.is_struct(kind):
        return {field.name: _from_text(value[field.name], field.type) for field in kind}
    if pat.is_map(kind):
        return [(entry["key"], _from_text(entry["value"], kind.item_type)) for entry in value]
    return [_from_text(item, kind.value_type) for item in value] if pat.is_list(kind) else value


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pat.is_binary(kind) or pat.is_fixed_size_binary(kind)) and not pat.is_decimal(kind)
