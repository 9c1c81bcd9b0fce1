"""Hudi's internal schema: columns with ids, by which a column is recognized after it was renamed or dropped.

A table has an internal schema if the newest commit has ``latest_schema`` in its extra metadata.  Earlier versions of
the schema are in the newest file of ``.hoodie/.schema``.

Source: InternalSchema, SerDeHelper, FileBasedInternalSchemaStorageManager, Hudi 1.2.0; spec/schema-evolution.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import pyarrow as pa

from hudiformat.codec.avro.renaming import (
    has_names,
    have_same_names,
    rename_columns,
    rename_schema,
    to_stored_names,
)
from hudiformat.codec.avro.schema import avro_to_arrow
from hudiformat.codec.avro.types import (
    BLOB_WORD,
    VARIANT_WORD,
    Column,
    Kind,
    Leaf,
    ListType,
    MapType,
    RecordType,
    format_avro_types,
    inner_columns,
    parse_avro_types,
    parse_leaf,
    walk_columns,
    with_inner_columns,
)
from hudiformat.errors import CorruptTableError, SchemaError

LATEST_SCHEMA = "latest_schema"
"""The key of the extra metadata under which a commit keeps the internal schema."""

SCHEMA_FOLDER = ".hoodie/.schema"
SCHEMA_ACTION = "schemacommit"

_Parsed = TypeVar("_Parsed")


@dataclass(frozen=True, slots=True)
class InternalSchema:
    """The columns of a table, including meta fields, with ids; *version* is the instant that introduced them.

    ``max_id`` is the highest id that was ever assigned, including the ids of dropped columns.
    """

    version: int
    max_id: int
    record: RecordType

    @classmethod
    def first(cls, avro: str) -> InternalSchema:
        """Return the internal schema of a table that had none, with ids as Hudi assigns them and version 0."""
        record = parse_avro_types(avro)
        return cls(0, max(_ids(record), default=-1), record)

    @classmethod
    def parse(cls, text: str) -> InternalSchema:
        """Parse a schema from the JSON text that Hudi writes.

        Raises:
            CorruptTableError: the text is not a schema.
        """
        return _parse_json(text, _schema)

    @property
    def text(self) -> str:
        """The JSON text, as Hudi writes it."""
        return json.dumps(self.content(), separators=(",", ":"), ensure_ascii=False)

    def content(self) -> dict[str, Any]:
        """Return the object that the JSON text encodes."""
        return {"max_column_id": self.max_id, "version_id": self.version, **_record_json(self.record)}

    def avro(self, name: str) -> str:
        """Return the Avro schema of the columns; *name* is the record's full name."""
        return format_avro_types(replace(self.record, name=name))

    def evolve(self, avro: str, version: int) -> InternalSchema:
        """Return the internal schema of the table after its columns changed to those of *avro*.

        Columns keep the ids of columns with the same name; others get new ids.  If nothing has changed, *self* is
        returned.
        """
        fresh = _IdAssigner(self.max_id + 1)
        record = fresh.like(parse_avro_types(avro), self.record)
        assert isinstance(record, RecordType)  # noqa: S101 - both are
        if record == self.record and _docs(record) == _docs(self.record):
            return self
        return InternalSchema(version, fresh.next - 1, record)

    def with_new_ids(self, record: RecordType) -> InternalSchema:
        """Return a schema of *record*, whose columns are all new, with ids after ``max_id``."""
        fresh = _IdAssigner(self.max_id + 1)
        result = fresh.like(record, None)
        assert isinstance(result, RecordType)  # noqa: S101 - as it was
        return InternalSchema(self.version, fresh.next - 1, result)


def _ids(record: RecordType) -> Iterable[int]:
    for _, column in walk_columns(record):
        yield column.id
        if isinstance(column.kind, MapType):
            yield column.kind.key_id


def _docs(record: RecordType) -> list[str | None]:
    return [column.doc for _, column in walk_columns(record)]


