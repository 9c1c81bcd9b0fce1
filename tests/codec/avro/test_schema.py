"""Arrow schema <-> Avro schema: each type, each refusal, and the texts that Spark wrote."""

from __future__ import annotations

import datetime as dt
import decimal
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudiformat.codec.avro.schema import arrow_to_avro, avro_to_arrow
from hudiformat.codec.conversion import convert_to_schema
from hudiformat.errors import DataError, SchemaError
from tests.codec.avro.golden import AVRO, golden_blocks

# Arrow, Avro, and Arrow again where it differs
_TYPES: list[tuple[pa.DataType, Any, pa.DataType | None]] = [
    (pa.bool_(), "boolean", None),
    (pa.int8(), "int", pa.int32()),
    (pa.int16(), "int", pa.int32()),
    (pa.int32(), "int", None),
    (pa.int64(), "long", None),
    (pa.uint8(), "int", pa.int32()),
    (pa.uint16(), "int", pa.int32()),
    (pa.uint32(), "long", pa.int64()),
    (pa.float32(), "float", None),
    (pa.float64(), "double", None),
    (pa.string(), "string", None),
    (pa.large_string(), "string", pa.string()),
    (pa.string_view(), "string", pa.string()),
    (pa.binary(), "bytes", None),
    (pa.large_binary(), "bytes", pa.binary()),
    (pa.binary_view(), "bytes", pa.binary()),
    (pa.dictionary(pa.int8(), pa.string()), "string", pa.string()),
    (pa.date32(), {"type": "int", "logicalType": "date"}, None),
    (pa.date64(), {"type": "int", "logicalType": "date"}, pa.date32()),
    (pa.time32("ms"), {"type": "int", "logicalType": "time-millis"}, None),
    (pa.time64("us"), {"type": "long", "logicalType": "time-micros"}, None),
    (pa.timestamp("ms"), {"type": "long", "logicalType": "local-timestamp-millis"}, None),
    (pa.timestamp("us"), {"type": "long", "logicalType": "local-timestamp-micros"}, None),
    (pa.timestamp("ms", "UTC"), {"type": "long", "logicalType": "timestamp-millis"}, None),
    (pa.timestamp("us", "Asia/Tokyo"), {"type": "long", "logicalType": "timestamp-micros"}, pa.timestamp("us", "UTC")),
    (pa.binary(3), {"type": "fixed", "name": "fixed", "namespace": "n.r.c", "size": 3}, None),
    (pa.list_(pa.int64()), {"type": "array", "items": ["null", "long"]}, None),
    (pa.large_list(pa.int64()), {"type": "array", "items": ["null", "long"]}, pa.list_(pa.int64())),
    (pa.list_(pa.int64(), 2), {"type": "array", "items": ["null", "long"]}, pa.list_(pa.int64())),
    (pa.map_(pa.string(), pa.int64()), {"type": "map", "values": ["null", "long"]}, None),
]


@pytest.mark.parametrize(("kind", "avro", "back"), _TYPES, ids=str)
def test_each_type(kind: pa.DataType, avro: Any, back: pa.DataType | None) -> None:
    for nullable in (True, False):
        schema = arrow_to_avro(pa.schema([pa.field("c", kind, nullable=nullable)]), name="r", namespace="n")
        (field,) = json.loads(schema)["fields"]
        assert field == (
            {"name": "c", "type": ["null", avro], "default": None} if nullable else {"name": "c", "type": avro}
        )
        assert avro_to_arrow(schema).field("c") == pa.field("c", back or kind, nullable=nullable)


@pytest.mark.parametrize(("precision", "size"), [(1, 1), (2, 1), (3, 2), (9, 4), (10, 5), (18, 8), (19, 9), (38, 16)])
def test_decimals_are_fixed_of_the_least_size(precision: int, size: int) -> None:
    kind = pa.decimal128(precision, 1)
    schema = arrow_to_avro(pa.schema([pa.field("c", kind)]), name="r", namespace="n")
    assert json.loads(schema)["fields"][0]["type"][1]["size"] == size
    assert avro_to_arrow(schema).field("c").type == kind


