"""Rows as spec/vectors/README.md writes them in JSON, from Arrow and back."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.types as pat


def plain_rows(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """The rows of *batch*, a dict each."""
    columns = [plain_values(column) for column in batch.columns]
    return [dict(zip(batch.schema.names, row, strict=True)) for row in zip(*columns, strict=True)]


def plain_values(array: pa.Array) -> list[Any]:
    """The values of *array*."""
    kind = storage_type(array.type)
    stored = array if kind == array.type else array.cast(kind)
    return [plain(value, stored.type) for value in stored.to_pylist()]


def is_union(kind: pa.DataType) -> bool:
    """Whether a struct stands for a union of several types."""
    return pat.is_struct(kind) and [field.name for field in kind] == [f"member{n}" for n in range(kind.num_fields)]


def plain(value: Any, kind: Any) -> Any:
    """One value of Arrow's, as JSON has it."""
    if value is None:
        return None
    if is_union(kind):
        # In the vectors no union of several types has a null among them, so members are branches.
        branch, inner = next((n, value[field.name]) for n, field in enumerate(kind) if value[field.name] is not None)
        return {"branch": branch, "value": plain(inner, kind.field(branch).type)}
    if pat.is_struct(kind):
        return {field.name: plain(value[field.name], field.type) for field in kind}
    if pat.is_list(kind):
        return [plain(item, kind.value_type) for item in value]
    if pat.is_map(kind):
        return {key: plain(item, kind.item_type) for key, item in value}
    return _flat(value)


def _flat(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Decimal):
        return format(value, "f")
    return value


def storage_type(kind: pa.DataType) -> pa.DataType:
    """The type with dates and times as the numbers that Avro stores."""
    if pat.is_struct(kind):
        return pa.struct([field.with_type(storage_type(field.type)) for field in kind])
    if pat.is_list(kind):
        return pa.list_(kind.value_field.with_type(storage_type(kind.value_type)))
    if pat.is_map(kind):
        return pa.map_(kind.key_type, kind.item_field.with_type(storage_type(kind.item_type)))
    if pat.is_date32(kind) or pat.is_time32(kind):
        return pa.int32()
    return pa.int64() if pat.is_time64(kind) or pat.is_timestamp(kind) else kind


def arrow_rows(rows: list[dict[str, Any]], schema: pa.Schema) -> pa.RecordBatch:
    """A batch of *schema* out of JSON's rows."""
    columns = [
        pa.array([arrow_value(row[field.name], field.type) for row in rows], storage_type(field.type)).cast(field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def arrow_value(value: Any, kind: Any) -> Any:
    """One value of JSON's, as Arrow takes it for the storage type."""
    if value is None:
        return None
    if is_union(kind):
        chosen = kind.field(value["branch"])
        return {field.name: None for field in kind} | {chosen.name: arrow_value(value["value"], chosen.type)}
    if pat.is_struct(kind):
        return {field.name: arrow_value(value[field.name], field.type) for field in kind}
    if pat.is_list(kind):
        return [arrow_value(item, kind.value_type) for item in value]
    if pat.is_map(kind):
        return [(key, arrow_value(item, kind.item_type)) for key, item in value.items()]
    return _arrow_flat(value, kind)


def _arrow_flat(value: Any, kind: pa.DataType) -> Any:
    if pat.is_binary(kind) or pat.is_fixed_size_binary(kind):
        return bytes.fromhex(value)
    if pat.is_decimal(kind):
        return Decimal(value)
    return float(value) if pat.is_floating(kind) else value