class _IdAssigner:
    """Assigns ids: known columns keep theirs, which are found by name; other columns get the next free ids."""

    def __init__(self, first: int) -> None:
        self.next = first

    def like(self, kind: Kind, known: Kind | None) -> Kind:
        """Return *kind* with the ids of *known* for columns of the same name, and new ids for others."""
        there = {} if known is None or type(kind) is not type(known) else {c.name: c for c in inner_columns(known)}
        if isinstance(kind, MapType):
            is_known = isinstance(known, MapType)
            kind = replace(kind, key_id=known.key_id if is_known and isinstance(known, MapType) else self._take())
        columns = []
        for column in inner_columns(kind):
            old = there.get(column.name)
            columns.append(replace(column, id=self._take() if old is None else old.id))
        inner = tuple(
            replace(column, kind=self.like(column.kind, there[column.name].kind if column.name in there else None))
            for column in columns
        )
        return with_inner_columns(kind, inner)

    def _take(self) -> int:
        self.next += 1
        return self.next - 1


@dataclass(frozen=True, slots=True)
class SchemaHistory:
    """The internal schema of a query, and the versions with which the files that it reads were written."""

    query: InternalSchema
    versions: tuple[InternalSchema, ...]

    @classmethod
    def parse(cls, query: InternalSchema, text: str) -> SchemaHistory:
        """Parse a history from the content of a file in ``.hoodie/.schema``.

        Raises:
            CorruptTableError: the text is not a history.
        """
        return cls(query, parse_versions(text))

    @property
    def has_one_form(self) -> bool:
        """Whether all versions have the names of the query, so that files need not be asked for theirs."""
        return all(have_same_names(self.query.record, one.record) for one in self.versions)

    def of_file(self, instant: str, stored: pa.Schema) -> RecordType | None:
        """Return the columns of a file or block of *instant* that has *stored*; None if they are matched by name.

        That is so if no version is known for the instant, or if all names are the same as in the query.  It is the
        version of the instant, but for a file of a later version: a compaction that was planned before columns were
        renamed, and ran afterwards, may have written the new names.
        """
        if not instant.isdecimal():
            return None
        known = sorted(self.versions, key=lambda one: one.version)
        by_then = [one for one in known if one.version <= int(instant)]
        if not by_then:
            return None
        possible = [by_then[-1], *known[len(by_then) :], self.query]
        found = next((one for one in possible if has_names(one.record, stored)), by_then[-1])
        return None if have_same_names(self.query.record, found.record) else found.record

    def stored_schema(self, schema: pa.Schema, instant: str, stored: pa.Schema) -> pa.Schema | None:
        """Return *schema* with the names of a file of *instant* that has *stored*; None if the names are the same."""
        record = self.of_file(instant, stored)
        return None if record is None else to_stored_names(schema, self.query.record, record)

    def rename_record_schema(self, avro: str, instant: str) -> str:
        """Return the Avro schema *avro* of records written at *instant*, with the column names of the query."""
        record = self.of_file(instant, avro_to_arrow(avro))
        return avro if record is None else rename_schema(avro, self.query.record, record)

    @staticmethod
    def rename_to(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
        """Return a batch, read with the schema from :meth:`stored_schema`, with the column names of *schema*."""
        return rename_columns(batch, schema)


def parse_versions(text: str) -> tuple[InternalSchema, ...]:
    """Parse the schemas of a history; the file has the newest one first.

    Raises:
        CorruptTableError: the text is not a history.
    """
    return _parse_json(text, lambda content: tuple(_schema(one) for one in content["schemas"]))


def format_versions(versions: Iterable[InternalSchema]) -> str:
    """Return the content of a history file for *versions*, which begin with the newest."""
    contents = {"schemas": [one.content() for one in versions]}
    return json.dumps(contents, separators=(",", ":"), ensure_ascii=False)


def _parse_json(text: str, parse: Callable[[Any], _Parsed]) -> _Parsed:
    try:
        return parse(json.loads(text))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, SchemaError) as error:
        raise CorruptTableError(f"expected an internal schema of Hudi's: {error!r}") from error


