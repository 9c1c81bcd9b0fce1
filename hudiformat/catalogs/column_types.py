"""Name the types of a table's columns as Hive does, and describe its columns as Spark does.  Pure.

Source: HiveSchemaUtil, SparkSchemaUtils, Hudi 1.2.0; spec/catalogs.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from hudiformat.codec.avro.types import (
    BLOB_WORD,
    Column,
    Kind,
    Leaf,
    ListType,
    MapType,
    RecordType,
    decimal_of,
    inner_columns,
    record_of,
)
from hudiformat.errors import SchemaError

_TIMESTAMPS = {
    "timestamp": "timestamp",
    "timestamp-millis": "timestamp",
    "local-timestamp-micros": "timestamp_ntz",
    "local-timestamp-millis": "timestamp_ntz",
}
_WORDS = {
    "boolean": ("boolean", "boolean"),
    "int": ("int", "integer"),
    "long": ("bigint", "long"),
    "float": ("float", "float"),
    "double": ("double", "double"),
    "string": ("string", "string"),
    "binary": ("binary", "binary"),
    "fixed": ("binary", "binary"),
    "vector": ("binary", "binary"),
    "uuid": ("binary", "string"),
    "date": ("date", "date"),
    "time-millis": ("int", "integer"),
    "time": ("bigint", "long"),
}
"""For the word of each type that is neither a time nor a decimal, Hive's and Spark's."""


def hive_type(column: Column, *, timestamps: bool) -> str:
    """Return Hive's type of *column*; without *timestamps* a time is a bigint, as for Hive below 3.

    Raises:
        SchemaError: Hive has no such type.
    """
    return _hive(column.kind, column.name, timestamps=timestamps).lower()


def _hive(kind: Kind, name: str, *, timestamps: bool) -> str:
    kind = record_of(kind)
    if isinstance(kind, RecordType):
        inner = (f"{_nested_name(one.name)}:{_hive(one.kind, name, timestamps=timestamps)}" for one in kind.columns)
        return f"struct<{','.join(inner)}>".replace("-", "_")
    if isinstance(kind, ListType):
        return f"array<{_hive(kind.element.kind, name, timestamps=timestamps)}>"
    if isinstance(kind, MapType):
        return f"map<string,{_hive(kind.value.kind, name, timestamps=timestamps)}>"
    if kind.word in _TIMESTAMPS:
        return "timestamp" if timestamps else "bigint"
    return _decimal(kind) or _words_of(kind, name)[0]


def _nested_name(name: str) -> str:
    return name.replace("$", "_dollar_")  # ColumnNameXLator.translateNestedColumn


def spark_schema_text(columns: Iterable[Column]) -> str:
    """Return the JSON by which Spark knows a data source's *columns*, letter by letter as Hudi writes it.

    Raises:
        SchemaError: Spark has no such type.
    """
    fields = ",".join(
        f'{{"name":{json.dumps(one.name, ensure_ascii=False)},"type":{_spark(one.kind, one.name)},'
        f'"nullable":{_word(one.nullable)},"metadata":{_metadata(one.kind)}}}'
        for one in columns
    )
    return f'{{"type":"struct","fields":[{fields}]}}'


def _metadata(kind: Kind) -> str:
    parts = inner_columns(kind) if isinstance(kind, (ListType, MapType)) else ()
    is_blob = any(isinstance(one, Leaf) and one.word == BLOB_WORD for one in (kind, *(part.kind for part in parts)))
    return '{"hudi_type":"BLOB"}' if is_blob else "{}"


def _spark(kind: Kind, name: str) -> str:
    kind = record_of(kind)
    if isinstance(kind, RecordType):
        return spark_schema_text(kind.columns)
    if isinstance(kind, ListType):
        inner, has_null = _spark(kind.element.kind, name), _word(kind.element.nullable)
        return f'{{"type":"array", "elementType":{inner},"containsNull":{has_null}}}'
    if isinstance(kind, MapType):
        inner, has_null = _spark(kind.value.kind, name), _word(kind.value.nullable)
        return f'{{"type":"map", "keyType":"string","valueType":{inner},"valueContainsNull":{has_null}}}'
    word = _TIMESTAMPS.get(kind.word) or _decimal(kind) or _words_of(kind, name)[1]
    return f'"{word}"'


def _word(value: bool) -> str:  # noqa: FBT001 - the value is what is named
    return "true" if value else "false"


def _decimal(leaf: Leaf) -> str | None:
    found = decimal_of(leaf)
    return None if found is None else f"decimal({found[0]},{found[1]})"


def _words_of(leaf: Leaf, name: str) -> tuple[str, str]:
    words = _WORDS.get(leaf.word.partition("[")[0])
    if words is None:
        raise SchemaError(
            f"column {name}: expected a type that Hive and Spark have, found {leaf.word} ({leaf.avro}); a catalog "
            "cannot be told of it",
            column=name,
        )
    return words
