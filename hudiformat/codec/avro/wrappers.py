"""Convert the ordering values of deletes to a union of wrapper records, and back.

There is one wrapper, with one field, for each type that Hudi supports.  Layout: spec/avro-records.md.

Source: HoodieDeleteRecord.avsc, OrderingValues and ArrayComparable.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from hudiformat.codec.avro.nodes import Node, Record, Union, parse_schema
from hudiformat.errors import CorruptBlockError, DataError, SchemaError

# In the order of the union, whose branch 0 is null (HoodieDeleteRecord.avsc, Hudi 0.14 to 1.2).
_VALUES: dict[str, Any] = {
    "BooleanWrapper": "boolean",
    "IntWrapper": "int",
    "LongWrapper": "long",
    "FloatWrapper": "float",
    "DoubleWrapper": "double",
    "BytesWrapper": "bytes",
    "StringWrapper": "string",
    "DateWrapper": {"type": "int", "logicalType": "date"},  # Hudi's own schema has a plain int
    "DecimalWrapper": {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 15},
    "TimeMicrosWrapper": {"type": "long", "logicalType": "time-micros"},
    "TimestampMicrosWrapper": {"type": "long", "logicalType": "timestamp-micros"},  # and a plain long here
}
_LOCAL_DATE = {"type": "int", "logicalType": "date"}
_NAMES = list(_VALUES)
_INT, _LONG, _DATE, _ARRAY = _NAMES.index("IntWrapper"), _NAMES.index("LongWrapper"), _NAMES.index("DateWrapper"), 11
_LOCAL = 11  # the branch of the array wrapper, in the union inside an array
_ORDERING_TYPES = (
    "a sort of integer or boolean, float, string, binary, date, timestamp or decimal, or a struct of these"
)


def _wrapper(name: str, kind: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": "value", "type": kind}]}


def _schema(ordering: list[dict[str, Any]]) -> str:
    fields = [
        {"name": "recordKey", "type": ["null", "string"]},
        {"name": "partitionPath", "type": ["null", "string"]},
        *ordering,
    ]
    return json.dumps({"type": "record", "name": "HoodieDeleteRecord", "fields": fields})


def _union_schema() -> str:
    array = {"type": "array", "items": ["null", *_NAMES, _wrapper("LocalDateWrapper", _LOCAL_DATE)]}
    wrapped = {"type": "record", "name": "ArrayWrapper", "fields": [{"name": "wrappedValues", "type": ["null", array]}]}
    union = ["null", *(_wrapper(name, kind) for name, kind in _VALUES.items()), wrapped]
    return _schema([{"name": "orderingVal", "type": union}])


@lru_cache
def _same_type_schema(index: int) -> str:
    return _schema([{"name": "branch", "type": "int"}, {"name": "value", "type": _VALUES[_NAMES[index]]}])


_RECORD_SCHEMA = _union_schema()
RECORD = parse_schema(_RECORD_SCHEMA)
"""A delete."""

_UNION = cast("Union", RECORD.fields[2][1])
WRAPPED_VALUES: dict[int | None, Node] = {
    index: branch.fields[0][1]
    for index, branch in enumerate(_UNION.branches[: _ARRAY + 1])
    if isinstance(branch, Record)
}
"""The nodes of the values in the wrappers of single values, by branch."""

SINGLE_ORDERING_RECORD = replace(
    RECORD, fields=(*RECORD.fields[:2], ("orderingVal", replace(_UNION, branches=_UNION.branches[:-1])))
)
"""A delete without a list of ordering values."""
_MEMBERS = cast("pa.StructType", _UNION.arrow)
_ITEMS = cast("pa.ListType", _MEMBERS.field(_ARRAY).type.field(0).type)
_ITEM = cast("pa.StructType", _ITEMS.value_type)


def ordering_columns(ordering: pa.Array) -> tuple[str, list[pa.Array]]:
    """Return the schema of the deletes, and its columns behind the partition path; nulls become int 0.

    Raises:
        SchemaError: Hudi has no wrapper for the type.
        DataError: a decimal with more digits than fit.
    """
    if pat.is_union(ordering.type) or pat.is_struct(ordering.type) or 0 < ordering.null_count < len(ordering):
        return _RECORD_SCHEMA, [_wrap(ordering, _MEMBERS)]
    # Values of one type need no union: a record of the branch and the wrapped value has the same bytes.
    index, values = _member(ordering, _MEMBERS)
    if values.null_count:
        index, values = _INT, pa.array(np.zeros(len(values), np.int32))
    return _same_type_schema(index), [pa.array(np.full(len(values), index + 1, np.int32)), values]


def ordering_values(union: pa.StructArray) -> pa.Array:
    """Return the values of a union of wrappers as one array; an int 0 among values of other types becomes null."""
    return _unwrap(union, several=True)


def _wrap(values: pa.Array, union: pa.StructType) -> pa.StructArray:
    """Return the values as the union of wrappers; nulls become int 0, as in OrderingValues.getDefault."""
    rows = len(values)
    members: list[pa.Array] = [pa.nulls(rows, field.type) for field in union]
    for part in _split_union(values):
        index, inner = _member(part, union)
        members[index] = _as_struct(inner, union.field(index).type)
    null = pc.and_(*[member.is_null() for member in members[:2]])
    for member in members[2:]:
        null = pc.and_(null, member.is_null())
    if pc.any(null).as_py():
        ints = cast("pa.StructArray", members[_INT]).field(0)
        members[_INT] = _as_struct(pc.if_else(null, pa.scalar(0, pa.int32()), ints), union.field(_INT).type)
    return pa.StructArray.from_arrays(members, fields=list(union))


def _as_struct(values: pa.Array, kind: pa.DataType) -> pa.StructArray:
    """Return the values as structs of type *kind*, which has one field; a null is a null struct."""
    return pa.StructArray.from_arrays([values], fields=[kind.field(0)], mask=values.is_null())


def _split_union(values: pa.Array) -> list[pa.Array]:
    """Return the values of a union by type, each in its row and null in the other rows."""
    if not isinstance(values, pa.UnionArray):
        return [values]
    codes = values.type_codes
    indices = values.offsets if values.type.mode == "dense" else pa.array(np.arange(len(values), dtype=np.int32))
    parts = []
    for code, child in zip(values.type.type_codes, range(values.type.num_fields), strict=True):
        chosen = pc.if_else(pc.equal(codes, code), indices, pa.scalar(None, indices.type))
        parts.append(values.field(child).take(chosen))
    return parts


_TESTS: tuple[tuple[Callable[[pa.DataType], bool], str], ...] = (
    (pat.is_boolean, "BooleanWrapper"),
    (lambda kind: pat.is_integer(kind) and not _is_wide(kind), "IntWrapper"),
    (lambda kind: pat.is_int64(kind) or pat.is_uint32(kind), "LongWrapper"),
    (pat.is_float32, "FloatWrapper"),
    (pat.is_float64, "DoubleWrapper"),
    (lambda kind: pat.is_string(kind) or pat.is_large_string(kind) or pat.is_string_view(kind), "StringWrapper"),
    (lambda kind: pat.is_binary(kind) or pat.is_large_binary(kind) or pat.is_binary_view(kind), "BytesWrapper"),
    (pat.is_date, "DateWrapper"),
    (pat.is_decimal, "DecimalWrapper"),
    (lambda kind: pat.is_time(kind) and kind.unit != "ns", "TimeMicrosWrapper"),
    (lambda kind: pat.is_timestamp(kind) and kind.unit != "ns", "TimestampMicrosWrapper"),
)


def _is_wide(kind: pa.DataType) -> bool:
    return bool(pat.is_int64(kind) or pat.is_uint32(kind) or pat.is_uint64(kind))


def _member(values: pa.Array, union: pa.StructType) -> tuple[int, pa.Array]:
    """Return the branch of the wrapper for values of this type, and the values in the type of its field.

    Raises:
        SchemaError: Hudi has no wrapper for the type.
        DataError: a value does not fit.
    """
    kind = values.type
    if isinstance(values, pa.DictionaryArray):
        return _member(values.dictionary_decode(), union)
    if pat.is_null(kind):
        return _INT, values.cast(pa.int32())
    if isinstance(values, pa.StructArray) and kind.num_fields and union is _MEMBERS:
        return _ARRAY, _wrap_array(values)
    name = next((name for test, name in _TESTS if test(kind)), None)
    if name is None:
        raise SchemaError(f"an ordering value of type {kind}: Hudi expects {_ORDERING_TYPES}", column="ordering")
    index = _NAMES.index(name)
    target = union.field(index).type.field(0).type
    try:
        return index, values.cast(target)
    except pa.ArrowInvalid as error:
        raise DataError(f"ordering values of type {kind} do not fit {target}: {error}", column="ordering") from error


def _wrap_array(values: pa.StructArray) -> pa.ListArray:
    """Return the values of several ordering fields: in each row a list of one wrapped value per field.

    Two fields of two rows, (1, 2) and (3, 4): the fields [1, 3] and [2, 4] are put behind each other to [1, 3, 2, 4],
    and by_row = [0, 2, 1, 3] takes [1, 2, 3, 4] from that, in lists of two.
    """
    width, rows = values.type.num_fields, len(values)
    wrapped = [_wrap(values.field(index), _ITEM) for index in range(width)]
    by_row = np.arange(width * rows).reshape(width, rows).T.ravel()
    items = pa.concat_arrays(wrapped).take(pa.array(by_row))
    offsets = pa.array(np.arange(0, width * rows + 1, width, dtype=np.int32))
    mask = values.is_null()
    return pa.ListArray.from_arrays(offsets, items, type=_ITEMS, mask=mask)


def _unwrap(union: pa.StructArray, *, several: bool) -> pa.Array:
    """Return the values of a union of wrappers as one array.

    With *several*, lists of several ordering values are allowed.
    """
    rows = len(union)
    members = {
        index: cast("pa.StructArray", union.field(index)).field(0)
        for index in range(union.type.num_fields)
        if union.field(index).null_count < rows
    }
    if _ARRAY in members and several:
        members[_ARRAY] = _unwrap_array(cast("pa.StructArray", union.field(_ARRAY)))
    elif {_DATE, _LOCAL} <= set(members):
        members[_DATE] = pc.coalesce(members[_DATE], members.pop(_LOCAL))
    if _INT in members and len(members) > 1:
        _merge_ints(members)
    if not members:
        return pa.nulls(rows, pa.int32())
    return next(iter(members.values())) if len(members) == 1 else _dense_union(members)


def _merge_ints(members: dict[int, pa.Array]) -> None:
    """Make the int 0 null, and the other ints longs if there are longs."""
    ints = members[_INT] = pc.if_else(pc.equal(members[_INT], 0), pa.scalar(None, pa.int32()), members[_INT])
    if ints.null_count == len(ints):
        del members[_INT]
    elif _LONG in members:
        members[_LONG] = pc.coalesce(members[_LONG], ints.cast(pa.int64()))
        del members[_INT]


def _unwrap_array(wrappers: pa.StructArray) -> pa.StructArray:
    lists = cast("pa.ListArray", wrappers.field(0))
    lengths = lists.value_lengths().drop_null().unique()
    if lists.null_count != wrappers.null_count or len(lengths) != 1 or not lengths[0].as_py():
        raise CorruptBlockError("the deletes have different numbers of ordering fields; expected the same in all")
    width = lengths[0].as_py()
    first = pc.if_else(lists.is_valid(), lists.offsets[:-1], pa.scalar(None, pa.int32()))
    values = cast("pa.StructArray", lists.values)
    fields = [_unwrap(values.take(pc.add(first, index)), several=False) for index in range(width)]
    names = [f"field{index}" for index in range(width)]
    return pa.StructArray.from_arrays(fields, names=names, mask=lists.is_null())


def _dense_union(members: dict[int, pa.Array]) -> pa.UnionArray:
    """Return the members as a dense union, in which a row without a value is a null of the first member.

    The members [1, null, null] and [null, "x", null] give the codes [0, 1, 0], the offsets [0, 0, 1] and the children
    [1, null] and ["x"].
    """
    arrays = list(members.values())
    codes = np.zeros(len(arrays[0]), np.int8)
    for code, array in enumerate(arrays[1:], start=1):
        codes[array.is_valid().to_numpy(zero_copy_only=False)] = code
    offsets = np.zeros(len(codes), np.int32)
    children = []
    for code, array in enumerate(arrays):
        chosen = np.flatnonzero(codes == code)
        offsets[chosen] = np.arange(len(chosen), dtype=np.int32)
        children.append(array.take(pa.array(chosen)))
    return pa.UnionArray.from_dense(pa.array(codes), pa.array(offsets), children)
