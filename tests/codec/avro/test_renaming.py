"""Columns under the names that they had when a file was written."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from hudiformat.codec.avro.renaming import have_same_names, rename_columns, rename_schema, to_stored_names
from hudiformat.codec.avro.schema import arrow_to_avro
from hudiformat.codec.avro.types import Column, Leaf, ListType, MapType, RecordType, parse_avro_types

INT = Leaf("int", '"int"')


def record(*columns: Column) -> RecordType:
    return RecordType(columns, "n.t")


def inner(name: str) -> RecordType:
    return RecordType((Column(name, INT, id=10),))


STORED = record(
    Column("a", INT, id=0),
    Column("gone", INT, id=1),
    Column("n", inner("x"), id=2),
    Column("r", ListType(Column("element", inner("x"), id=3)), id=4),
    Column("m", MapType(Column("value", inner("x"), id=5), 6), id=7),
)
QUERY = record(
    Column("b", INT, id=0),
    Column("gone", INT, id=8),
    Column("n", inner("z"), id=2),
    Column("r", ListType(Column("element", inner("z"), id=3)), id=4),
    Column("m", MapType(Column("value", inner("z"), id=5), 6), id=7),
    Column("a", INT, id=9),
)
SHOWN = pa.schema(
    [
        pa.field("_hoodie_record_key", pa.string()),
        pa.field("b", pa.int32()),
        pa.field("gone", pa.int32()),
        pa.field("n", pa.struct([("z", pa.int32())])),
        pa.field("r", pa.list_(pa.struct([("z", pa.int32())]))),
        pa.field("m", pa.map_(pa.string(), pa.struct([("z", pa.int32())]))),
        pa.field("a", pa.int32()),
    ]
)


def test_the_names_that_a_file_has() -> None:
    found = to_stored_names(SHOWN, QUERY, STORED)
    assert found.names == ["_hoodie_record_key", "a", "gone (not in this file)", "n", "r", "m", "a (not in this file)"]
    assert found.field("n").type == pa.struct([("x", pa.int32())])
    assert found.field("r").type == pa.list_(pa.struct([("x", pa.int32())]))
    assert found.field("m").type == pa.map_(pa.string(), pa.struct([("x", pa.int32())]))


def test_rows_come_back_under_the_names_of_the_query() -> None:
    stored = to_stored_names(SHOWN, QUERY, STORED)
    values: list[dict[str, Any]] = [
        {"n": {"x": 1}, "r": [{"x": 2}, None], "m": [("k", {"x": 3})], "a": 7, "_hoodie_record_key": "k"},
        {"n": None, "r": None, "m": None},
        {"n": {"x": None}, "r": [], "m": [("e", None)]},
    ]
    batch = pa.Table.from_pylist(values, stored).combine_chunks().to_batches()[0]
    for start in range(3):  # a part of a batch has an offset
        shown = rename_columns(batch.slice(start), SHOWN)
        shown.validate(full=True)
        expected = json.loads(json.dumps(batch.slice(start).to_pylist()).replace('"x"', '"z"'))
        for found, old in zip(shown.to_pylist(), expected, strict=True):
            assert json.loads(json.dumps([found["n"], found["r"], found["m"]])) == [old["n"], old["r"], old["m"]]


def test_the_schema_of_records_gets_the_names_of_the_query() -> None:
    avro = arrow_to_avro(pa.schema([*list(SHOWN)[:1], pa.field("a", pa.int32())]), name="t", namespace="n")
    names = [one["name"] for one in json.loads(rename_schema(avro, QUERY, STORED))["fields"]]
    assert names == ["_hoodie_record_key", "b"]
    whole = {
        "type": "record",
        "name": "t",
        "fields": [
            {"name": "gone", "type": ["int", "null"]},
            {"name": "n", "type": [{"type": "record", "name": "i", "fields": [{"name": "x", "type": "int"}]}, "null"]},
            {"name": "r", "type": {"type": "array", "items": ["null", "i"]}},
            {"name": "m", "type": {"type": "map", "values": {"type": {"type": "record", "name": "j", "fields": [
                {"name": "x", "type": "int"}]}}}},
            {"name": "unknown", "type": "int"},
        ],
    }  # fmt: skip
    found = json.loads(rename_schema(json.dumps(whole), QUERY, STORED))["fields"]
    assert [one["name"] for one in found] == ["gone (dropped since)", "n", "r", "m", "unknown"]
    assert found[0]["type"] == ["int", "null"]  # the branches of a union stay in their order
    assert found[1]["type"][0]["fields"][0]["name"] == "z"
    assert found[3]["type"]["values"]["type"]["fields"][0]["name"] == "z"


def test_whether_names_are_enough() -> None:
    assert have_same_names(QUERY, QUERY)
    assert not have_same_names(QUERY, STORED)
    tree = parse_avro_types(arrow_to_avro(SHOWN, name="t", namespace="n"))
    assert have_same_names(tree, tree)
    fewer = record(*tree.columns[:-1])
    assert have_same_names(tree, fewer)
    assert have_same_names(fewer, tree)
