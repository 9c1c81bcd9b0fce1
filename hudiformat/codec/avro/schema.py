"""Convert Arrow schemas to Avro schemas and back, and columns to a schema.

Schemas are mapped as Hudi's Spark writer maps them.  Table of types: spec/avro-records.md.

:func:`convert_to_schema` converts columns to a schema: it orders them, fills missing ones and, if the type of a
column has changed, casts values as Hudi does (:mod:`hudiformat.codec.avro.casts`).  Fields of nested records are
matched by name too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pat

from hudiformat.codec.avro.arrays import Mask, bitmap, offsets, validity
from hudiformat.codec.avro.casts import can_cast, can_cast_back, cast, cast_back, is_mislabelled
from hudiformat.codec.avro.nodes import MAX_DECIMAL_PRECISION, MAX_FIXED_SIZE, parse_schema
from hudiformat.errors import DataError, SchemaError

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


_LISTS = (pa.ListArray, pa.LargeListArray, pa.FixedSizeListArray)


def convert_to_schema(batch: pa.RecordBatch, target: pa.Schema, *, relabel: bool = False) -> pa.RecordBatch:
    """Return the columns that *target* names, in its order and types; all other columns are dropped.

    A nullable column that is missing is filled with nulls.  With *relabel*, *batch* was read from a file of a table
    with the columns *target*: a wrong label that Hudi wrote is corrected (:func:`is_mislabelled`), no number changes;
    and a type that the column got later is cast back (:func:`cast_back`).

    Raises:
        SchemaError: a column is missing and not nullable, comes twice, or has a type that does not fit.
        DataError: a null, or bytes that are no UTF-8 text, where the target does not allow them.
    """
    if target.names and batch.schema.equals(target) and not any(map(_is_required, target)):
        is_flat = not any(map(pat.is_nested, target.types))  # equal lists may have other names of their items
        same = is_flat and batch.schema.metadata is None and target.metadata is None
        return batch if same else pa.RecordBatch.from_arrays(batch.columns, schema=target)
    rows = _struct(batch.schema.names, batch.columns, batch.num_rows, None)
    return batch_of(_convert_fields(rows, target, "", relabel=relabel), target, batch.num_rows)


def has_wrong_label(stored: pa.DataType, kind: pa.DataType) -> bool:
    """Return whether :func:`convert_to_schema` corrects a label, at any depth, of a file's type for *kind*."""
    if pat.is_struct(stored) and pat.is_struct(kind):
        known = {field.name: field.type for field in kind}
        return any(field.name in known and has_wrong_label(field.type, known[field.name]) for field in stored)
    if pat.is_map(stored) and pat.is_map(kind):
        return has_wrong_label(stored.item_type, kind.item_type)
    if pat.is_list(stored) and pat.is_list(kind):
        return has_wrong_label(stored.value_type, kind.value_type)
    return is_mislabelled(stored, kind)


def batch_of(columns: Sequence[pa.Array], schema: pa.Schema, rows: int) -> pa.RecordBatch:
    """Return a batch of *columns* that keeps its number of *rows* even without a column."""
    whole = pa.StructArray.from_buffers(pa.struct(list(schema)), rows, [None], children=list(columns))
    return pa.RecordBatch.from_struct_array(whole).replace_schema_metadata(schema.metadata)


def _struct(names: Sequence[str], columns: Sequence[pa.Array], rows: int, valid: Mask | None) -> pa.StructArray:
    kind = pa.struct([pa.field(name, column.type) for name, column in zip(names, columns, strict=True)])
    return pa.StructArray.from_buffers(kind, rows, [bitmap(valid)], children=list(columns))


def _convert_fields(
    rows: pa.StructArray, fields: pa.Schema | pa.StructType, path: str, *, relabel: bool
) -> list[pa.Array]:
    """Return the columns of *fields*, converted from the fields of *rows*.

    Raises:
        SchemaError: a field is missing and not nullable, comes twice, or has a type that does not fit.
        DataError: a value does not fit.
    """
    indices_by_name: dict[str, list[int]] = {}
    for number, field in enumerate(rows.type):
        indices_by_name.setdefault(field.name, []).append(number)
    result = []
    for field in fields:
        inner = f"{path}.{field.name}" if path else field.name
        count = len(found := indices_by_name.get(field.name, []))
        if count > 1:
            raise SchemaError(f"column {inner} comes {count} times: rename or drop one", column=inner)
        if not count and not field.nullable:
            raise SchemaError(f"column {inner} of type {field.type} is required and missing", column=inner)
        if count:
            converted = _convert(rows.field(found[0]), field.type, inner, relabel=relabel)
            array = _refuse_nulls(converted, field, rows, inner)
        else:
            array = pa.nulls(len(rows), field.type)
        result.append(array)
    return result


