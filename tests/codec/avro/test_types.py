"""Schemas as trees of columns: what is read is written again, and columns are numbered as Hudi numbers them."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given

from hudiformat import SchemaError
from hudiformat.codec.avro.schema import arrow_to_avro, avro_to_arrow
from hudiformat.codec.avro.types import (
    Column,
    Leaf,
    RecordType,
    decimal_of,
    format_avro_types,
    parse_avro_types,
    parse_leaf,
    walk_columns,
)
from hudiformat.testing.avro_schemas import avro_schemas
from tests.schema_changes import first_rows


def record(*fields: dict[str, Any]) -> str:
    return json.dumps({"type": "record", "name": "t_record", "namespace": "hoodie.t", "fields": list(fields)})


def test_a_schema_is_written_as_it_was_read() -> None:
    text = arrow_to_avro(first_rows().schema, name="t_record", namespace="hoodie.t")
    assert format_avro_types(parse_avro_types(text)) == text


def test_columns_are_numbered_level_by_level_in_each_of_them() -> None:
    tree = parse_avro_types(
        arrow_to_avro(first_rows().schema.append(pa.field("z", pa.int32())), name="t", namespace="n")
    )
    ids = {path: column.id for path, column in walk_columns(tree)}
    assert [ids[name] for name in ("id", "u", "z")] == [0, 19, 20]
    assert [ids[f"n.{name}"] for name in ("a", "b", "o", "o.x")] == [21, 22, 23, 24]
    assert [ids[f"r.{name}"] for name in ("element", "element.x", "element.y")] == [25, 26, 27]
    assert [ids[name] for name in ("m.value", "m.value.x", "w.value", "u.v")] == [30, 31, 33, 34]


@given(avro_schemas())
def test_every_schema_means_the_same_when_it_is_written_again(text: str) -> None:
    again = format_avro_types(parse_avro_types(text))
    assert avro_to_arrow(again) == avro_to_arrow(text)
    assert parse_avro_types(again) == parse_avro_types(text)


def test_named_types_may_be_used_again() -> None:
    fixed = {"type": "fixed", "name": "f", "size": 4}
    inner = {"type": "record", "name": "r", "fields": [{"name": "x", "type": "int"}]}
    text = record(
        {"name": "a", "type": fixed},
        {"name": "b", "type": ["null", "f"]},
        {"name": "c", "type": inner},
        {"name": "d", "type": {"type": "array", "items": "hoodie.t.r"}},
        {"name": "e", "type": {"type": "enum", "name": "e", "symbols": ["A"]}},
        {"name": "g", "type": ["null", "int", "string"]},
        {"name": "h", "type": {"type": "string"}, "default": "x", "doc": "a text"},
    )
    again = format_avro_types(parse_avro_types(text))
    assert avro_to_arrow(again) == avro_to_arrow(text)
    assert json.loads(again)["fields"][-1] == {"name": "h", "type": {"type": "string"}, "doc": "a text", "default": "x"}


@pytest.mark.parametrize(
    "word",
    ["int", "timestamp", "time-millis", "uuid", "fixed[4]", "decimal_fixed(10, 2)[5]", "decimal_bytes(10, 2)"],
)
def test_a_word_of_hudis_is_a_type(word: str) -> None:
    tree = RecordType((Column("a", parse_leaf(word)),), "n.t")
    assert parse_avro_types(format_avro_types(tree)) == tree


@pytest.mark.parametrize("word", ["", "integer", "fixed", "fixed[]", "decimal(10)", "decimal_fixed(10, 2)", "map"])
def test_a_word_that_is_none(word: str) -> None:
    with pytest.raises(SchemaError, match="is not known"):
        parse_leaf(word)


def test_the_parts_of_a_decimal() -> None:
    assert decimal_of(parse_leaf("decimal_fixed(10, 2)[5]")) == (10, 2, 5)
    assert decimal_of(parse_leaf("decimal_bytes(10, 2)")) == (10, 2, 0)
    assert decimal_of(Leaf("int", "int")) is None
    assert str(parse_leaf("int")) == "int"
