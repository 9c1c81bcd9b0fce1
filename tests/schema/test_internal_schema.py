"""Hudi's internal schema: its text, the ids of columns, and the versions of a table."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudiformat import CorruptTableError, open_table
from hudiformat.codec.avro.schema import arrow_to_avro
from hudiformat.codec.avro.types import walk_columns
from hudiformat.schema.internal_schema import (
    LATEST_SCHEMA,
    InternalSchema,
    SchemaHistory,
    format_versions,
    parse_versions,
)
from hudiformat.table.schema_files import schema_history
from tests.schema_changes import first_rows

RENAMED = ("renamed-mor9", "renamed-cow9", "renamed-mor6")


def avro_of(schema: pa.Schema) -> str:
    return arrow_to_avro(schema, name="t_record", namespace="hoodie.t")


def ids(schema: InternalSchema) -> dict[str, int]:
    return {path: column.id for path, column in walk_columns(schema.record)}


@pytest.mark.parametrize("name", RENAMED)
def test_hudis_texts_are_read_and_written_to_the_letter(own_golden: Callable[[str], Path], name: str) -> None:
    path = own_golden(name)
    state = open_table(path)._context.state()
    metadata = state.commit_with_schema(None)
    assert metadata is not None
    text = metadata.extra_metadata[LATEST_SCHEMA]
    assert InternalSchema.parse(text).text == text
    for file in (path / ".hoodie" / ".schema").glob("*.schemacommit"):
        assert format_versions(parse_versions(file.read_text())) == file.read_text()


@pytest.mark.parametrize("name", RENAMED)
def test_hudis_names_of_each_version_are_found(own_golden: Callable[[str], Path], name: str) -> None:
    state = open_table(own_golden(name))._context.state()
    history = schema_history(state)
    assert history is not None
    assert history.versions[-1].version == 0
    first = history.of_file(state.timeline.completed_writes[0].time, pa.schema([]))
    assert first is not None
    assert "a" in [column.name for column in first.columns]
    assert history.of_file(state.timeline.completed_writes[-1].time, pa.schema([])) is None  # the names of today
    assert history.of_file("no instant", pa.schema([])) is None


def test_every_kind_of_column_comes_back() -> None:
    schema = InternalSchema.first(avro_of(first_rows().schema))
    again = InternalSchema.parse(schema.text)
    assert again == schema
    assert ids(again) == ids(schema)
    assert again.text == schema.text
    assert schema.avro("hoodie.t.t_record") == avro_of(first_rows().schema)


def test_new_columns_get_new_ids_and_others_keep_theirs() -> None:
    before = InternalSchema.first(avro_of(first_rows().schema))
    assert before.evolve(avro_of(first_rows().schema), 7) is before
    wider = [*first_rows().schema, pa.field("z", pa.map_(pa.string(), pa.struct([("x", pa.int32())])))]
    nested: Any = first_rows().schema.field("n").type
    wider[13] = pa.field("n", pa.struct([*nested.fields, pa.field("c", pa.int32())]))
    after = before.evolve(avro_of(pa.schema(wider)), 7)
    assert after.version == 7
    assert {path: number for path, number in ids(after).items() if path in ids(before)} == ids(before)
    new = [number for path, number in ids(after).items() if path not in ids(before)]
    assert min(new) > before.max_id
    assert after.max_id == max(new)
    dropped = after.evolve(avro_of(first_rows().schema), 8)
    back = dropped.evolve(avro_of(pa.schema(wider)), 9)
    assert ids(back)["z"] > after.max_id - 1
    assert ids(back)["z"] != ids(after)["z"]


def test_a_history_finds_the_version_of_an_instant() -> None:
    before = InternalSchema.first(avro_of(pa.schema([("a", pa.int32())])))
    renamed = InternalSchema(
        5, 0, type(before.record)((type(before.record.columns[0])("b", before.record.columns[0].kind, id=0),))
    )
    history = SchemaHistory(renamed, (renamed, before))
    old, new = pa.schema([("a", pa.int32())]), pa.schema([("b", pa.int32())])
    assert history.stored_schema(new, "4", old) == old
    assert history.stored_schema(new, "5", new) is None
    assert history.stored_schema(new, "4", new) is None, "a file that is newer than its instant"
    assert history.stored_schema(new, "4", pa.schema([("c", pa.int32())])) == old, "no version has its names"
    assert SchemaHistory(renamed, ()).of_file("5", new) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        '{"type":"string"}',
        '{"type":"record","fields":[{"id":0}]}',
        '{"type":"record","fields":[{"id":0,"name":"a","optional":true,"type":"whole"}]}',
        '{"type":"record","fields":[{"id":"x","name":"a","optional":true,"type":"int"}]}',
        '{"type":"record","fields":[{"id":0,"name":"a","optional":true,"type":{"type":"set"}}]}',
    ],
)
def test_a_text_that_is_no_internal_schema(text: str) -> None:
    with pytest.raises(CorruptTableError, match="expected an internal schema"):
        InternalSchema.parse(text)
    with pytest.raises(CorruptTableError, match="expected an internal schema"):
        parse_versions(json.dumps({"schemas": [text]}))
