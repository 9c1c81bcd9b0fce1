"""Represent an Avro record schema as a tree of columns and types, for comparing and changing schemas.

:mod:`hudiformat.codec.avro.nodes` has a tree of the same schemas for decoding.  The tree here also keeps what decoding
does not need: comments, names of records, and the ids that Hudi's internal schema gives to columns.  Types that are no
list, map or record have Hudi's word for them, such as ``int`` or ``decimal_fixed(10, 2)[5]``; blobs and variants too,
whose fields no schema changes.

Source: InternalSchema, Types, InternalSchemaConverter, Hudi 1.2.0.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, TypeAlias

from hudiformat.codec.avro.nodes import parse_schema
from hudiformat.codec.custom_types import BLOB_AVRO, VARIANT_AVRO, parse_vector, vector_definition
from hudiformat.errors import SchemaError

NO_ID = -1
_NO_DEFAULT = object()


@dataclass(frozen=True, slots=True)
class Leaf:
    """A type without parts: *word* is Hudi's, *avro* its Avro schema as JSON text."""

    word: str
    avro: str = field(compare=False)

    def __str__(self) -> str:
        return self.word


@dataclass(frozen=True, slots=True)
class Column:
    """A column, a field of a record, the items of a list or the values of a map."""

    name: str
    kind: Kind
    nullable: bool = True
    doc: str | None = field(default=None, compare=False)
    id: int = field(default=NO_ID, compare=False)
    default: object = field(default=_NO_DEFAULT, compare=False, repr=False)

    @property
    def has_default(self) -> bool:
        """Whether a file may lack the column: a reader then returns null, or the schema's default."""
        return self.nullable or self.default is not _NO_DEFAULT


@dataclass(frozen=True, slots=True)
class RecordType:
    """Columns in order; *name* is the record's full name in Avro, or empty."""

    columns: tuple[Column, ...]
    name: str = field(default="", compare=False)

    def get(self, name: str) -> Column | None:
        """Return the column of that name; None if there is none."""
        return next((column for column in self.columns if column.name == name), None)

    def __str__(self) -> str:
        return f"struct<{', '.join(f'{column.name}: {column.kind}' for column in self.columns)}>"


@dataclass(frozen=True, slots=True)
class ListType:
    """A list of items; the column's name is ``element``."""

    element: Column

    def __str__(self) -> str:
        return f"list<{self.element.kind}>"


@dataclass(frozen=True, slots=True)
class MapType:
    """A map of strings to values; the column's name is ``value``."""

    value: Column
    key_id: int = field(default=NO_ID, compare=False)

    def __str__(self) -> str:
        return f"map<string, {self.value.kind}>"


Kind: TypeAlias = Leaf | RecordType | ListType | MapType


def inner_columns(kind: Kind) -> tuple[Column, ...]:
    """Return the columns inside a type: of a record its columns, of a list its element, of a map its value."""
    if isinstance(kind, RecordType):
        return kind.columns
    if isinstance(kind, ListType):
        return (kind.element,)
    return (kind.value,) if isinstance(kind, MapType) else ()


def with_inner_columns(kind: Kind, columns: tuple[Column, ...]) -> Kind:
    """Return a type of the same form with other columns; only a record may have another number of them."""
    if isinstance(kind, RecordType):
        return replace(kind, columns=columns)
    if isinstance(kind, ListType):
        return replace(kind, element=columns[0])
    return replace(kind, value=columns[0]) if isinstance(kind, MapType) else kind


def walk_columns(record: RecordType, above: str = "") -> Iterator[tuple[str, Column]]:
    """Yield every column at every depth with its dotted path; a column comes before the columns in it."""
    yield from _walk(record, above)


def _walk(kind: Kind, above: str) -> Iterator[tuple[str, Column]]:
    for column in inner_columns(kind):
        path = f"{above}{column.name}"
        yield path, column
        yield from _walk(column.kind, f"{path}.")


BLOB_WORD, VARIANT_WORD = "blob", "variant"
OWN_NAMES = (BLOB_WORD, "vector")
"""Words, or their beginnings, of types whose Avro schemas have a name that does not depend on the column."""

