"""Avro schemas parsed: the Arrow type of each, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from hudiformat.codec.avro.schema import avro_to_arrow
from hudiformat.errors import SchemaError


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
    fields = [{"name": "a", "type": inner}, {"name": "b", "type": "p"}]
    assert _of({"type": "record", "name": "q", "fields": fields}).type.num_fields == 2


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
        ("null", "null is supported only inside a union"),
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
