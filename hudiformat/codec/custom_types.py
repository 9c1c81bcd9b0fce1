"""The types of Hudi 1.2 that Avro and Parquet do not have: VECTOR, VARIANT and BLOB.  Pure.

========  ==========================================  ======================================
type      Avro                                        Arrow
========  ==========================================  ======================================
VECTOR    fixed of little-endian numbers              list of fixed size
VARIANT   record of ``metadata`` and ``value``        struct, whose field says ``VARIANT``
BLOB      record of ``type``, ``data``, ``reference``  struct, whose field says ``BLOB``
========  ==========================================  ======================================

A field of an Arrow schema says so in its metadata, under the key that Hudi uses in schemas of Spark.  Parquet files and
Avro records store a vector as so many bytes; Arrow's list of fixed size has the same bytes in memory, so that neither
way copies them.

Source: HoodieSchema.Vector, .Variant, .Blob, HoodieSparkSchemaConverters, Hudi 1.2.0; spec/custom-types.md.
"""

from __future__ import annotations

import json
import re
from typing import Any, TypeGuard, TypeVar, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from hudiformat.codec.avro.arrays import bitmap, validity
from hudiformat.errors import DataError

TYPE_KEY = b"hudi_type"
"""The key of a field's metadata that names its type.  Source: HoodieSchema.TYPE_METADATA_FIELD."""
BLOB, VARIANT = "BLOB", "VARIANT"

ELEMENTS = {"FLOAT": pa.float32(), "DOUBLE": pa.float64(), "INT8": pa.int8()}
"""The types of a vector's elements, by Hudi's names."""
_ELEMENT_NAMES = {kind: name for name, kind in ELEMENTS.items()}
_VECTOR = re.compile(r"VECTOR\s*\(\s*(\d+)\s*(?:,\s*(\w+)\s*)?(?:,\s*FIXED_BYTES\s*)?\)", re.IGNORECASE)

INLINE, OUT_OF_LINE = "INLINE", "OUT_OF_LINE"
STORAGE_TYPES = (INLINE, OUT_OF_LINE)
_REFERENCE = pa.struct(
    [
        pa.field("external_path", pa.string(), nullable=False),
        pa.field("offset", pa.int64()),
        pa.field("length", pa.int64()),
        pa.field("managed", pa.bool_(), nullable=False),
    ]
)
BLOB_TYPE = pa.struct(
    [pa.field("type", pa.string(), nullable=False), pa.field("data", pa.binary()), pa.field("reference", _REFERENCE)]
)
"""A blob: its bytes in ``data`` if ``type`` is INLINE, else a part of another file."""
VARIANT_TYPE = pa.struct(
    [pa.field("metadata", pa.binary(), nullable=False), pa.field("value", pa.binary(), nullable=False)]
)
"""A value of any type, in the binary form of Parquet's variants: ``metadata`` has the names of its fields."""

_BYTES_OR_NULL = {"type": ["null", "bytes"], "default": None}
BLOB_AVRO = json.dumps(
    {
        "type": "record",
        "name": "blob",
        "namespace": "",
        "fields": [
            {
                "name": "type",
                "type": {"type": "enum", "name": "blob_storage_type", "symbols": STORAGE_TYPES},
            },
            {"name": "data", **_BYTES_OR_NULL},
            {
                "name": "reference",
                "type": [
                    "null",
                    {
                        "type": "record",
                        "name": "reference",
                        "fields": [
                            {"name": "external_path", "type": "string"},
                            {"name": "offset", "type": ["null", "long"]},
                            {"name": "length", "type": ["null", "long"]},
                            {"name": "managed", "type": "boolean"},
                        ],
                    },
                ],
                "default": None,
            },
        ],
        "logicalType": "blob",
    }
)
"""The Avro schema of a blob.  Source: HoodieSchema.Blob.createBlobFields, Hudi 1.2.0."""
VARIANT_AVRO = json.dumps(
    {
        "fields": [
            {"name": "metadata", "type": "bytes", "doc": "Variant metadata component"},
            {"name": "value", "type": "bytes", "doc": "Variant value component"},
        ],
        "logicalType": "variant",
    }
)
"""The Avro schema of a variant, but for its name.  Source: HoodieSchema.createVariant, Hudi 1.2.0."""


