"""Rename columns between the names in a file and the names in a query: they are matched by ids, at every depth.

The columns of a file and those of a query are both trees with ids (:mod:`hudiformat.codec.avro.types`).  A column that
has another name in the file is read by that name and returned under the query's.  A column whose id the file lacks is
missing, even if the file has a column of the same name that was dropped since.

Source: InternalSchemaMerger, InternalSchemaUtils.collectRenameCols, Hudi 1.2.0.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.types as pat

from hudiformat.codec.avro.arrays import bitmap, validity
from hudiformat.codec.avro.schema import META_COLUMNS
from hudiformat.codec.avro.types import Column, Kind, ListType, MapType, RecordType, inner_columns
from hudiformat.codec.conversion import batch_of

_NOT_HERE = " (not in this file)"
_DROPPED = " (dropped since)"


def to_stored_names(schema: pa.Schema, query: RecordType, stored: RecordType) -> pa.Schema:
    """Return *schema*, whose columns have the names of the query, with the names that the file has for them."""
    return pa.schema(_stored_fields(schema, query, stored))


def _stored_fields(fields: Iterable[pa.Field], query: Kind, stored: Kind) -> list[pa.Field]:
    known = {column.name: column for column in inner_columns(query)}
    by_id = {column.id: column for column in inner_columns(stored)}
    names = {column.name for column in inner_columns(stored)}
    result = []
    for field in fields:
        asked = known.get(field.name)
        if asked is None or field.name in META_COLUMNS:
            result.append(field)
            continue
        found = by_id.get(asked.id)
        if found is None:
            name = f"{field.name}{_NOT_HERE}" if field.name in names else field.name
            result.append(pa.field(name, field.type))
        else:
            result.append(pa.field(found.name, _stored_type(field.type, asked.kind, found.kind), field.nullable))
    return result


def _stored_type(kind: pa.DataType, query: Kind, stored: Kind) -> pa.DataType:
    if pat.is_struct(kind) and isinstance(query, RecordType) and isinstance(stored, RecordType):
        return pa.struct(_stored_fields(kind.fields, query, stored))
    if pat.is_list(kind) and isinstance(query, ListType) and isinstance(stored, ListType):
        item = kind.value_field
        return pa.list_(item.with_type(_stored_type(item.type, query.element.kind, stored.element.kind)))
    if pat.is_map(kind) and isinstance(query, MapType) and isinstance(stored, MapType):
        value = kind.item_field
        return pa.map_(kind.key_type, value.with_type(_stored_type(value.type, query.value.kind, stored.value.kind)))
    return kind


def rename_columns(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return *batch* with the names of *schema*; only the names of its columns differ from *schema*, at any depth."""
    columns = [_rename_nested(column, field.type) for column, field in zip(batch.columns, schema, strict=True)]
    return batch_of(columns, schema, batch.num_rows)


def _rename_nested(array: pa.Array, kind: pa.DataType) -> pa.Array:
    if array.type.equals(kind):
        return array
    if pat.is_struct(kind) and isinstance(array, pa.StructArray):
        children = [_rename_nested(array.field(place), field.type) for place, field in enumerate(kind.fields)]
        return pa.StructArray.from_buffers(kind, len(array), [bitmap(validity(array))], children=children)
    array = _without_offset(array)
    if pat.is_list(kind) and isinstance(array, pa.ListArray):
        items = _rename_nested(array.values, kind.value_type)
        return pa.Array.from_buffers(kind, len(array), array.buffers()[:2], children=[items])
    if pat.is_map(kind) and isinstance(array, pa.MapArray):
        entries = pa.struct([kind.key_field, kind.item_field])
        pairs = [array.keys, _rename_nested(array.items, kind.item_type)]
        rows = pa.StructArray.from_buffers(entries, len(array.keys), [None], children=pairs)
        return pa.Array.from_buffers(kind, len(array), array.buffers()[:2], children=[rows])
    raise AssertionError(f"{array.type} and {kind} differ in more than names")


def _without_offset(array: pa.Array) -> pa.Array:
    """Return an array of the same values without an offset, in memory of its own."""
    return pa.concat_arrays([array]) if not array.offset else pa.concat_arrays([array, array.slice(0, 0)])


@lru_cache(maxsize=256)
def rename_schema(avro: str, query: RecordType, stored: RecordType) -> str:
    """Return the Avro schema that records were written with, with the query's names for its fields.

    The encoding of a record does not depend on names, so the records can be read with the result.
    """
    return json.dumps(_rename(json.loads(avro), query, stored), separators=(",", ":"), ensure_ascii=False)


def _rename(definition: Any, query: Kind | None, stored: Kind | None) -> Any:
    if isinstance(definition, list):
        return [_rename(one, query, stored) for one in definition]
    if not isinstance(definition, dict):
        return definition
    kind = definition["type"]
    if kind == "record" and isinstance(query, RecordType) and isinstance(stored, RecordType):
        return {**definition, "fields": [_rename_field(one, query, stored) for one in definition["fields"]]}
    if kind == "array" and isinstance(query, ListType) and isinstance(stored, ListType):
        return {**definition, "items": _rename(definition["items"], query.element.kind, stored.element.kind)}
    if kind == "map" and isinstance(query, MapType) and isinstance(stored, MapType):
        return {**definition, "values": _rename(definition["values"], query.value.kind, stored.value.kind)}
    return {**definition, "type": _rename(kind, query, stored)} if isinstance(kind, (dict, list)) else definition


def _rename_field(item: dict[str, Any], query: RecordType, stored: RecordType) -> dict[str, Any]:
    column = stored.get(item["name"])
    if column is None or item["name"] in META_COLUMNS:
        return item
    now = next((one for one in query.columns if one.id == column.id), None)
    if now is None:
        return {**item, "name": f"{item['name']}{_DROPPED}"}
    return {**item, "name": now.name, "type": _rename(item["type"], now.kind, column.kind)}


def has_names(record: RecordType, stored: pa.Schema) -> bool:
    """Return whether a file with the columns *stored* has exactly the names of *record*, at every depth."""
    own = [field for field in stored if field.name not in META_COLUMNS]
    return _has_names(replace(record, columns=_without_meta(record)), pa.struct(own))


def _without_meta(record: RecordType) -> tuple[Column, ...]:
    return tuple(column for column in record.columns if column.name not in META_COLUMNS)


def _has_names(kind: Kind, stored: pa.DataType) -> bool:
    if isinstance(kind, RecordType) and pat.is_struct(stored):
        types = {field.name: field.type for field in stored}
        same = types.keys() == {column.name for column in kind.columns}
        return same and all(_has_names(column.kind, types[column.name]) for column in kind.columns)
    if isinstance(kind, ListType) and pat.is_list(stored):
        return _has_names(kind.element.kind, stored.value_type)
    if isinstance(kind, MapType) and pat.is_map(stored):
        return _has_names(kind.value.kind, stored.item_type)
    return True


def have_same_names(one: RecordType, other: RecordType) -> bool:
    """Return whether every column that both have, by its id, has one name, and no name stands for two columns."""
    return _have_same_names(one, other)


def _have_same_names(one: Kind, other: Kind) -> bool:
    by_name: dict[str, Column] = {column.name: column for column in inner_columns(other)}
    by_id = {column.id: column for column in inner_columns(other)}
    for column in inner_columns(one):
        named, found = by_name.get(column.name), by_id.get(column.id)
        if named is not found or (found is not None and not _have_same_names(column.kind, found.kind)):
            return False
    return True
