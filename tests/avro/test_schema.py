"""Arrow schema <-> Avro schema: each type, each refusal, and the texts that Spark wrote."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from hudiformat.avro import arrow_to_avro, avro_to_arrow
from hudiformat.errors import SchemaError
from tests.avro.golden import AVRO, golden_blocks

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


def _of(avro: Any) -> pa.Field:
    return avro_to_arrow(json.dumps({"type": "record", "name": "r", "fields": [{"name": "c", "type": avro}]})).field(0)


@pytest.mark.parametrize(
    ("avro", "kind"),
    [
        ({"type": "string", "logicalType": "uuid"}, pa.string()),
        ({"type": "string", "avro.java.string": "String"}, pa.string()),
        ({"type": {"type": "long"}}, pa.int64()),
        ({"type": "int", "logicalType": "unheard-of"}, pa.int32()),
        ({"type": "enum", "name": "e", "symbols": ["A"]}, pa.string()),
        ({"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 15}, pa.decimal128(30, 15)),
        ({"type": "bytes", "logicalType": "decimal", "precision": 3}, pa.decimal128(3, 0)),
        ({"type": "fixed", "name": "f", "size": 12, "logicalType": "duration"}, pa.binary(12)),
        ({"type": "long", "logicalType": "timestamp-nanos"}, pa.timestamp("ns", "UTC")),
    ],
    ids=str,
)
def test_types_that_only_other_writers_use(avro: Any, kind: pa.DataType) -> None:
    assert _of(avro) == pa.field("c", kind, nullable=False)
    assert _of([avro, "null"]) == pa.field("c", kind)


def test_a_union_of_several_types_is_a_struct_of_members() -> None:
    members = pa.struct([pa.field("member0", pa.int32()), pa.field("member1", pa.string())])
    assert _of(["null", "int", "string"]) == pa.field("c", members)
    assert _of(["int", "string"]) == pa.field("c", members, nullable=False)


def test_a_named_type_may_be_mentioned_again() -> None:
    schema = avro_to_arrow(
        json.dumps(
            {
                "type": "record",
                "name": "r",
                "namespace": "n",
                "fields": [
                    {"name": "a", "type": {"type": "record", "name": "p", "fields": [{"name": "x", "type": "int"}]}},
                    {"name": "b", "type": ["null", "p"]},
                    {"name": "c", "type": "n.p"},
                    {"name": "d", "type": {"type": "fixed", "name": "other.f", "size": 2}},
                    {"name": "e", "type": "other.f"},
                ],
            }
        )
    )
    assert schema.field("a").type == schema.field("b").type == schema.field("c").type
    assert schema.field("e").type == pa.binary(2)


def test_a_named_type_of_any_shape_may_be_mentioned_again() -> None:
    shapes = [
        "int",
        {"type": "array", "items": "int"},
        {"type": "map", "values": "int"},
        ["null", "int", "string"],
        ["null", "int"],
    ]
    inner = {
        "type": "record",
        "name": "p",
        "fields": [{"name": f"x{at}", "type": shape} for at, shape in enumerate(shapes)],
    }
    assert (
        len(
            _of(
                {"type": "record", "name": "q", "fields": [{"name": "a", "type": inner}, {"name": "b", "type": "p"}]}
            ).type
        )
        == 2
    )


def test_one_text_is_parsed_once() -> None:
    text = '{"type":"record","name":"once","fields":[]}'
    assert avro_to_arrow(text) is avro_to_arrow(text)


_DEEP: Any = "int"
for _ in range(120):
    _DEEP = {"type": "array", "items": _DEEP}
_BROAD: dict[str, Any] = {"type": "record", "name": "r0", "fields": [{"name": "x", "type": "int"}]}
for _level in range(1, 30):
    _BROAD = {
        "type": "record",
        "name": f"r{_level}",
        "fields": [{"name": "a", "type": _BROAD}, {"name": "b", "type": f"r{_level - 1}"}],
    }


@pytest.mark.parametrize(
    ("avro", "message"),
    [
        ("null", "nulls alone"),
        ("nothing", "not known"),
        (["null"], "union"),
        ([], "union"),
        (["null", "null", "int"], "union"),
        (["int", ["null", "string"]], "union"),
        (17, "not an Avro type"),
        ({"type": None}, "not an Avro type"),
        ({"type": "record", "name": "s"}, "without fields"),
        ({"type": "record", "fields": []}, "without a name"),
        ({"type": "record", "name": "s", "fields": [1]}, "not a field"),
        ({"type": "record", "name": "s", "fields": [{"name": "x", "type": "int"}] * 2}, "twice"),
        ({"type": "record", "name": "s", "fields": [{"name": "x", "type": ["null", "s"]}]}, "contains itself"),
        ({"type": "fixed", "name": "f", "size": 0}, "size 0"),
        ({"type": "fixed", "name": "f", "size": 1 << 40}, "size"),
        ({"type": "fixed", "name": "f", "size": "4"}, "size '4'"),
        ({"type": "enum", "name": "e", "symbols": []}, "symbols"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 39}, "digits"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 3}, "scale 3"),
        ({"type": "fixed", "name": "f", "size": 4, "logicalType": "decimal"}, "precision None"),
        (_DEEP, "levels deep"),
        (_BROAD, "too large"),
    ],
    ids=lambda item: str(item)[:60],
)
def test_an_avro_schema_without_arrow_counterpart_is_refused(avro: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        _of(avro)


@pytest.mark.parametrize(
    "text", ["", "{", "[" * 100_000, '{"x":"\\ud800"}', '"int"', '{"type":"array","items":"int"}', '["null","int"]']
)
def test_a_text_that_is_no_record_schema_is_refused(text: str) -> None:
    with pytest.raises(SchemaError):
        avro_to_arrow(text)