def test_nested_names_lie_in_the_namespace_of_their_parents() -> None:
    point = pa.struct([pa.field("d", pa.decimal128(5, 2), nullable=False)])
    schema = pa.schema([pa.field("points", pa.list_(pa.field("element", point, nullable=False)), nullable=False)])
    assert arrow_to_avro(schema, name="t_record", namespace="hoodie.t") == (
        '{"type":"record","name":"t_record","namespace":"hoodie.t","fields":[{"name":"points","type":'
        '{"type":"array","items":{"type":"record","name":"points","namespace":"hoodie.t.t_record","fields":['
        '{"name":"d","type":{"type":"fixed","name":"fixed","namespace":"hoodie.t.t_record.points.d","size":3,'
        '"logicalType":"decimal","precision":5,"scale":2}}]}}}]}'
    )


def test_a_schema_without_namespace() -> None:
    schema = pa.schema([pa.field("c", pa.struct([pa.field("d", pa.int32())]))])
    assert '"name":"r","fields"' in arrow_to_avro(schema, name="r", namespace="")
    assert '"namespace":"r"' in arrow_to_avro(schema, name="r", namespace="")


@pytest.mark.parametrize(
    "table",
    ["v9-mor-avro-h120", "v9-mor-null-list-elements-h120", "v6-mor-avro-h120", "v6-mor-latest-payload-h0150"],
)
def test_the_text_of_sparks_schemas_comes_back(table: str) -> None:
    texts = {block.schema for block in golden_blocks(table) if block.type == AVRO}
    assert texts
    for text in texts:
        top = json.loads(text)
        assert arrow_to_avro(avro_to_arrow(text), name=top["name"], namespace=top["namespace"]) == text


@pytest.mark.parametrize(
    ("kind", "hint"),
    [
        (pa.uint64(), "int64"),
        (pa.float16(), "float32"),
        (pa.null(), "type"),
        (pa.timestamp("s"), "microseconds"),
        (pa.timestamp("ns"), "microseconds"),
        (pa.time32("s"), "milliseconds"),
        (pa.time64("ns"), "microseconds"),
        (pa.duration("us"), "no such type"),
        (pa.month_day_nano_interval(), "no such type"),
        (pa.decimal256(39, 0), "38 digits"),
        (pa.decimal128(5, -2), "38 digits"),
        (pa.dense_union([pa.field("a", pa.int32())]), "no such type"),
        (pa.map_(pa.int32(), pa.int32()), "string keys"),
        (pa.struct([]), "needs a field"),
        (pa.binary(1 << 20), "binary"),
    ],
    ids=str,
)
def test_a_type_that_cannot_be_stored_is_refused_with_a_hint(kind: pa.DataType, hint: str) -> None:
    schema = pa.schema([pa.field("outer", pa.struct([pa.field("inner", pa.list_(kind))]))])
    with pytest.raises(SchemaError, match=hint) as caught:
        arrow_to_avro(schema, name="r", namespace="n")
    assert caught.value.column == "outer.inner.item"
    assert "column outer.inner.item of type" in str(caught.value)


@pytest.mark.parametrize("name", ["", "1a", "a-b", "a b", "größe"])
def test_a_name_that_avro_does_not_allow_is_refused(name: str) -> None:
    with pytest.raises(SchemaError, match="rename") as caught:
        arrow_to_avro(pa.schema([pa.field(name, pa.int32())]), name="r", namespace="n")
    assert caught.value.column == name


def test_a_table_name_that_avro_does_not_allow_is_refused() -> None:
    with pytest.raises(SchemaError, match="my-table"):
        arrow_to_avro(pa.schema([]), name="r", namespace="hoodie.my-table")


def test_a_column_that_comes_twice_is_refused() -> None:
    with pytest.raises(SchemaError, match="twice"):
        arrow_to_avro(pa.schema([pa.field("c", pa.int32()), pa.field("c", pa.int64())]), name="r", namespace="n")


def test_one_text_is_parsed_once() -> None:
    text = '{"type":"record","name":"once","fields":[]}'
    assert avro_to_arrow(text) is avro_to_arrow(text)


def _one(array: pa.Array, kind: pa.DataType, *, nullable: bool = True) -> pa.Array:
    batch = pa.RecordBatch.from_arrays([array], names=["c"])
    result = convert_to_schema(batch, pa.schema([pa.field("c", kind, nullable=nullable)])).column(0)
    result.validate(full=True)
    assert result.type == kind
    return result


