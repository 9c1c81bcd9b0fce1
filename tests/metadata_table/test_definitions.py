"""The definitions of a table's indexes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hudiformat.errors import CorruptTableError
from hudiformat.metadata_table.definitions import (
    ALWAYS_INDEXED,
    DEFINITIONS_FILE,
    DEFINITIONS_KEY,
    IndexDefinition,
    default_columns,
    encode_definitions,
    has_value_types,
    load_definitions,
    statistics_columns,
)
from hudiformat.storage.local import LocalStorage
from hudiformat.table.new_table import new_table_config
from hudiformat.timeline.table_config import TableConfig

DEFINED = IndexDefinition("column_stats", "column_stats", "column_stats", ("a", "b"), {"x": "y"}, "V2")


def config(version: int = 9) -> TableConfig:
    return new_table_config(
        name="t", record_key_fields=["k"], version=version, extra={DEFINITIONS_KEY: DEFINITIONS_FILE}
    )


def test_definitions_come_back(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    assert load_definitions(storage, config()) == {}
    storage.create(DEFINITIONS_FILE, encode_definitions({"column_stats": DEFINED}))
    assert load_definitions(storage, config()) == {"column_stats": DEFINED}
    assert load_definitions(storage, new_table_config(name="t", record_key_fields=["k"])) == {}


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"indexDefinitions": {"a": {}}}'])
def test_something_else_is_a_corrupt_table(tmp_path: Path, content: str) -> None:
    storage = LocalStorage(tmp_path)
    storage.create(DEFINITIONS_FILE, content.encode())
    with pytest.raises(CorruptTableError, match="expected definitions of indexes"):
        load_definitions(storage, config())


def test_the_columns_are_those_of_the_definition_or_the_first_that_have_statistics() -> None:
    kinds = {"a": "int", "e": {"type": "enum", "name": "E", "symbols": ["x"]}, "l": {"type": "array", "items": "int"}}
    more = {"u": ["null", {"type": "enum", "name": "F", "symbols": ["x"]}], "b": ["null", "string"], "c": "long"}
    fields = [{"name": name, "type": kind} for name, kind in {**kinds, **more}.items()]
    avro = json.dumps({"type": "record", "name": "r", "fields": fields})
    assert statistics_columns(None, avro) == (*ALWAYS_INDEXED, "a", "b", "c")
    assert statistics_columns(DEFINED, avro) == ("a", "b")
    assert default_columns(avro, 2) == (*ALWAYS_INDEXED, "a", "b")


def test_the_version_of_the_index_says_whether_values_have_types() -> None:
    assert has_value_types(DEFINED, config(8))
    assert [has_value_types(None, config(version)) for version in (8, 9)] == [False, True]
