"""Random Avro schemas, with types that no Arrow type is converted to, and random values for them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from hudiformat.testing.values import NAMES, VALUES, decimals

_PRIMITIVES: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
}
_LOGICAL: dict[str, tuple[str, pa.DataType]] = {
    "date": ("int", pa.date32()),
    "time-millis": ("int", pa.time32("ms")),
    "time-micros": ("long", pa.time64("us")),
    "timestamp-millis": ("long", pa.timestamp("ms", tz="UTC")),
    "timestamp-micros": ("long", pa.timestamp("us", tz="UTC")),
    "local-timestamp-millis": ("long", pa.timestamp("ms")),
    "local-timestamp-micros": ("long", pa.timestamp("us")),
}
_MEMBERS = st.sampled_from(["boolean", "int", "long", "double", "bytes", "string"])
Definition = Any
"""A part of an Avro schema, as a JSON value."""


def avro_schemas(depth: int = 3) -> st.SearchStrategy[str]:
    """Generate Avro schemas of a record, as JSON, with every type that can be read, nested up to *depth*.

    They include types that no Arrow schema is converted to: null as second branch, unions of several types, enum,
    fixed, decimal over bytes, uuid, and references to named types.

    Source: spec/avro-records.md, "Types".
    """
    return _tops(depth).map(json.dumps)


@st.composite
def _tops(draw: st.DrawFn, depth: int) -> Definition:
    return _Drawing(draw).record(depth)


class _Drawing:
    """The drawing of one schema; named types are numbered, and may be referred to after they are defined."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw
        self._numbers = count()
        self._reusable: list[str] = []

    def record(self, depth: int) -> Definition:
        names = self._draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
        own = self._name()
        return {
            "type": "record",
            "name": own,
            "fields": [{"name": name, "type": self._optional(depth)} for name in names],
        }

    def _name(self) -> str:
        return f"named{next(self._numbers)}"

    def _optional(self, depth: int) -> Definition:
        """Return a type, or a union of it with null, which is the first or the last branch."""
        definition = self._type(depth)
        branches = definition if isinstance(definition, list) else [definition]
        return self._draw(st.sampled_from([definition, ["null", *branches], [*branches, "null"]]))

    def _type(self, depth: int) -> Definition:
        nested = [self._array, self._map, self.record, self._union]
        flat = [self._primitive, self._logical, self._fixed, self._enum, self._decimal]
        if self._reusable:
            flat.append(self._reference)
        return self._draw(st.sampled_from([*flat, *nested] if depth > 1 else flat))(depth - 1)

    def _primitive(self, _: int) -> Definition:
        return self._draw(st.sampled_from(list(_PRIMITIVES)))

    def _logical(self, _: int) -> Definition:
        logical = self._draw(st.sampled_from([*_LOGICAL, "uuid"]))
        return {"type": "string" if logical == "uuid" else _LOGICAL[logical][0], "logicalType": logical}

    def _fixed(self, _: int) -> Definition:
        return self._named({"type": "fixed", "size": self._draw(st.integers(1, 9))})

    def _enum(self, _: int) -> Definition:
        symbols = self._draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
        return self._named({"type": "enum", "symbols": symbols})

    def _decimal(self, _: int) -> Definition:
        precision = self._draw(st.integers(1, 38))
        decimal = {
            "logicalType": "decimal",
            "precision": precision,
            "scale": self._draw(st.integers(0, precision)),
        }
        if self._draw(st.booleans()):
            return {"type": "bytes", **decimal}
        least = (10**precision - 1).bit_length() // 8 + 1
        size = self._draw(st.integers(least, 16))
        return {"type": "fixed", "name": self._name(), "size": size, **decimal}

    def _named(self, definition: dict[str, Any]) -> Definition:
        name = self._name()
        self._reusable.append(name)
        return {**definition, "name": name}

    def _reference(self, _: int) -> Definition:
        return self._draw(st.sampled_from(self._reusable))

    def _array(self, depth: int) -> Definition:
        return {"type": "array", "items": self._optional(depth)}

    def _map(self, depth: int) -> Definition:
        return {"type": "map", "values": self._optional(depth)}

    def _union(self, _: int) -> Definition:
        return self._draw(st.lists(_MEMBERS, min_size=2, max_size=3, unique=True))


def row_values(schema: str) -> dict[str, st.SearchStrategy[Any]]:
    """Return for each column of an Avro schema Python values of the Arrow type that it is converted to."""
    top = json.loads(schema)
    named = dict(_named_types(top))
    return {field["name"]: _values(field["type"], named) for field in top["fields"]}


def _named_types(definition: Definition) -> list[tuple[str, Definition]]:
    """Return the named types of a schema, each with its name."""
    if isinstance(definition, list):
        return [pair for branch in definition for pair in _named_types(branch)]
    if not isinstance(definition, dict):
        return []
    own = [(definition["name"], definition)] if "name" in definition else []
    inner = [field["type"] for field in definition.get("fields", ())]
    inner += [definition[key] for key in ("items", "values") if key in definition]
    return own + _named_types(inner)


def _values(definition: Definition, named: Mapping[str, Definition]) -> st.SearchStrategy[Any]:
    if isinstance(definition, list):
        return _union_values(definition, named)
    if isinstance(definition, str):
        if definition in named:
            return _values(named[definition], named)
        return VALUES[_PRIMITIVES[definition]]
    if (logical := definition.get("logicalType")) == "decimal":
        return decimals(definition["precision"], definition["scale"])
    if logical == "uuid":
        return st.uuids().map(str)
    return VALUES[_LOGICAL[logical][1]] if logical else _complex_values(definition, named)


def _union_values(branches: list[Definition], named: Mapping[str, Definition]) -> st.SearchStrategy[Any]:
    members = [_values(branch, named) for branch in branches if branch != "null"]
    if len(members) > 1:  # a struct in which one field is set
        names = [f"member{number}" for number in range(len(members))]
        members = [member.map(_one_of(names, name)) for name, member in zip(names, members, strict=True)]
    return st.one_of(*([st.none()] if "null" in branches else []), *members)


def _one_of(names: list[str], own: str) -> Callable[[Any], dict[str, Any]]:
    return lambda value: {name: value if name == own else None for name in names}


def _complex_values(definition: Definition, named: Mapping[str, Definition]) -> st.SearchStrategy[Any]:
    kind = definition["type"]
    if kind == "record":
        return st.fixed_dictionaries({field["name"]: _values(field["type"], named) for field in definition["fields"]})
    if kind == "array":
        return st.lists(_values(definition["items"], named), max_size=4)
    if kind == "map":
        pairs = st.tuples(st.text(max_size=3), _values(definition["values"], named))
        return st.lists(pairs, max_size=4, unique_by=lambda pair: pair[0])
    if kind == "enum":
        return st.sampled_from(definition["symbols"])
    return st.binary(min_size=definition["size"], max_size=definition["size"])
