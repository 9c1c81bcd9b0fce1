"""What fastavro makes of a batch: slow, row by row, and not ours."""

from __future__ import annotations

import io
import json
import struct
from typing import Any

import fastavro
import pyarrow as pa


def encode_with_fastavro(batch: pa.RecordBatch, schema_json: str) -> bytes:
    """The records part of a data block, by fastavro."""
    schema = fastavro.parse_schema(json.loads(schema_json))
    parts = []
    for row in batch.to_pylist():
        out = io.BytesIO()
        fastavro.schemaless_writer(
            out, schema, {field.name: plain(row[field.name], field.type) for field in batch.schema}
        )
        parts.append(struct.pack(">i", len(out.getvalue())) + out.getvalue())
    return b"".join(parts)


def decode_with_fastavro(data: bytes, schema_json: str) -> list[dict[str, Any]]:
    """The rows of the records part of a data block, by fastavro."""
    schema = fastavro.parse_schema(json.loads(schema_json))
    rows, pos = [], 0
    while pos < len(data):
        (length,) = struct.unpack_from(">i", data, pos)
        row = fastavro.schemaless_reader(io.BytesIO(data[pos + 4 : pos + 4 + length]), schema, None)
        rows.append(dict(row) if isinstance(row, dict) else row)
        pos += 4 + length
    return rows


def plain(value: Any, kind: pa.DataType) -> Any:
    """Arrow's Python value as fastavro takes it: its maps are dicts."""
    if value is None:
        return None
    if pa.types.is_map(kind):
        return {key: plain(item, kind.item_type) for key, item in value}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [plain(item, kind.value_type) for item in value]
    if pa.types.is_struct(kind):
        return {field.name: plain(value[field.name], field.type) for field in kind}
    return value