_PLAIN = {
    "boolean": "boolean",
    "int": "int",
    "long": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "bytes": "binary",
}
_LOGICAL = {
    ("int", "date"): "date",
    ("int", "time-millis"): "time-millis",
    ("long", "time-micros"): "time",
    ("long", "timestamp-micros"): "timestamp",
    ("long", "timestamp-millis"): "timestamp-millis",
    ("long", "local-timestamp-micros"): "local-timestamp-micros",
    ("long", "local-timestamp-millis"): "local-timestamp-millis",
    ("string", "uuid"): "uuid",
}
_AVRO_OF_WORD: Mapping[str, Any] = {
    **{word: name for name, word in _PLAIN.items()},
    **{word: {"type": base, "logicalType": logical} for (base, logical), word in _LOGICAL.items()},
}


def parse_avro_types(schema_json: str) -> RecordType:
    """Parse an Avro record schema into a tree, whose columns have the ids that Hudi gives them.

    Raises:
        SchemaError: the text is no Avro record schema.
    """
    parse_schema(schema_json)  # raises if it is no schema, or one that cannot be read
    kind = _Reader().read(json.loads(schema_json), "")
    assert isinstance(kind, RecordType)  # noqa: S101 - it has been parsed
    return assign_ids(kind)


def assign_ids(record: RecordType) -> RecordType:
    """Return the tree with ids from 0 on: first the columns of a record one after the other, then those inside each.

    A record of ``a`` and ``b``, where ``a`` is a record of ``c``, has the ids a = 0, b = 1, c = 2.

    Source: InternalSchemaConverter.visitSchemaToBuildType.
    """
    result = _number_columns(record, count())
    assert isinstance(result, RecordType)  # noqa: S101 - the ids alone were changed
    return result


def _number_columns(kind: Kind, ids: Iterator[int]) -> Kind:
    if isinstance(kind, MapType):
        kind = replace(kind, key_id=next(ids))
    columns = [replace(column, id=next(ids)) for column in inner_columns(kind)]
    return with_inner_columns(kind, tuple(replace(one, kind=_number_columns(one.kind, ids)) for one in columns))


class _Reader:
    """Reads one schema; a reference to a named type is replaced by its definition."""

    def __init__(self) -> None:
        self._named: dict[str, Kind] = {}

    def read(self, definition: Any, namespace: str) -> Kind:
        """Return the type of *definition*, which is no union with null."""
        if isinstance(definition, list):
            return Leaf("union", json.dumps(definition))  # a union of several types is kept unchanged
        if isinstance(definition, dict):
            return self._read_definition(definition, namespace)
        if definition in _PLAIN:
            return Leaf(_PLAIN[definition], json.dumps(definition))
        full = definition if "." in definition or not namespace else f"{namespace}.{definition}"
        return self._named[full if full in self._named else definition]

    def _read_definition(self, definition: dict[str, Any], namespace: str) -> Kind:
        kind = definition["type"]
        if kind == "record":
            return self._record(definition, namespace)
        if kind == "array":
            return ListType(self._column("element", definition["items"], namespace))
        if kind == "map":
            return MapType(self._column("value", definition["values"], namespace))
        is_leaf = isinstance(kind, str) and (kind in _PLAIN or kind in ("fixed", "enum"))
        return self._leaf(definition, namespace) if is_leaf else self.read(kind, namespace)

    def _record(self, definition: dict[str, Any], namespace: str) -> RecordType | Leaf:
        full, scope = _full_name(definition, namespace)
        if definition.get("logicalType") in (BLOB_WORD, VARIANT_WORD):
            self._named[full] = leaf = Leaf(definition["logicalType"], _with_full_name(definition, full))
            return leaf
        columns = tuple(self._field(item, scope) for item in definition["fields"])
        self._named[full] = record = RecordType(columns, full)
        return record

    def _field(self, item: dict[str, Any], namespace: str) -> Column:
        column = self._column(item["name"], item["type"], namespace)
        return replace(column, doc=item.get("doc"), default=item.get("default", _NO_DEFAULT))

    def _column(self, name: str, definition: Any, namespace: str) -> Column:
        if not isinstance(definition, list):
            return Column(name, self.read(definition, namespace), nullable=False)
        others = [one for one in definition if one != "null"]
        inner = others[0] if len(others) == 1 else others
        return Column(name, self.read(inner, namespace), nullable=len(others) < len(definition))

    def _leaf(self, definition: dict[str, Any], namespace: str) -> Leaf:
        kind, logical = definition["type"], definition.get("logicalType")
        if kind == "fixed" and logical == "vector":
            full, _ = _full_name(definition, namespace)
            self._named[full] = leaf = Leaf(_vector_word(definition), _with_full_name(definition, full))
            return leaf
        text = json.dumps({key: definition[key] for key in definition if key not in ("name", "namespace")})
        if kind in ("fixed", "enum"):
            full, _ = _full_name(definition, namespace)
            self._named[full] = leaf = Leaf(_named_word(definition), text)
            return leaf
        if kind == "bytes" and logical == "decimal":
            return Leaf(f"decimal_bytes({definition['precision']}, {definition.get('scale', 0)})", text)
        return Leaf(_LOGICAL.get((kind, str(logical)), _PLAIN[kind]), text)