def test_columns_are_put_in_order_dropped_and_added() -> None:
    batch = pa.RecordBatch.from_pydict({"a": [1, 2], "b": ["x", "y"], "c": [True, False]})
    target = pa.schema([("c", pa.bool_()), ("new", pa.list_(pa.int32())), ("a", pa.int64())], {"k": "v"})
    result = convert_to_schema(batch, target)
    assert result.to_pydict() == {"c": [True, False], "new": [None, None], "a": [1, 2]}
    assert result.schema.equals(target, check_metadata=True)


def test_rows_stay_without_a_column() -> None:
    assert convert_to_schema(pa.RecordBatch.from_pydict({"a": [1, 2]}), pa.schema([])).num_rows == 2


@pytest.mark.parametrize(
    ("array", "kind"),
    [
        (pa.array([1, None], pa.int8()), pa.int32()),
        (pa.array([1, None], pa.uint8()), pa.int32()),
        (pa.array([1, None], pa.uint32()), pa.int64()),
        (pa.array([1, None], pa.int32()), pa.int64()),
        (pa.array([1, None], pa.int32()), pa.float64()),
        (pa.array([1, None], pa.int64()), pa.float64()),
        (pa.array([1.5, None], pa.float32()), pa.float64()),
        (pa.array([np.float16(1.5), None], pa.float16()), pa.float32()),
        (pa.array(["x", None]), pa.binary()),
        (pa.array([b"x", None]), pa.string()),
        (pa.array(["x", None], pa.large_string()), pa.string()),
        (pa.array([b"x", None], pa.binary(1)), pa.binary()),
        (pa.array(["x", None]).dictionary_encode(), pa.string()),
        (pa.array([decimal.Decimal("1.5"), None]), pa.decimal128(20, 4)),
        (pa.array([dt.date(2024, 5, 6), None], pa.date64()), pa.date32()),
        (pa.array([dt.time(1), None], pa.time32("s")), pa.time64("us")),
        (
            pa.array([dt.datetime(2024, 5, 6, tzinfo=dt.timezone.utc), None], pa.timestamp("s", "Asia/Tokyo")),
            pa.timestamp("us", "UTC"),
        ),
        (pa.array([None, None]), pa.string()),
        (pa.array([None, None]), pa.struct([("x", pa.int32())])),
        (pa.array([[1, 2], None], pa.list_(pa.int32())), pa.list_(pa.int64())),
        (pa.array([[1, 2], None], pa.large_list(pa.int32())), pa.list_(pa.int64())),
        (pa.array([[1, 2], None], pa.list_(pa.int64(), 2)), pa.list_(pa.int64())),
        (pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int32())), pa.map_(pa.string(), pa.int64())),
    ],
    ids=lambda item: str(getattr(item, "type", item)),
)
def test_promotions_keep_the_values(array: pa.Array, kind: pa.DataType) -> None:
    def plain(value: Any) -> Any:
        return value.encode() if isinstance(value, str) else value

    for rows in (array, array.slice(1), array.slice(0, 1), array.slice(0, 0)):
        result = _one(rows, kind)
        assert [plain(value) for value in result.to_pylist()] == [plain(value) for value in rows.to_pylist()] or (
            pa.types.is_fixed_size_list(array.type) and result.cast(array.type) == rows
        )


def test_extension_types_are_taken_by_their_storage() -> None:
    array = pa.array([b"0123456789abcdef"], pa.uuid())
    assert _one(array, pa.binary(16)).to_pylist() == [b"0123456789abcdef"]


