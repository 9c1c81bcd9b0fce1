"""Convert rows to a schema: the columns of a file, of a log block or of a user to those of a table.

Columns are ordered, missing ones are filled, and values of a column whose type has changed are cast as Hudi does
(:mod:`hudiformat.codec.casts`): so an ``int`` of an old file is widened to the ``long`` of the newer schema.  Fields of
nested records are matched by name too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.types as pat

from hudiformat.codec.avro.arrays import Mask, bitmap, offsets, validity
from hudiformat.codec.casts import can_cast, can_cast_back, cast, cast_back, is_mislabelled
from hudiformat.codec.custom_types import VARIANT, is_vector, named_type, stored_size, vector_bytes, vectors_of
from hudiformat.errors import DataError, SchemaError, UnsupportedFeatureError

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
            if field.metadata is not None:
                _refuse_shredded(rows.type.field(found[0]).type, field, inner)
            converted = _convert(rows.field(found[0]), field.type, inner, relabel=relabel)
            array = _refuse_nulls(converted, field, rows, inner)
        else:
            array = pa.nulls(len(rows), field.type)
        result.append(array)
    return result


def _refuse_shredded(given: pa.DataType, field: pa.Field, path: str) -> None:
    """Refuse a variant whose values are, in part, in a column of their own type.

    Raises:
        UnsupportedFeatureError: it is one.
    """
    if named_type(field) == VARIANT and pat.is_struct(given) and given.get_field_index("typed_value") >= 0:
        raise UnsupportedFeatureError(
            f"column {path}: expected a variant of metadata and value, found one with typed values (shredded), which "
            "cannot be read yet; write the file again with hoodie.parquet.variant.write.shredding.enabled=false",
            feature="shredded variants",
        )


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
    if isinstance(array, pa.FixedSizeListArray):
        return pa.Array.from_buffers(kind, len(array), [None], offset=array.offset, children=[array.values])
    return pa.Array.from_buffers(kind, len(array), [None, *array.buffers()[1:]], offset=array.offset)


def _has_required(kind: pa.DataType) -> bool:
    """Return whether structs in *kind* have fields that are not nullable, or it is a vector, whose items are not."""
    if not pat.is_nested(kind):
        return False
    if is_vector(kind):
        return True
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
    if not is_vector(kind):
        return _convert_values(array, kind, path, relabel=relabel)
    return _convert_vectors(array, kind, path, relabel=relabel)


def _convert_vectors(array: pa.Array, kind: pa.FixedSizeListType, path: str, *, relabel: bool) -> pa.Array:
    """Return lists of numbers, or the bytes of vectors in a file, as vectors of the type *kind*.

    Raises:
        SchemaError: the numbers have another type, or the vectors another size.
        DataError: a list has another number of items, or an item is null.
    """
    given, size = array.type, kind.list_size
    if pat.is_null(given):
        return pa.nulls(len(array), kind)
    if relabel and given == pa.binary(stored_size(kind)):
        return vectors_of(array, kind)
    if (
        not isinstance(array, _LISTS)
        or pat.is_map(given)
        or (pat.is_fixed_size_list(given) and given.list_size != size)
    ):
        raise SchemaError(
            f"column {path} is of type {given}, which does not fit {kind}: the table has vectors of {size} numbers",
            column=path,
        )
    lists = array if isinstance(array, pa.FixedSizeListArray) else _with_equal_sizes(array, size, path)
    items = _convert(_used(lists, lists.values), kind.value_type, path, relabel=relabel)
    vectors = pa.Array.from_buffers(kind, len(array), [bitmap(validity(array))], children=[items])
    vector_bytes(vectors, path)  # refuses nulls among the numbers
    return vectors


def _with_equal_sizes(array: pa.ListArray | pa.LargeListArray, size: int, path: str) -> pa.FixedSizeListArray:
    """Return lists as lists of *size* items; the items of a null list are nulls.

    Lists [1, 2], null and [3, 4], for a size of 2, take the items at [0, 1, null, null, 2, 3].

    Raises:
        DataError: a list has another number of items.
    """
    positions, valid = offsets(array), validity(array)
    counts = np.diff(positions)
    wrong = (counts != size) & (True if valid is None else valid)
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(
            f"column {path}, row {row} of its batch: expected a vector of {size} numbers, found {counts[row]}",
            column=path,
        )
    kind = pa.list_(array.values.type, size)
    if valid is None:
        items = _used(array, array.values)
    else:
        places = np.repeat(positions[:-1], size) + np.tile(np.arange(size), len(array))
        items = array.values.take(pa.array(places, mask=np.repeat(~valid, size)))
    result = pa.Array.from_buffers(kind, len(array), [bitmap(valid)], children=[items])
    assert isinstance(result, pa.FixedSizeListArray)  # noqa: S101 - of its type
    return result


def _convert_values(array: pa.Array, kind: pa.DataType, path: str, *, relabel: bool) -> pa.Array:
    given = array.type
    if pat.is_null(given):
        return pa.nulls(len(array), kind)
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