_Rows = TypeVar("_Rows", pa.Table, pa.RecordBatch)


def blob_field(name: str, *, nullable: bool = True) -> pa.Field:
    """Return the field of a column of blobs, for the schema of a table.

    A row has ``{"type": "INLINE", "data": b"..."}``, or ``{"type": "OUT_OF_LINE", "reference": {...}}`` with the path
    of a file, an offset and a length in bytes (either may be null), and whether Hudi manages the file.

    Source: HoodieSchema.Blob, Hudi 1.2.0; spec/custom-types.md.
    """
    return pa.field(name, BLOB_TYPE, nullable=nullable, metadata={TYPE_KEY: BLOB.encode()})


def variant_field(name: str, *, nullable: bool = True) -> pa.Field:
    """Return the field of a column of variants, whose metadata and value are in Parquet's binary form.

    Source: HoodieSchema.Variant, Hudi 1.2.0; spec/custom-types.md.
    """
    return pa.field(name, VARIANT_TYPE, nullable=nullable, metadata={TYPE_KEY: VARIANT.encode()})


def vector_type(dimension: int, element: str = "FLOAT") -> pa.FixedSizeListType:
    """Return the Arrow type of a vector of *dimension* elements of the type that Hudi calls *element*."""
    return pa.list_(ELEMENTS[element], dimension)


def is_vector(kind: pa.DataType) -> TypeGuard[pa.FixedSizeListType]:
    """Return whether a column of the type *kind* can be a vector."""
    return bool(pat.is_fixed_size_list(kind) and kind.list_size and kind.value_type in _ELEMENT_NAMES)


def element_name(kind: pa.FixedSizeListType) -> str:
    """Return Hudi's name of the element type of a vector."""
    return _ELEMENT_NAMES[kind.value_type]


def parse_vector(descriptor: str) -> pa.FixedSizeListType | None:
    """Return the type that ``VECTOR(3)`` or ``VECTOR(3, DOUBLE)`` stands for; None if it is no vector's name."""
    found = _VECTOR.fullmatch(descriptor.strip())
    element = (found[2] or "FLOAT").upper() if found else ""
    if found is None or element not in ELEMENTS or not int(found[1]):
        return None
    return vector_type(int(found[1]), element)


def format_vector(kind: pa.FixedSizeListType) -> str:
    """Return Hudi's name of a vector, such as ``VECTOR(3)`` or ``VECTOR(3, DOUBLE)``."""
    element = element_name(kind)
    return f"VECTOR({kind.list_size})" if element == "FLOAT" else f"VECTOR({kind.list_size}, {element})"


def format_vector_columns(schema: pa.Schema) -> str:
    """Return the text of a base file's footer that names its vectors, such as ``v:VECTOR(3),w:VECTOR(2, DOUBLE)``.

    Source: HoodieSchema.buildVectorColumnsMetadataValue.
    """
    return ",".join(f"{field.name}:{format_vector(field.type)}" for field in schema if is_vector(field.type))


def named_type(field: pa.Field) -> str:
    """Return the type that a field's metadata names, such as ``BLOB``; empty without one."""
    metadata = field.metadata or {}
    return str(metadata.get(TYPE_KEY, b"").decode(errors="replace")).strip().upper()


