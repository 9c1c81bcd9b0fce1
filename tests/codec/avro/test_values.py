"""Schemas that come with their values: which ones are read, and that none costs more than its bytes."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat.codec.avro.values import MAX_SCHEMA_SIZE, decode_value, parse_value_schema
from hudiformat.errors import CorruptBlockError, DecodeError, SchemaError
from tests.effort import examples


def record(*types: Any, name: str = "R") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": f"f{i}", "type": kind} for i, kind in enumerate(types)]}


def nested(depth: int) -> Any:
    kind: Any = "int"
    for _ in range(depth):
        kind = {"type": "array", "items": kind}
    return kind


def doubled(levels: int) -> dict[str, Any]:
    """A schema of few bytes whose records have 2 ** levels fields."""
    kind: Any = record("int", name="R0")
    for level in range(1, levels + 1):
        kind = record("int", kind, f"R{level - 1}", name=f"R{level}")
    return dict(kind)


@pytest.mark.parametrize(
    ("schema", "data", "value"),
    [
        (record("int", "string"), b"\x02\x02a", {"f0": 1, "f1": "a"}),
        (record(["null", "long"], ["long", "null"]), b"\x00\x02", {"f0": None, "f1": None}),
        (record({"type": "map", "values": "int"}), b"\x02\x02k\x04\x00", {"f0": {"k": 2}}),
        (record({"type": "array", "items": record("int", name="S")}), b"\x02\x02\x00", {"f0": [{"f0": 1}]}),
        (record(record("int", name="S"), "S", "int"), b"\x02\x04\x06", {"f0": {"f0": 1}, "f1": {"f0": 2}, "f2": 3}),
        (record({"type": "fixed", "name": "F", "size": 2}, "F"), b"abcd", {"f0": b"ab", "f1": b"cd"}),
        (record({"type": "enum", "name": "E", "symbols": ["A", "B"]}), b"\x02", {"f0": "B"}),
        (record({"type": {"type": "string", "avro.java.string": "String"}}), b"\x02a", {"f0": "a"}),
        (record({"type": "int", "logicalType": "unheard of"}), b"\x02", {"f0": 1}),
        (record({"type": "bytes", "logicalType": "decimal", "precision": 10**9}), b"\x02a", {"f0": b"a"}),
    ],
)
def test_values_are_decoded(schema: Any, data: bytes, value: Any) -> None:
    assert decode_value(data, parse_value_schema(json.dumps(schema))) == value


def test_names_are_looked_up_in_their_namespace_and_records_may_be_named() -> None:
    inner = {**record("int", name="S"), "namespace": "b"}
    schema = {**record(["null", inner, record("long", name="T")], ["null", "b.S"], name="R"), "namespace": "a"}
    value = decode_value(b"\x02\x02\x02\x04", parse_value_schema(json.dumps(schema)), names=True)
    assert value == {"f0": ("b.S", {"f0": 1}), "f1": ("b.S", {"f0": 2})}


SELF = record("int", {"type": "array", "items": "R"})


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('"\\ud800"', "no type that is known"),
        (" " * (MAX_SCHEMA_SIZE + 1), "at most"),
        (json.dumps(SELF), "contains itself"),
        (json.dumps(record(["null", "R"])), "contains itself"),
        (json.dumps({"type": "array", "items": "null"}), "null is one in unions only"),
        (json.dumps(record({"type": "array", "items": {"type": "null"}})), "is no type"),
        (json.dumps(record()), "has no field but records"),
        (json.dumps(record(record("int", name="S"))), "has no field but records"),
        (json.dumps(record({"type": "fixed", "name": "F", "size": 0})), "a fixed of 0 bytes"),
        (json.dumps(record({"type": "fixed", "name": "F", "size": 2**40})), "a fixed of"),
        (json.dumps(record({"type": "fixed", "name": "F"})), "a fixed of None bytes"),
        (json.dumps(record({"type": "enum", "name": "E"})), "expected an Avro schema"),
        (json.dumps(record([])), "a union of nothing"),
        (json.dumps(record([["null"], "int"])), "a union in a union"),
        (json.dumps(nested(41)), "levels deep"),
        (json.dumps(doubled(30)), "types"),
        (json.dumps(record(*["int"] * 20_001)), "types"),
        (json.dumps({"type": "record", "name": "R"}), "without fields"),
        (json.dumps({"type": "record", "name": "R", "fields": [1]}), "no field of a record"),
        (json.dumps({"type": "record", "fields": []}), "needs a name"),
        (json.dumps(record("int", record("int"))), "defined twice"),
        ("7", "is no type"),
        ('{"type": {"type": 7}}', "is no type"),
        ('{"type": "array"}', "is no type"),
    ],
)
def test_a_schema_beyond_the_limits_is_refused(schema: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message) as caught:
        parse_value_schema(schema)
    assert len(str(caught.value)) < 1000
    str(caught.value).encode()


@pytest.mark.parametrize(
    ("schema", "data"),
    [
        (record("string"), b"\x02\xff"),
        (record("string"), b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
        (record("bytes"), b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01a"),
        (record("int"), b""),
        (record(["null", "int"]), b"\x7f"),
        (record({"type": "enum", "name": "E", "symbols": ["A"]}), b"\x08"),
        (record({"type": "array", "items": "int"}), b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00"),
        (record({"type": "int", "logicalType": "date"}), b"\xfe\xff\xff\xff\x0f"),
    ],
)
def test_damaged_values_are_refused(schema: Any, data: bytes) -> None:
    with pytest.raises(CorruptBlockError, match="cannot be decoded"):
        decode_value(data, parse_value_schema(json.dumps(schema)))


JSON = st.recursive(
    st.sampled_from(["int", "string", "null", "R", "", 0, None, {"type": "fixed", "name": "F", "size": 1}]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.fixed_dictionaries({"type": st.sampled_from(["array", "map"]) | inner, "items": inner, "values": inner})
        | st.lists(inner, max_size=3).map(lambda kinds: record(*kinds))
        | st.lists(inner, max_size=3).map(lambda kinds: record(*kinds, name="S"))
    ),
    max_leaves=12,
)


@settings(max_examples=examples(400))
@given(JSON, st.binary(max_size=40))
def test_any_schema_and_bytes_give_a_value_or_an_error_of_ours(schema: Any, data: bytes) -> None:
    with contextlib.suppress(SchemaError, DecodeError):
        decode_value(data, parse_value_schema(json.dumps(schema)))