def _full_name(definition: dict[str, Any], namespace: str) -> tuple[str, str]:
    scope, _, short = definition["name"].rpartition(".")
    scope = scope or definition.get("namespace", namespace) or ""
    return (f"{scope}.{short}" if scope else short), scope


def _with_full_name(definition: dict[str, Any], full: str) -> str:
    scope, _, short = full.rpartition(".")
    return json.dumps({"type": definition["type"], "name": short, "namespace": scope, **_without_name(definition)})


def _without_name(definition: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in definition.items() if key not in ("type", "name", "namespace")}


def _vector_word(definition: dict[str, Any]) -> str:
    """Return Hudi's word for a vector.  Source: Types.VectorType.toString, Hudi 1.2.0."""
    element, backing = definition.get("elementType", "FLOAT"), definition.get("storageBacking", "FIXED_BYTES")
    return f"vector[{definition.get('dimension')}, {element}, {backing}]"


def _named_word(definition: dict[str, Any]) -> str:
    if definition["type"] == "enum":
        return "string"
    size = definition["size"]
    if definition.get("logicalType") == "decimal":
        return f"decimal_fixed({definition['precision']}, {definition.get('scale', 0)})[{size}]"
    return f"fixed[{size}]"


def parse_leaf(word: str) -> Leaf:
    """Return the type that Hudi's *word* stands for.

    Raises:
        SchemaError: there is no such word.
    """
    if word in _AVRO_OF_WORD:
        return Leaf(word, json.dumps(_AVRO_OF_WORD[word]))
    if (custom := _custom_type(word)) is not None:
        return Leaf(word, json.dumps(custom))
    name, _, numbers = word.replace("]", "").partition("(" if "(" in word else "[")
    parts = [int(part) for part in numbers.replace(")", ",").replace("[", "").split(",") if part.strip().isdecimal()]
    if name == "fixed" and len(parts) == 1:
        return Leaf(word, json.dumps({"type": "fixed", "size": parts[0]}))
    decimal = {"logicalType": "decimal", "precision": parts[0], "scale": parts[1]} if len(parts) > 1 else {}
    if name == "decimal_fixed" and len(parts) == 3:  # noqa: PLR2004 - precision, scale, bytes
        return Leaf(word, json.dumps({"type": "fixed", "size": parts[2], **decimal}))
    if name in ("decimal_bytes", "decimal") and decimal:
        return Leaf(word, json.dumps({"type": "bytes", **decimal}))
    raise SchemaError(f"the type {word!r} of an internal schema is not known")


def _custom_type(word: str) -> dict[str, Any] | None:
    """Return the Avro type of ``blob``, ``variant`` or ``vector[3, FLOAT, FIXED_BYTES]``; None for another word."""
    if word == BLOB_WORD:
        return dict(json.loads(BLOB_AVRO))
    if word == VARIANT_WORD:
        return {"type": "record", "name": word, "namespace": "", **json.loads(VARIANT_AVRO)}
    vector = parse_vector(f"VECTOR({word[7:-1]})") if word.startswith("vector[") and word.endswith("]") else None
    return None if vector is None else vector_definition(vector)


