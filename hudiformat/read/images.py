"""Format rows as the JSON texts of change data, in the two forms that Hudi writes.

Records in change-data logs are formatted as Avro's ``toString`` does, rows of base and log files as Jackson does.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Context
from typing import Any

import numpy as np
import pyarrow as pa

from hudiformat.codec.avro.arrays import map_leaf_types
from hudiformat.codec.avro.java_text import java_float

_ESCAPES = re.compile(r"\\(?:u([0-9a-f]{4})|.)")
_ESCAPED_BY_AVRO = re.compile("[\x7f-\x9f\u2000-\u20ff]")


def avro_images(rows: pa.Array) -> list[str]:
    """Return the JSON texts of the records of a change-data log, given as a struct array; ``null`` where there is none.

    Source: HoodieCDCUtils.recordToJson, org.apache.avro.generic.GenericData.toString.
    """
    rows = _without_times(rows)
    return [_AVRO.text(value, rows.type) for value in rows.to_pylist()]


def row_images(rows: pa.Table) -> list[str]:
    """Return the JSON texts of rows of base and log files.

    Null columns and null map values are left out at every depth; null list elements are kept.

    Source: InternalRowToJsonStringConverter, Hudi 1.2.0.
    """
    rows = pa.Table.from_arrays([_without_times(column) for column in rows.columns], names=rows.column_names)
    columns = [column.to_pylist() for column in rows.columns]
    return [_JACKSON.record(zip(rows.schema, row, strict=True)) for row in zip(*columns, strict=True)]


def _without_times(values: pa.Array | pa.ChunkedArray) -> Any:
    """Replace dates and times in *values* with their stored numbers: Python cannot represent all of them."""
    kind = map_leaf_types(values.type, _numbers_of)
    return values if kind == values.type else values.cast(kind)


def _numbers_of(kind: pa.DataType) -> pa.DataType:
    if not pa.types.is_temporal(kind):
        return kind
    return pa.int32() if pa.types.is_date32(kind) or pa.types.is_time32(kind) else pa.int64()


@dataclass(frozen=True, slots=True)
class _Form:
    """The rules by which values become JSON text; ``nulls`` decides whether objects include members that are null."""

    comma: str
    colon: str
    nulls: bool
    quoted: Callable[[str], str]
    binary: Callable[[bytes], str]
    decimal: Callable[[Any, pa.DataType], str]

    def record(self, values: Iterable[tuple[pa.Field, Any]]) -> str:
        return self._object((field.name, value, field.type) for field, value in values)

    def text(self, value: Any, kind: pa.DataType) -> str:
        if value is None:
            text = "null"
        elif pa.types.is_struct(kind):
            text = self.record((field, value[field.name]) for field in kind)
        elif pa.types.is_map(kind):
            text = self._object((key, item, kind.item_type) for key, item in value)
        elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
            text = "[" + self.comma.join(self.text(item, kind.value_type) for item in value) + "]"
        elif isinstance(value, bytes):
            text = self.binary(value)
        elif pa.types.is_decimal(kind):
            text = self.decimal(value, kind)
        else:
            text = self.quoted(value) if isinstance(value, str) else _format_plain(value, kind)
        return text

    def _object(self, members: Iterable[tuple[str, Any, pa.DataType]]) -> str:
        texts = (
            f"{self.quoted(name)}{self.colon}{self.text(value, kind)}"
            for name, value, kind in members
            if self.nulls or value is not None
        )
        return "{" + self.comma.join(texts) + "}"


def _format_plain(value: Any, kind: pa.DataType) -> str:
    """Return the text of a number or a boolean."""
    if pa.types.is_boolean(kind):
        return "true" if value else "false"
    if pa.types.is_floating(kind):
        shortest = str(np.float32(value)) if pa.types.is_float32(kind) else None
        text = java_float(value, shortest=shortest) or ""
        return text if np.isfinite(value) else f'"{text}"'
    return str(value)


def _quote(text: str) -> str:
    """Return *text* as a JSON string whose Unicode escapes have upper-case digits, as Java writes them."""
    quoted = json.dumps(text, ensure_ascii=False)
    return _ESCAPES.sub(lambda match: f"\\u{match[1].upper()}" if match[1] else match[0], quoted)


def _fixed_bytes(value: Any, kind: Any) -> str:
    size = (10**kind.precision - 1).bit_length() // 8 + 1
    unscaled = int(value.scaleb(kind.scale, context=Context(prec=kind.precision))).to_bytes(size, "big", signed=True)
    return str(np.frombuffer(unscaled, np.int8).tolist())


def _quote_as_avro(text: str) -> str:
    return _ESCAPED_BY_AVRO.sub(lambda match: f"\\u{ord(match[0]):04X}", _quote(text))


_AVRO = _Form(", ", ": ", True, _quote_as_avro, lambda value: _quote_as_avro(value.decode("latin-1")), _fixed_bytes)
_JACKSON = _Form(
    ",", ":", False, _quote, lambda value: _quote(base64.b64encode(value).decode()), lambda value, _: str(value)
)