def test_structs_are_fitted_by_name() -> None:
    array = pa.array(
        [{"x": 1, "gone": True, "y": "a"}, None],
        pa.struct([("x", pa.int32()), ("gone", pa.bool_()), ("y", pa.string())]),
    )
    kind = pa.struct(
        [pa.field("y", pa.string(), nullable=False), pa.field("new", pa.int32()), pa.field("x", pa.int64())]
    )
    assert _one(array, kind).to_pylist() == [{"y": "a", "new": None, "x": 1}, None]


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        (pa.int64(), pa.int32()),
        (pa.uint64(), pa.int64()),
        (pa.uint64(), pa.float64()),
        (pa.float64(), pa.float32()),
        (pa.string(), pa.int32()),
        (pa.bool_(), pa.string()),
        (pa.binary(4), pa.string()),
        (pa.decimal128(10, 2), pa.decimal128(10, 3)),
        (pa.decimal128(10, 2), pa.decimal128(9, 2)),
        (pa.timestamp("us"), pa.timestamp("us", "UTC")),
        (pa.timestamp("us", "UTC"), pa.timestamp("ms", "UTC")),
        (pa.timestamp("us"), pa.date32()),
        (pa.time64("us"), pa.time32("ms")),
        (pa.int32(), pa.list_(pa.int32())),
        (pa.struct([("x", pa.string())]), pa.struct([("x", pa.int32())])),
        (pa.bool_(), pa.int32()),
    ],
    ids=str,
)
def test_a_type_that_does_not_fit_is_refused(found: pa.DataType, kind: pa.DataType) -> None:
    with pytest.raises(SchemaError, match="does not fit"):
        _one(pa.nulls(1, found), kind)


def test_a_required_column_that_is_missing_is_refused() -> None:
    target = pa.schema([pa.field("a", pa.int64(), nullable=False)])
    with pytest.raises(SchemaError, match="required and missing") as caught:
        convert_to_schema(pa.RecordBatch.from_pydict({"b": [1]}), target)
    assert caught.value.column == "a"


def test_a_column_that_comes_twice_is_not_resolved() -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(SchemaError, match="2 times"):
        convert_to_schema(batch, pa.schema([("a", pa.int64())]))


def test_a_null_in_a_required_column_is_refused() -> None:
    with pytest.raises(DataError, match="not nullable"):
        _one(pa.array([1, None]), pa.int64(), nullable=False)
    kind = pa.struct([pa.field("x", pa.int64(), nullable=False)])
    with pytest.raises(DataError, match=r"column c\.x"):
        _one(pa.array([{"x": None}], pa.struct([("x", pa.int64())])), kind)


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(DataError, match="cannot be cast"):
        _one(pa.array([b"\xff"]), pa.string())


def test_a_null_below_a_null_does_not_count() -> None:
    child = pa.array([None, 1], pa.int32())
    found = pa.StructArray.from_arrays([child], names=["x"], mask=pa.array([True, False]))
    kind = pa.struct([pa.field("x", pa.int64(), nullable=False)])
    batch = pa.RecordBatch.from_arrays([found], names=["c"])
    assert convert_to_schema(batch, pa.schema([("c", kind)])).column(0).to_pylist() == [None, {"x": 1}]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pa.int64(), 1),
        (pa.string(), "a"),
        (pa.bool_(), True),
        (pa.decimal128(5, 2), decimal.Decimal("1.25")),
        (pa.list_(pa.field("element", pa.int32())), [1]),
        (pa.map_(pa.string(), pa.int32()), [("a", 1)]),
        (pa.struct([pa.field("z", pa.int32(), nullable=False)]), {"z": 1}),
    ],
)
def test_a_null_parent_leaves_no_null_in_a_field_that_has_none_in_valid_parents(
    kind: pa.DataType, value: object
) -> None:
    field = pa.field("y", kind, nullable=False)
    children, gone = [pa.array([value, value, None, value], kind)], pa.array([False, False, True, False])
    array = pa.StructArray.from_arrays(children, fields=[field], mask=gone)[1:]
    for given, target in ((array, array.type), (_listed(array), pa.list_(pa.field("element", array.type)))):
        found = _one(given, target)
        assert found.to_pylist() == given.to_pylist()
        pq.write_table(pa.table({"c": found}), pa.BufferOutputStream())  # which refuses a null in y
    with pytest.raises(DataError, match=r"column c\.y is not nullable and has a null"):
        _one(pa.StructArray.from_arrays(children, fields=[field]), array.type)


def _listed(array: pa.Array) -> pa.Array:
    kind = pa.list_(pa.field("element", array.type))
    return pa.ListArray.from_arrays(pa.array([0, len(array)], pa.int32()), array, type=kind)