def _schema(content: Any) -> InternalSchema:
    record = _kind(content)
    if not isinstance(record, RecordType):
        raise TypeError(f"expected a record, found {content['type']}")
    highest = max(_ids(record), default=-1)
    return InternalSchema(int(content.get("version_id", 0)), int(content.get("max_column_id", highest)), record)


def _kind(content: Any) -> Kind:
    if isinstance(content, str):
        return parse_leaf(content)
    if content["type"] == "record" and (word := _fixed_shape(content["fields"])) is not None:
        return parse_leaf(word)
    if content["type"] == "record":
        return RecordType(tuple(_column(one) for one in content["fields"]))
    if content["type"] == "array":
        optional, number = bool(content["element_optional"]), int(content["element_id"])
        return ListType(Column("element", _kind(content["element"]), optional, id=number))
    value = Column("value", _kind(content["value"]), bool(content["value_optional"]), id=int(content["value_id"]))
    return MapType(value, int(content["key_id"]))


def _fixed_shape(fields: Any) -> str | None:
    """Return the word for a blob or a variant, whose columns have ids below 0; None for another record.

    Source: InternalSchemaConverter.visitInternalRecordToBuildHoodieRecord, Hudi 1.2.0.
    """
    ids = [int(one["id"]) for one in fields]
    if ids == [one["id"] for one in _FIXED_SHAPES[BLOB_WORD]]:
        return BLOB_WORD
    names = sorted(str(one["name"]) for one in fields)
    return VARIANT_WORD if len(ids) == 2 and max(ids) < 0 and names == ["metadata", "value"] else None  # noqa: PLR2004 - metadata and value


def _column(content: Any) -> Column:
    kind = _kind(content["type"])
    return Column(str(content["name"]), kind, bool(content["optional"]), content.get("doc"), int(content["id"]))


def _record_json(record: RecordType) -> dict[str, Any]:
    fields = []
    for column in record.columns:
        content = {"id": column.id, "name": column.name, "optional": column.nullable, "type": _kind_json(column.kind)}
        fields.append(content if column.doc is None else {**content, "doc": column.doc})
    return {"type": "record", "fields": fields}


def _kind_json(kind: Kind) -> Any:
    if isinstance(kind, Leaf):
        shape = _FIXED_SHAPES.get(kind.word)
        return kind.word if shape is None else {"type": "record", "fields": shape}
    if isinstance(kind, RecordType):
        return _record_json(kind)
    if isinstance(kind, ListType):
        element = kind.element
        return {
            "type": "array",
            "element_id": element.id,
            "element": _kind_json(element.kind),
            "element_optional": element.nullable,
        }
    return {
        "type": "map",
        "key_id": kind.key_id,
        "key": "string",
        "value_id": kind.value.id,
        "value": _kind_json(kind.value.kind),
        "value_optional": kind.value.nullable,
    }


def _shape(number: int, name: str, kind: Any, doc: str | None = None, *, optional: bool = False) -> dict[str, Any]:
    content = {"id": number, "name": name, "optional": optional, "type": kind}
    return content if doc is None else {**content, "doc": doc}


_REFERENCE = [
    _shape(0, "external_path", "string"),
    _shape(1, "offset", "long", optional=True),
    _shape(2, "length", "long", optional=True),
    _shape(3, "managed", "boolean"),
]
_FIXED_SHAPES: dict[str, list[dict[str, Any]]] = {
    BLOB_WORD: [
        _shape(-10, "type", "string", "Blob storage type (INLINE | OUT_OF_LINE)"),
        _shape(-11, "data", "binary", "Inline blob bytes", optional=True),
        _shape(-12, "reference", {"type": "record", "fields": _REFERENCE}, "Out-of-line blob reference", optional=True),
    ],
    VARIANT_WORD: [
        _shape(-2, "metadata", "binary", "Variant metadata component"),
        _shape(-1, "value", "binary", "Variant value component"),
    ],
}
"""The columns of blobs and variants as the internal schema has them.  Source: InternalSchemaConverter, Hudi 1.2.0."""
