"""Convert Arrow schemas to Avro schemas and back, as Hudi's Spark writer maps them.

Table of types: spec/avro-records.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.types as pat

from hudiformat.codec.avro.nodes import MAX_DECIMAL_PRECISION, MAX_FIXED_SIZE, column_field, parse_schema
from hudiformat.codec.custom_types import (
    BLOB,
    BLOB_AVRO,
    BLOB_TYPE,
    TYPE_KEY,
    VARIANT,
    VARIANT_AVRO,
    VARIANT_TYPE,
    is_number_list,
    is_vector,
    named_type,
    parse_vector,
    stored_size,
    vector_definition,
)
from hudiformat.errors import SchemaError

META_COLUMNS = (
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
)

_SHARED = re.compile('"logicalType": "(blob|vector)"')
"""Types whose name does not depend on their column, so that columns share it."""
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

    Nullable columns are a union with null first and null as default.  A column that is a list of fixed size of numbers
    is a vector; a field whose metadata names BLOB or VARIANT is such a record.  The namespace of nested records and
    decimals consists of the top record's full name and the names of the fields around them.  Hudi's meta columns have
    an empty ``doc``, as Hudi adds them.

    Raises:
        SchemaError: a type that Avro or Hudi does not have, or a name that Avro does not allow or that comes twice.
    """
    for part in (name, *namespace.split(".")):
        if part and not _NAME.fullmatch(part):
            raise SchemaError(f"{part!r} is not an Avro name (letters, digits and _, no digit first)")
    definition = {"type": "record", "name": name}
    if namespace:
        definition["namespace"] = namespace
    fields = _fields(_with_vectors(schema), f"{namespace}.{name}" if namespace else name, "")
    if _SHARED.search(json.dumps(fields)):
        fields = _define_once(fields, set())
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
    return pa.schema([column_field(name, node) for name, node in record.fields])


@lru_cache(maxsize=256)
def has_vectors(schema_json: str) -> bool:
    """Return whether a column of an Avro record schema is a vector, whose records have bytes."""
    return any(map(pat.is_fixed_size_list, avro_to_arrow(schema_json).types))


def choose_fields(schema_json: str, names: Sequence[str]) -> str:
    """Return the schema with the fields *names* alone, in that order; a named type is defined where it comes first."""
    schema = json.loads(schema_json)
    named: dict[str, Any] = {}
    fields = {one["name"]: _spell_out(one, schema.get("namespace", ""), named) for one in schema["fields"]}
    seen: set[str] = set()
    chosen = [_define_once(fields[name], seen) for name in names]
    return json.dumps(schema | {"fields": chosen}, separators=(",", ":"), ensure_ascii=False)


_NAMED = ("record", "fixed", "enum")
_INSIDE = ("type", "items", "values", "fields")


def _spell_out(part: Any, namespace: str, named: dict[str, Any]) -> Any:
    """Return a part of a schema in which each name of a type is its definition, which has a name with a namespace."""
    if isinstance(part, list):
        return [_spell_out(one, namespace, named) for one in part]
    if isinstance(part, str):
        full = part if "." in part or not namespace else f"{namespace}.{part}"
        return named.get(full, named.get(part, part))
    if not isinstance(part, dict):
        return part
    result, full = dict(part), ""
    if part.get("type") in _NAMED:
        scope, _, short = part["name"].rpartition(".")
        namespace = scope or part.get("namespace", namespace) or ""
        full = f"{namespace}.{short}" if namespace else short
        result.update(name=short, namespace=namespace)
    for key in _INSIDE:
        if key in part and not (key == "type" and full):
            result[key] = _spell_out(part[key], namespace, named)
    if full:
        named[full] = result
    return result


