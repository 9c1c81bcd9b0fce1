"""Convert Arrow schemas to Avro schemas and back, as Hudi's Spark writer maps them.

Table of types: spec/avro-records.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.types as pat

from hudiformat.codec.avro.nodes import MAX_DECIMAL_PRECISION, MAX_FIXED_SIZE, parse_schema
from hudiformat.errors import SchemaError

META_COLUMNS = (
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
)

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LOGICAL: dict[pa.DataType, tuple[str, str]] = {
    pa.date32(): ("int", "date"),
    pa.date64(): ("int", "date"),
    pa.time32("ms"): ("int", "time-millis"),
    pa.time64("us"): ("long", "time-micros"),
}
_VIEWS = {pa.string(): pa.string_view(), pa.binary(): pa.binary_view()}
_UNITS = {"ms": "timestamp-millis", "us": "timestamp-micros"}
_HINTS = (
    (lambda kind: pat.is_timestamp(kind) or pat.is_time(kind), "cast it to microseconds or milliseconds"),
    (pat.is_uint64, "cast it to int64, decimal128(20, 0) or string"),
    (pat.is_float16, "cast it to float32"),
    (pat.is_null, "give the column a type"),
    (pat.is_decimal, f"cast it to decimal128 with at most {MAX_DECIMAL_PRECISION} digits"),
    (pat.is_map, "Avro maps have string keys: cast the keys, or use a list of structs"),
    (pat.is_struct, "a struct needs a field"),
    (pat.is_fixed_size_binary, f"fixed binary has 1 to {MAX_FIXED_SIZE} bytes: cast it to binary"),
)


def arrow_to_avro(schema: pa.Schema, *, name: str, namespace: str) -> str:
    """Return the Avro schema of *schema* as compact JSON; Hudi names it ``<table>_record`` in ``hoodie.<table>``.

    Nullable columns are a union with null first and null as default.  The namespace of nested records and decimals
    consists of the top record's full name and the names of the fields around them.  Hudi's meta columns have an empty
    ``doc``, as Hudi adds them.

    Raises:
        SchemaError: a type that Avro or Hudi does not have, or a name that Avro does not allow or that comes twice.
    """
    for part in (name, *namespace.split(".")):
        if part and not _NAME.fullmatch(part):
            raise SchemaError(f"{part!r} is not an Avro name (letters, digits and _, no digit first)")
    definition = {"type": "record", "name": name}
    if namespace:
        definition["namespace"] = namespace
    fields = _fields(schema, f"{namespace}.{name}" if namespace else name, "")
    for item in fields:
        if item["name"] in META_COLUMNS and "default" in item:
            del item["default"]
            item.update(doc="", default=None)  # Hudi's order of keys
    return json.dumps({**definition, "fields": fields}, separators=(",", ":"), ensure_ascii=False)


@lru_cache(maxsize=256)
def avro_to_arrow(schema_json: str) -> pa.Schema:
    """Return the Arrow schema of an Avro record schema; the result for one text is one object.

    Timestamps with a time zone become timestamps in UTC, enums and UUIDs strings.  A union of several types becomes a
    struct with a field per type (``member0`` and on, as in Spark) of which one is set.

    Raises:
        SchemaError: the text is no Avro record schema, or a type has no Arrow counterpart.
    """
    record = parse_schema(schema_json)
    return pa.schema([pa.field(name, node.arrow, nullable=node.nullable) for name, node in record.fields])


def with_views(schema: pa.Schema) -> pa.Schema:
    """Return the schema with views for strings and bytes; the fields of nested columns stay as they are."""
    return pa.schema(
        [field.with_type(_VIEWS.get(field.type, field.type)) for field in schema], metadata=schema.metadata
    )


def _fields(fields: Iterable[pa.Field], namespace: str, path: str) -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = []
    names: set[str] = set()
    for field in fields:
        inner = f"{path}.{field.name}" if path else field.name
        if not _NAME.fullmatch(field.name):
            raise _column_error(inner, "is not an Avro name (letters, digits and _, no digit first): rename it")
        if field.name in names:
            raise _column_error(inner, "comes twice: rename or drop one")
        names.add(field.name)
        item = {"name": field.name, "type": _nullable_type(field, _type(field.type, namespace, field.name, inner))}
        result.append({**item, "default": None} if field.nullable else item)
    return result


def _nullable_type(field: pa.Field, kind: Any) -> Any:
    return ["null", kind] if field.nullable else kind


def _type(kind: pa.DataType, namespace: str, name: str, path: str) -> Any:
    """Return the Avro type of *kind*.

    *name* is the name of a record in it, and the last part of the namespace of a fixed in it.
    """
    if pat.is_dictionary(kind):
        kind = kind.value_type
    flat = _simple_type(kind) or _fixed(kind, f"{namespace}.{name}")
    if flat is not None:
        return flat
    if pat.is_list(kind) or pat.is_large_list(kind) or pat.is_fixed_size_list(kind):
        items = _type(kind.value_type, namespace, name, f"{path}.item")
        return {"type": "array", "items": _nullable_type(kind.value_field, items)}
    if pat.is_map(kind) and _simple_type(kind.key_type) == "string":
        values = _type(kind.item_type, namespace, name, f"{path}.value")
        return {"type": "map", "values": _nullable_type(kind.item_field, values)}
    if pat.is_struct(kind) and kind.num_fields:
        fields = _fields(kind, f"{namespace}.{name}", path)
        return {"type": "record", "name": name, "namespace": namespace, "fields": fields}
    hint = next((hint for test, hint in _HINTS if test(kind)), "Avro has no such type")
    raise _column_error(path, f"of type {kind} cannot be stored: {hint}")


def _simple_type(kind: pa.DataType) -> Any:
    if kind in _LOGICAL:
        base, logical = _LOGICAL[kind]
        return {"type": base, "logicalType": logical}
    if pat.is_timestamp(kind) and kind.unit in _UNITS:
        return {"type": "long", "logicalType": ("" if kind.tz else "local-") + _UNITS[kind.unit]}
    return next((name for test, name in _PLAIN if test(kind)), None)


_PLAIN = (
    (pat.is_boolean, "boolean"),
    (lambda kind: pat.is_int64(kind) or pat.is_uint32(kind), "long"),
    (lambda kind: pat.is_integer(kind) and not pat.is_uint64(kind), "int"),
    (pat.is_float32, "float"),
    (pat.is_float64, "double"),
    (lambda kind: pat.is_string(kind) or pat.is_large_string(kind) or pat.is_string_view(kind), "string"),
    (lambda kind: pat.is_binary(kind) or pat.is_large_binary(kind) or pat.is_binary_view(kind), "bytes"),
)


def _fixed(kind: pa.DataType, namespace: str) -> dict[str, Any] | None:
    if pat.is_decimal(kind) and kind.precision <= MAX_DECIMAL_PRECISION and 0 <= kind.scale <= kind.precision:
        size = _decimal_size(kind.precision)
        logical = {"logicalType": "decimal", "precision": kind.precision, "scale": kind.scale}
    elif pat.is_fixed_size_binary(kind) and 0 < kind.byte_width <= MAX_FIXED_SIZE:
        size, logical = kind.byte_width, {}
    else:
        return None
    return {"type": "fixed", "name": "fixed", "namespace": namespace, "size": size, **logical}


def _decimal_size(precision: int) -> int:
    """Return the fewest bytes of two's complement that hold a decimal of *precision* digits, as in Spark."""
    return int(10**precision - 1).bit_length() // 8 + 1


def _column_error(path: str, message: str) -> SchemaError:
    return SchemaError(f"column {path} {message}", column=path)
