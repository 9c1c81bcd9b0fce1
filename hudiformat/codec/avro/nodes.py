"""An Avro schema as a tree of nodes, each with the Arrow type of its values.  Parsed once per distinct JSON text.

A node whose logical type is not known says so in ``unknown``: by Avro's rule the type is ignored where bytes are
decoded, and a table shows no such values.

A named type is repeated in the tree wherever it is used, so the tree has no references; a type that contains itself has
no Arrow type and is refused.  Depth, size of the tree and size of a ``fixed`` are limited, because the schema may come
from a damaged block.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, TypeAlias

import pyarrow as pa

from hudiformat.codec.custom_types import (
    BLOB,
    BLOB_TYPE,
    ELEMENTS,
    STORAGE_TYPES,
    TYPE_KEY,
    VARIANT,
    VARIANT_TYPE,
    stored_size,
    vector_type,
)
from hudiformat.errors import SchemaError

MAX_DEPTH = 100
MAX_NODES = 100_000
MAX_FIXED_SIZE = 1 << 16
MAX_DECIMAL_PRECISION = 38  # Spark's and decimal128's limit


@dataclass(frozen=True, slots=True)
class Primitive:
    """``kind`` is boolean, int, long, float, double, bytes or string; the logical type shows in ``arrow``."""

    kind: str
    arrow: pa.DataType
    nullable: bool = False
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class Fixed:
    """A fixed number of bytes: plain, a big-endian decimal, or a vector, whose type in Arrow is ``vector``.

    ``arrow`` is the type of the bytes, which the records of a file have; a column of a table has the vector.
    """

    size: int
    arrow: pa.DataType
    nullable: bool = False
    unknown: str = ""
    vector: pa.DataType | None = None


@dataclass(frozen=True, slots=True)
class Enum:
    """An index into ``symbols``; a string in Arrow."""

    symbols: tuple[str, ...]
    arrow: pa.DataType = field(default_factory=pa.string)
    nullable: bool = False
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class Array:
    """Blocks of items."""

    items: Node
    arrow: pa.DataType
    nullable: bool = False
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class Map:
    """Blocks of ``entries``: records of a key and a value."""

    entries: Record
    arrow: pa.DataType
    nullable: bool = False
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """Fields in order, with nothing between them; ``named`` is BLOB or VARIANT, or empty."""

    fields: tuple[tuple[str, Node], ...]
    arrow: pa.DataType
    nullable: bool = False
    unknown: str = ""
    named: str = ""


@dataclass(frozen=True, slots=True)
class Nullable:
    """A union of null, at ``null_branch`` (0 or 1), and one other type."""

    inner: Node
    null_branch: int
    arrow: pa.DataType
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Union:
    """Any other union; ``None`` is the null branch.  In Arrow a struct with one field set, ``member0`` and on.

    Spark's reader names the members so.  Null is no member: it makes the struct null.
    """

    branches: tuple[Node | None, ...]
    arrow: pa.DataType
    nullable: bool


Node: TypeAlias = Primitive | Fixed | Enum | Array | Map | Record | Nullable | Union

_PRIMITIVES: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
}
_LOGICAL: dict[tuple[str, str], pa.DataType] = {
    ("int", "date"): pa.date32(),
    ("int", "time-millis"): pa.time32("ms"),
    ("long", "time-micros"): pa.time64("us"),
    ("long", "timestamp-millis"): pa.timestamp("ms", tz="UTC"),
    ("long", "timestamp-micros"): pa.timestamp("us", tz="UTC"),
    ("long", "timestamp-nanos"): pa.timestamp("ns", tz="UTC"),
    ("long", "local-timestamp-millis"): pa.timestamp("ms"),
    ("long", "local-timestamp-micros"): pa.timestamp("us"),
    ("long", "local-timestamp-nanos"): pa.timestamp("ns"),
}


_KNOWN = {
    *_LOGICAL,
    ("bytes", "decimal"),
    ("fixed", "decimal"),
    ("string", "uuid"),
    ("fixed", "uuid"),
    ("fixed", "duration"),
}


@lru_cache(maxsize=256)
def parse_schema(schema_json: str) -> Record:
    """Parse a schema whose top is a record into a tree.

    Raises:
        SchemaError: the text is no Avro schema, its top is no record, or a type has no Arrow counterpart.
    """
    try:
        definition = json.loads(schema_json)
        json.dumps(definition, ensure_ascii=False).encode()  # Arrow's strings have no lone surrogates
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"the Avro schema is not JSON of Unicode text: {error}") from error
    node = _Parser().parse(definition, "", "", 0)
    if not isinstance(node, Record):
        raise SchemaError(f"the top of an Avro schema must be a record, found {json.dumps(definition)[:80]}")
    return node


@lru_cache(maxsize=256)
def unknown_logical_types(schema_json: str) -> Mapping[str, str]:
    """Return the logical types of a record schema that are not known, by the dotted paths of their columns.

    A vector is known where Hudi has vectors: as a column of the table itself.

    Raises:
        SchemaError: as :func:`parse_schema`.
    """
    return dict(_unknown_types(parse_schema(schema_json), ()))


def _unknown_types(node: Node, path: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    inner = node.inner if isinstance(node, Nullable) else node
    if isinstance(inner, Fixed) and inner.vector is not None and len(path) > 1:
        yield ".".join(path), "vector"
    elif not isinstance(inner, (Nullable, Union)) and inner.unknown:
        yield ".".join(path), inner.unknown
    for names, part in _parts(inner):
        yield from _unknown_types(part, (*path, *names))


def _parts(node: Node) -> Iterator[tuple[tuple[str, ...], Node]]:
    """Yield the nodes inside a node, and what the path of a column adds for them."""
    if isinstance(node, Record):
        yield from (((name,), inner) for name, inner in node.fields)
    elif isinstance(node, Array):
        yield ("element",), node.items
    elif isinstance(node, Map):
        yield ("value",), dict(node.entries.fields)["value"]
    elif isinstance(node, Union):
        branches = [one for one in node.branches if one is not None]
        yield from (((f"member{number}",), one) for number, one in enumerate(branches))


def column_field(name: str, node: Node) -> pa.Field:
    """Return the column of a table for a field of its record."""
    inner = node.inner if isinstance(node, Nullable) else node
    if isinstance(inner, Fixed) and inner.vector is not None:
        return pa.field(name, inner.vector, nullable=node.nullable)
    return _arrow_field(name, node)


def _arrow_field(name: str, node: Node) -> pa.Field:
    """Return the field of a node in Arrow; its metadata names a type that only Hudi has."""
    inner = node.inner if isinstance(node, Nullable) else node
    named = inner.named if isinstance(inner, Record) else ""
    metadata = {TYPE_KEY: named.encode()} if named else None
    return pa.field(name, node.arrow, nullable=node.nullable, metadata=metadata)


class _Parser:
    """Parses one schema from its top, and keeps the named types that it has parsed."""

    def __init__(self) -> None:
        self._named: dict[str, Node | None] = {}  # None while a type is still being parsed
        self._nodes = 0
        self._parsers: dict[str, Callable[[dict[str, Any], str, str, int], Node]] = {
            "array": self._array,
            "map": self._map,
            "record": self._record,
            "fixed": self._fixed,
            "enum": self._enum,
        }

    def parse(self, definition: Any, namespace: str, path: str, depth: int) -> Node:
        """Return the node of *definition*, whose names lie in *namespace*; *path* is the column, for messages.

        Raises:
            SchemaError: the definition is no Avro type, or has no Arrow counterpart.
        """
        if depth > MAX_DEPTH:
            raise SchemaError(f"the Avro schema is over {MAX_DEPTH} levels deep")
        kind = definition.get("type") if isinstance(definition, dict) else definition
        node: Node
        if isinstance(definition, list):
            node = self._union(definition, namespace, path, depth)
        elif isinstance(kind, str) and kind in _PRIMITIVES:
            node = _primitive(kind, definition if isinstance(definition, dict) else {}, path)
        elif isinstance(definition, str):
            node = self._by_name(definition, namespace, path)
        elif not isinstance(definition, dict):
            raise _schema_error(path, f"{definition!r} is not an Avro type")
        elif isinstance(kind, str) and kind in self._parsers:
            node = self._parsers[kind](definition, namespace, path, depth)
        else:
            node = self.parse(kind, namespace, path, depth + 1)
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise SchemaError(f"the Avro schema is too large: over {MAX_NODES} types")
        return node

    def _by_name(self, name: str, namespace: str, path: str) -> Node:
        full = name if "." in name or not namespace else f"{namespace}.{name}"
        full = full if full in self._named else name
        if full not in self._named:
            raise _schema_error(path, f"the Avro type {name!r} is not known; null is supported only inside a union")
        node = self._named[full]
        if node is None:
            raise _schema_error(path, f"the Avro type {full!r} contains itself, which Arrow cannot express")
        self._nodes += _size(node)
        return node

    def _union(self, definitions: list[Any], namespace: str, path: str, depth: int) -> Node:
        branches: list[Node | None] = []
        for definition in definitions:
            branch = None if _is_null(definition) else self.parse(definition, namespace, path, depth + 1)
            branches.append(branch)
        nodes = [branch for branch in branches if branch is not None]
        if not nodes or branches.count(None) > 1 or any(isinstance(node, (Union, Nullable)) for node in nodes):
            raise _schema_error(path, f"the Avro union {json.dumps(definitions)[:80]} cannot be mapped to Arrow")
        if len(nodes) == 1 and len(branches) == 2:  # noqa: PLR2004 - null and another
            return Nullable(nodes[0], branches.index(None), nodes[0].arrow)
        members = pa.struct([pa.field(f"member{index}", node.arrow) for index, node in enumerate(nodes)])
        return Union(tuple(branches), members, None in branches)

    def _declare(self, definition: dict[str, Any], namespace: str, path: str) -> tuple[str, str]:
        """Return the full name of a named type, which is now being parsed, and the namespace of the names in it."""
        name = definition.get("name")
        if not isinstance(name, str) or not name:
            raise _schema_error(path, f"an Avro {definition['type']} without a name")
        scope, _, short = name.rpartition(".")
        scope = scope or definition.get("namespace", namespace) or ""
        full = f"{scope}.{short}" if scope else short
        self._named[full] = None
        return full, scope

    def _record(self, definition: dict[str, Any], namespace: str, path: str, depth: int) -> Record:
        full, scope = self._declare(definition, namespace, path)
        declared = definition.get("fields")
        if not isinstance(declared, list):
            raise _schema_error(path, "an Avro record without fields")
        fields: list[tuple[str, Node]] = []
        for item in declared:
            if not isinstance(item, dict) or not isinstance(item.get("name"), str):
                raise _schema_error(path, f"{item!r} is not a field of an Avro record")
            node = self.parse(item.get("type"), scope, _join(path, item["name"]), depth + 1)
            fields.append((item["name"], node))
        names = [name for name, _ in fields]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise _schema_error(_join(path, twice), "the Avro record has this field twice")
        self._named[full] = record = _with_name(_record_of(fields), definition.get("logicalType"))
        return record

    def _fixed(self, definition: dict[str, Any], namespace: str, path: str, _depth: int) -> Fixed:
        full, _ = self._declare(definition, namespace, path)
        size = definition.get("size")
        if type(size) is not int or not 0 < size <= MAX_FIXED_SIZE:
            raise _schema_error(path, f"a fixed of 1 to {MAX_FIXED_SIZE} bytes was expected, found size {size!r}")
        logical = definition.get("logicalType")
        arrow = _decimal(definition, path) if logical == "decimal" else pa.binary(size)
        vector = _vector(definition) if logical == "vector" else None
        unknown = "" if vector is not None else _unknown_name("fixed", logical)
        self._named[full] = node = Fixed(size, arrow, unknown=unknown, vector=vector)
        return node

    def _enum(self, definition: dict[str, Any], namespace: str, path: str, _depth: int) -> Enum:
        full, _ = self._declare(definition, namespace, path)
        symbols = definition.get("symbols")
        if not isinstance(symbols, list) or not symbols or not all(isinstance(symbol, str) for symbol in symbols):
            raise _schema_error(path, "an Avro enum without symbols")
        unknown = _unknown_name("enum", definition.get("logicalType"))
        self._named[full] = node = Enum(tuple(symbols), unknown=unknown)
        return node

    def _array(self, definition: dict[str, Any], namespace: str, path: str, depth: int) -> Array:
        items = self.parse(definition.get("items"), namespace, _join(path, "item"), depth + 1)
        unknown = _unknown_name("array", definition.get("logicalType"))
        return Array(items, pa.list_(_arrow_field("item", items)), unknown=unknown)

    def _map(self, definition: dict[str, Any], namespace: str, path: str, depth: int) -> Map:
        value = self.parse(definition.get("values"), namespace, _join(path, "value"), depth + 1)
        entries = _record_of([("key", Primitive("string", pa.string())), ("value", value)])
        unknown = _unknown_name("map", definition.get("logicalType"))
        return Map(entries, pa.map_(pa.string(), _arrow_field("value", value)), unknown=unknown)


def _record_of(fields: list[tuple[str, Node]]) -> Record:
    return Record(tuple(fields), pa.struct([_arrow_field(name, node) for name, node in fields]))


def _with_name(record: Record, logical: Any) -> Record:
    """Return a record with the type that its logical type names; it is not known if the fields are others than Hudi's.

    Source: HoodieSchema.BlobLogicalType.validate, HoodieSchema.Variant.validateVariantSchema, Hudi 1.2.0.
    """
    if logical == "blob" and record.arrow == BLOB_TYPE and _symbols(record) == STORAGE_TYPES:
        return replace(record, named=BLOB)
    if logical == "variant" and record.arrow in (VARIANT_TYPE, pa.struct(list(VARIANT_TYPE)[::-1])):
        return replace(record, named=VARIANT)
    is_shredded = logical == "variant" and any(name == "typed_value" for name, _ in record.fields)
    return replace(record, unknown="shredded variant" if is_shredded else _unknown_name("record", logical))


def _symbols(blob: Record) -> tuple[str, ...]:
    kind = blob.fields[0][1]
    return kind.symbols if isinstance(kind, Enum) else ()


def _vector(definition: dict[str, Any]) -> pa.DataType | None:
    """Return the type of a vector; None if its properties do not fit its size, or are not Hudi's."""
    size, element = definition["size"], definition.get("elementType", "FLOAT")
    try:
        dimension = int(str(definition.get("dimension")))
    except ValueError:
        return None
    known = isinstance(element, str) and element.upper() in ELEMENTS
    backing = definition.get("storageBacking", "FIXED_BYTES")
    if not known or dimension <= 0 or not isinstance(backing, str) or backing.upper() != "FIXED_BYTES":
        return None
    kind = vector_type(dimension, element.upper())
    return kind if stored_size(kind) == size else None