def _define_once(part: Any, seen: set[str]) -> Any:
    """Return a part of a schema in which a type that came before is its name alone."""
    if isinstance(part, list):
        return [_define_once(one, seen) for one in part]
    if not isinstance(part, dict):
        return part
    if part.get("type") in _NAMED:
        full = f"{part.get('namespace', '')}.{part['name']}".lstrip(".")
        if full in seen:
            return full
        seen.add(full)
    return {key: _define_once(value, seen) if key in _INSIDE else value for key, value in part.items()}


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
        kind = _named_type(field, namespace, inner) or _type(field.type, namespace, field.name, inner)
        item = {"name": field.name, "type": _nullable_type(field, kind)}
        result.append({**item, "default": None} if field.nullable else item)
    return result


def _nullable_type(field: pa.Field, kind: Any) -> Any:
    return ["null", kind] if field.nullable else kind


def _with_vectors(schema: pa.Schema) -> pa.Schema:
    """Return the columns of a table, of which those that are vectors have their type, and say so.

    Raises:
        SchemaError: a column is no vector, and its metadata says that it is one.
    """
    if not any(field.metadata or pat.is_fixed_size_list(field.type) for field in schema):  # the usual case
        return schema
    return pa.schema([_with_vector(field, named_type(field)) for field in schema])


def _with_vector(field: pa.Field, named: str) -> pa.Field:
    kind, given = field.type, field.type
    if named.startswith("VECTOR"):
        wanted = parse_vector(named)
        fits = (
            wanted is not None and is_number_list(given) and pa.list_(given.field(0).type, wanted.list_size) == wanted
        )
        if wanted is None or not fits or (pat.is_fixed_size_list(given) and given.list_size != wanted.list_size):
            raise _column_error(
                field.name,
                f"of type {given} cannot be a {named}: expected VECTOR(n), VECTOR(n, DOUBLE) or VECTOR(n, INT8) for a "
                "list of float32, float64 or int8",
            )
        kind = wanted
    return field.with_type(kind).with_metadata({TYPE_KEY: b"VECTOR"}) if is_vector(kind) else field


def _named_type(field: pa.Field, namespace: str, path: str) -> dict[str, Any] | None:
    """Return the Avro type of a field whose metadata names a type that only Hudi has; None if it names none.

    Raises:
        SchemaError: the field's type is not that of what its metadata names.
    """
    if field.metadata is None:  # the usual case
        return None
    named, kind = named_type(field), field.type
    expected = {BLOB: BLOB_TYPE, VARIANT: VARIANT_TYPE}.get(named)
    if expected is not None and _all_nullable(kind) != _all_nullable(expected):
        raise _column_error(path, f"of type {kind} cannot be a {named}: expected {expected}")
    if named == BLOB:
        return dict(json.loads(BLOB_AVRO))
    if named == VARIANT:
        return {"type": "record", "name": field.name, "namespace": namespace, **json.loads(VARIANT_AVRO)}
    if named == "VECTOR" and is_vector(kind):
        if stored_size(kind) > MAX_FIXED_SIZE:
            raise _column_error(path, f"of type {kind} cannot be stored: a vector has at most {MAX_FIXED_SIZE} bytes")
        return vector_definition(kind)
    if named:
        raise _column_error(path, f"is said to be a {named}: expected VECTOR(n) for a column, BLOB or VARIANT")
    return None


def _all_nullable(kind: pa.DataType) -> pa.DataType:
    """Return a struct with all its fields nullable, as Spark has them; other types stay as they are."""
    if not pat.is_struct(kind):
        return kind
    return pa.struct([field.with_type(_all_nullable(field.type)).with_nullable(True) for field in kind])


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
        field, inner = kind.value_field, f"{path}.item"
        items = _named_type(field, namespace, inner) or _type(field.type, namespace, name, inner)
        return {"type": "array", "items": _nullable_type(kind.value_field, items)}
    if pat.is_map(kind) and _simple_type(kind.key_type) == "string":
        field, inner = kind.item_field, f"{path}.value"
        values = _named_type(field, namespace, inner) or _type(field.type, namespace, name, inner)
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