def record_of(kind: Kind) -> Kind:
    """Return the record that a blob or a variant is, for whoever does not know these types; other types unchanged."""
    if not isinstance(kind, Leaf) or kind.word not in (BLOB_WORD, VARIANT_WORD):
        return kind
    definition = json.loads(kind.avro)
    del definition["logicalType"]
    return parse_avro_types(json.dumps(definition))


def decimal_of(leaf: Leaf) -> tuple[int, int, int] | None:
    """Return precision, scale and bytes (0 for any number of bytes) of a decimal; None for another type."""
    if not leaf.word.startswith("decimal"):
        return None
    definition = json.loads(leaf.avro)
    return definition["precision"], definition.get("scale", 0), definition.get("size", 0)


def format_avro_types(record: RecordType) -> str:
    """Return the Avro schema of a tree as compact JSON: null comes first in every union, and is the default.

    Records keep their names.  A record whose name was used before is named after its column, as fixed and enums are;
    the namespace consists of the names of the columns around it.

    Source: InternalSchemaConverter.convert; spec/avro-records.md.
    """
    return json.dumps(_Writer().record(record, record.name), separators=(",", ":"), ensure_ascii=False)


class _Writer:
    def __init__(self) -> None:
        self._used: set[str] = set()

    def record(self, record: RecordType, fallback: str) -> dict[str, Any]:
        full = self._unused_name(record.name or fallback, fallback)
        scope, _, short = full.rpartition(".")
        fields = [self._field(column, f"{full}.{column.name}") for column in record.columns]
        return {"type": "record", "name": short, **({"namespace": scope} if scope else {}), "fields": fields}

    def _unused_name(self, wanted: str, fallback: str) -> str:
        """Return the first of both names that no record has yet; if both are used, *fallback* with underscores."""
        for name in (wanted, fallback):
            if name not in self._used:
                self._used.add(name)
                return name
        return self._unused_name(f"{fallback}_", f"{fallback}_")

    def _field(self, column: Column, path: str) -> dict[str, Any]:
        result = {"name": column.name, "type": self._or_null(column, path)}
        if column.doc is not None:
            result["doc"] = column.doc
        if column.nullable:
            result["default"] = None
        elif column.default is not _NO_DEFAULT:
            result["default"] = column.default
        return result

    def _or_null(self, column: Column, path: str) -> Any:
        if isinstance(column.kind, Leaf) and column.kind.word == "union":
            return [*(["null"] if column.nullable else []), *json.loads(column.kind.avro)]
        kind = self._type(column.kind, path)
        return ["null", kind] if column.nullable else kind

    def _type(self, kind: Kind, path: str) -> Any:
        if isinstance(kind, RecordType):
            return self.record(kind, path)
        if isinstance(kind, ListType):
            return {"type": "array", "items": self._or_null(kind.element, path)}
        if isinstance(kind, MapType):
            return {"type": "map", "values": self._or_null(kind.value, path)}
        return self._leaf(kind, json.loads(kind.avro), path)

    def _leaf(self, kind: Leaf, definition: Any, path: str) -> Any:
        if kind.word == VARIANT_WORD:
            return self._variant(definition, path)
        if kind.word.startswith(OWN_NAMES):
            return self._by_own_name(definition)
        if isinstance(definition, dict) and definition["type"] in ("fixed", "enum"):
            full = self._unused_name(f"{path}.{definition['type']}", f"{path}.{definition['type']}")
            scope, _, short = full.rpartition(".")
            return {"type": definition["type"], "name": short, "namespace": scope, **definition}
        return definition

    def _by_own_name(self, definition: dict[str, Any]) -> Any:
        """Return a type that every schema names alike; where it comes again, only its name."""
        scope = definition["namespace"]
        full = f"{scope}.{definition['name']}" if scope else definition["name"]
        if full in self._used:
            return full
        self._used.add(full)
        return definition

    def _variant(self, definition: dict[str, Any], path: str) -> dict[str, Any]:
        full = self._unused_name(f"{definition['namespace']}.{definition['name']}".lstrip("."), path)
        scope, _, short = full.rpartition(".")
        return {"type": "record", "name": short, "namespace": scope, **_without_name(definition)}