def stored_size(kind: pa.FixedSizeListType) -> int:
    """Return the bytes of a vector."""
    return int(kind.list_size * kind.value_type.bit_width // 8)


def vector_definition(kind: pa.FixedSizeListType) -> dict[str, Any]:
    """Return the Avro type of a vector, named as Hudi names it.

    Source: HoodieSchema.createVector, Hudi 1.2.0.
    """
    element = element_name(kind)
    return {
        "type": "fixed",
        "name": f"vector_{element.lower()}_{kind.list_size}",
        "namespace": "",
        "size": stored_size(kind),
        "logicalType": "vector",
        "dimension": kind.list_size,
        "elementType": element,
        "storageBacking": "FIXED_BYTES",
    }


def store_vectors(rows: _Rows) -> _Rows:
    """Return *rows* with vectors as the bytes that files store; no value is copied."""
    for number, field in enumerate(rows.schema):
        if is_vector(field.type):
            column = rows.column(number)
            kind = pa.binary(stored_size(field.type))
            stored = (
                pa.chunked_array([vector_bytes(chunk, field.name) for chunk in column.chunks], kind)
                if isinstance(column, pa.ChunkedArray)
                else vector_bytes(column, field.name)
            )
            rows = rows.set_column(number, field.with_type(kind), stored)
    return rows


def stored_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema of what :func:`store_vectors` returns for rows of *schema*."""
    return pa.schema(
        [one.with_type(pa.binary(stored_size(one.type))) if is_vector(one.type) else one for one in schema],
        metadata=schema.metadata,
    )


def vector_bytes(array: pa.Array, path: str = "") -> pa.Array:
    """Return the bytes of an array of vectors, without a copy; *path* is the column, for messages.

    The last two of three vectors of three floats, in a list with the offset 1:

        list     offset 1, values [. . . | 1 2 3 | 4 5 6]     first = (0 + 1 * 3) * 4 bytes
        bytes    24 of the same bytes, from the byte 12 on

    Raises:
        DataError: an element is null.
    """
    lists = cast("pa.FixedSizeListArray", array)
    kind, values = cast("pa.FixedSizeListType", array.type), lists.values  # all values, whatever the offset of the list
    width, size = values.type.bit_width // 8, kind.list_size
    used = values.slice(array.offset * size, len(array) * size)
    valid = validity(array)
    there = validity(used)
    if there is not None:
        null = ~there.reshape(-1, size).all(axis=1) & (True if valid is None else valid)
        if null.any():
            raise DataError(
                f"column {path or 'of vectors'}, row {int(null.argmax())} of its batch: expected a vector of {size} "
                "numbers, found a null among them; make the whole vector null, or fill the number",
                column=path or None,
            )
    data = values.buffers()[1]
    first = (values.offset + array.offset * size) * width
    found = pa.py_buffer(b"") if data is None else data.slice(first, len(array) * size * width)
    return pa.Array.from_buffers(pa.binary(size * width), len(array), [bitmap(valid), found])


def vectors_of(array: pa.Array, kind: pa.FixedSizeListType) -> pa.Array:
    """Return an array of bytes as vectors of the type *kind*, without a copy."""
    valid, data = array.buffers()
    count = (array.offset + len(array)) * kind.list_size
    values = pa.Array.from_buffers(kind.value_type, count, [None, data if data is not None else pa.py_buffer(b"")])
    return pa.Array.from_buffers(kind, len(array), [valid], offset=array.offset, children=[values])


def restore_vectors(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return *batch*, which was read from a file, with the vectors that *schema* has instead of their bytes."""
    for name, kind in zip(schema.names, schema.types, strict=True):
        number = batch.schema.get_field_index(name) if is_vector(kind) else -1
        if is_vector(kind) and number >= 0 and batch.schema.field(number).type == pa.binary(stored_size(kind)):
            batch = batch.set_column(number, schema.field(name), vectors_of(batch.column(number), kind))
    return batch


def as_columns_of(given: pa.Schema, table: pa.Schema) -> pa.Schema:
    """Return the columns *given* of rows with the types of *table* where a type of this module holds their values.

    Rows need not say again what the table's columns are: a list can be a vector, a struct a blob.  A list of fixed
    size can also be a list of the table.
    """
    known = {field.name: field for field in table}
    return pa.schema([_as_column_of(one, known.get(one.name)) for one in given])


def _as_column_of(given: pa.Field, own: pa.Field | None) -> pa.Field:
    if own is None:
        return given
    if is_vector(own.type) and is_number_list(given.type):
        return own.with_nullable(given.nullable)
    if named_type(own) in (BLOB, VARIANT) and pat.is_struct(given.type):
        return own.with_nullable(given.nullable)
    if pat.is_fixed_size_list(given.type) and pat.is_list(own.type):
        return pa.field(given.name, pa.list_(given.type.value_field), nullable=given.nullable)
    return given


def is_number_list(kind: pa.DataType) -> bool:
    """Return whether a column of the type *kind* has lists, of any size, of values that are not nested."""
    is_list = pat.is_list(kind) or pat.is_large_list(kind) or pat.is_fixed_size_list(kind)
    return is_list and not pat.is_nested(cast("pa.ListType", kind).value_type)


def custom_type_in(field: pa.Field) -> str:
    """Return the type of this module that a column is, or has in it, such as ``vector``; empty if it has none."""
    if is_vector(field.type) or named_type(field):
        return named_type(field).lower() or "vector"
    parts = range(field.type.num_fields) if pat.is_nested(field.type) else ()
    return next((found for number in parts if (found := custom_type_in(field.type.field(number)))), "")


def check_blobs(rows: pa.RecordBatch) -> None:
    """Refuse blobs that are neither inline with bytes nor out of line with a reference.

    Raises:
        DataError: a blob among the columns of *rows* is so, at any depth.
    """
    for number, field in enumerate(rows.schema):
        _check_blobs(rows.column(number), field, field.name)


def _check_blobs(array: pa.Array, field: pa.Field, path: str) -> None:
    if not has_blobs(field):
        return
    if named_type(field) == BLOB:
        _check_blob_values(array, path)
    elif isinstance(array, pa.StructArray):
        for values, number in zip(
            array.flatten(), range(field.type.num_fields), strict=True
        ):  # null below null structs
            inner = field.type.field(number)
            _check_blobs(values, inner, f"{path}.{inner.name}")
    elif isinstance(array, pa.MapArray):
        _check_blobs(array.items, cast("pa.MapType", field.type).item_field, f"{path}.value")
    elif isinstance(array, pa.ListArray):
        _check_blobs(array.flatten(), cast("pa.ListType", field.type).value_field, f"{path}.item")


def has_blobs(field: pa.Field) -> bool:
    """Return whether a column is a blob, or has blobs in it."""
    kind = field.type
    if named_type(field) == BLOB:
        return True
    return pat.is_nested(kind) and any(has_blobs(kind.field(number)) for number in range(kind.num_fields))


def _check_blob_values(blobs: pa.Array, path: str) -> None:
    there = blobs.is_valid()
    kinds, data, reference = cast("pa.StructArray", blobs).flatten()
    inline, apart = pc.equal(kinds, INLINE), pc.equal(kinds, OUT_OF_LINE)
    sound = pc.or_(
        pc.and_(inline, pc.and_(data.is_valid(), reference.is_null())),
        pc.and_(apart, pc.and_(data.is_null(), reference.is_valid())),
    )
    wrong = pc.and_(there, pc.invert(pc.fill_null(sound, False)))
    if pc.any(wrong).as_py():
        row = pc.index(wrong, True).as_py()
        raise DataError(
            f"column {path}, value {row} of its batch: expected a blob that is {INLINE} and has data, or {OUT_OF_LINE} "
            f"and has a reference, found {kinds[row]} with{'' if data[row].is_valid else 'out'} data and "
            f"with{'' if reference[row].is_valid else 'out'} a reference",
            column=path,
        )