def _refuse_nulls(array: pa.Array, field: pa.Field, parent: pa.StructArray, path: str) -> pa.Array:
    """Return the column, which must not have a null if it is not nullable.

    Below a null parent it may have one, which is replaced by any value: Arrow's writer of Parquet refuses nulls by the
    column alone, whether or not the parent is null.

    Raises:
        DataError: the column is not nullable and has a null.
    """
    valid = None if field.nullable else validity(array)
    if valid is None:
        return array
    above = validity(parent)
    if (~valid if above is None else above & ~valid).any():
        raise DataError(f"column {path} is not nullable and has a null", column=path)
    return _without_nulls(array)


def _without_nulls(array: pa.Array) -> pa.Array:
    """Return the array with arbitrary values in place of nulls."""
    kind = array.type
    if isinstance(array, pa.StructArray):
        children = [array.field(number) for number in range(kind.num_fields)]
        return pa.StructArray.from_buffers(kind, len(array), [None], children=children)
    if isinstance(array, pa.MapArray):
        return pa.MapArray.from_arrays(pa.array(offsets(array), pa.int32()), array.keys, array.items, type=kind)
    if isinstance(array, pa.ListArray):
        return pa.ListArray.from_arrays(pa.array(offsets(array), pa.int32()), array.values, type=kind)
    return pa.Array.from_buffers(kind, len(array), [None, *array.buffers()[1:]], offset=array.offset)


def _has_required(kind: pa.DataType) -> bool:
    """Return whether structs in *kind* have fields that are not nullable."""
    if not pat.is_nested(kind):
        return False
    if pat.is_map(kind):
        return _has_required(kind.item_type)
    if pat.is_list(kind):
        return _has_required(kind.value_type)
    return pat.is_struct(kind) and any(map(_is_required, kind))


def _is_required(field: pa.Field) -> bool:
    """Return whether *field*, or a struct in it, has no nulls."""
    return not field.nullable or _has_required(field.type)


def _convert(array: pa.Array, kind: pa.DataType, path: str, *, relabel: bool) -> pa.Array:
    """Return the array converted to type *kind*.

    Raises:
        SchemaError: the type of the array does not fit *kind*.
        DataError: a value does not fit.
    """
    while not array.type.equals(kind) and isinstance(array, (pa.ExtensionArray, pa.DictionaryArray)):
        array = array.storage if isinstance(array, pa.ExtensionArray) else _decode_dictionary(array)
    given = array.type
    if given.equals(kind) and not _has_required(kind):
        return array
    if pat.is_null(given):
        return pa.nulls(len(array), kind)
    if isinstance(array, pa.StructArray) and pat.is_struct(kind):
        children = _convert_fields(array, kind, path, relabel=relabel)
        return pa.StructArray.from_buffers(kind, len(array), [bitmap(validity(array))], children=children)
    if isinstance(array, pa.MapArray) and pat.is_map(kind):
        names = (kind.key_field.name, kind.item_field.name)
        entries = _struct(names, (array.keys, array.items), len(array.keys), None)
        inner = pa.struct([kind.key_field, kind.item_field])
        return _with_items(array, kind, _convert(_used(array, entries), inner, path, relabel=relabel))
    if isinstance(array, _LISTS) and not pat.is_map(given) and pat.is_list(kind):
        items = _used(array, array.values)
        return _with_items(array, kind, _convert(items, kind.value_type, f"{path}.item", relabel=relabel))
    return _convert_values(array, kind, path, relabel=relabel)


def _convert_values(array: pa.Array, kind: pa.DataType, path: str, *, relabel: bool) -> pa.Array:
    given = array.type
    if relabel and is_mislabelled(given, kind):
        return array.view(kind)
    if relabel and can_cast_back(given, kind):
        try:
            return cast_back(array, kind)
        except pa.ArrowInvalid as error:
            raise SchemaError(
                f"column {path} is of type {given}, which does not fit {kind}: {error}", column=path
            ) from error
    if pat.is_nested(kind) or not can_cast(given, kind):
        advice = "what its values mean is not known; write the file again" if relabel else "cast it"
        raise SchemaError(f"column {path} is of type {given}, which does not fit {kind}: {advice}", column=path)
    try:
        return cast(array, kind)
    except pa.ArrowInvalid as error:
        raise DataError(f"column {path} cannot be cast from {given} to {kind}: {error}", column=path) from error


def _decode_dictionary(array: pa.DictionaryArray) -> pa.Array:
    """Return the values of a dictionary; pyarrow has index 0 below null structs, even if the dictionary is empty."""
    return array.dictionary_decode() if len(array.dictionary) else pa.nulls(len(array), array.type.value_type)


def _used(array: pa.Array, items: pa.Array) -> pa.Array:
    """Return those of the *items* of a list or map that its rows have."""
    positions = offsets(array)
    return items.slice(int(positions[0]), int(positions[-1] - positions[0]))


def _with_items(array: pa.Array, kind: pa.DataType, items: pa.Array) -> pa.Array:
    """Return a list or map of type *kind* of the same shape, with the *items* that its rows have."""
    positions = offsets(array)
    start = pa.py_buffer((positions - positions[0]).astype(np.int32))
    return pa.Array.from_buffers(kind, len(array), [bitmap(validity(array)), start], children=[items])