def _unknown_name(kind: str, logical: Any) -> str:
    """Return the logical type if it is not known for an Avro type *kind*; empty if it is known, or there is none."""
    return logical if isinstance(logical, str) and (kind, logical) not in _KNOWN else ""


def _size(node: Node) -> int:
    """Return the number of nodes from this node down: a type that is used several times counts each time."""
    if isinstance(node, Record):
        return 1 + sum(_size(inner) for _, inner in node.fields)
    if isinstance(node, Union):
        return 1 + sum(_size(inner) for inner in node.branches if inner is not None)
    if isinstance(node, Nullable):
        return 1 + _size(node.inner)
    if isinstance(node, Array):
        return 1 + _size(node.items)
    return 1 + _size(node.entries) if isinstance(node, Map) else 1


def _is_null(definition: Any) -> bool:
    return definition == "null" or (isinstance(definition, dict) and definition.get("type") == "null")


def _primitive(kind: str, definition: dict[str, Any], path: str) -> Primitive:
    logical = definition.get("logicalType")
    if logical == "decimal" and kind == "bytes":
        return Primitive(kind, _decimal(definition, path))
    arrow = _LOGICAL.get((kind, logical)) if isinstance(logical, str) else None
    return Primitive(kind, arrow or _PRIMITIVES[kind], unknown=_unknown_name(kind, logical))


def _decimal(definition: dict[str, Any], path: str) -> pa.DataType:
    precision, scale = definition.get("precision"), definition.get("scale", 0)
    if type(precision) is not int or type(scale) is not int or not 0 <= scale <= precision:
        raise _schema_error(path, f"precision {precision!r} and scale {scale!r} do not make a decimal")
    if not 0 < precision <= MAX_DECIMAL_PRECISION:
        raise _schema_error(path, f"decimals have 1 to {MAX_DECIMAL_PRECISION} digits, found {precision}")
    return pa.decimal128(precision, scale)


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _schema_error(path: str, message: str) -> SchemaError:
    return SchemaError(f"column {path}: {message}" if path else message, column=path or None)
