"""Few rows have the bytes that numpy makes of them, whatever the schema."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.codec.avro.encode import ChunkLimits, encode_records
from hudiformat.codec.avro.few_rows import encode_few
from hudiformat.codec.avro.schema import avro_to_arrow
from hudiformat.errors import DataError
from hudiformat.testing import avro_schemas, batches
from tests.codec.avro.builders import SLOW, record_schema

BY_NUMPY = ChunkLimits(few=0)
SIMPLE = [
    ("b", "boolean", [True, False, True]),
    ("i", "int", [0, -(2**31), 2**31 - 1]),
    ("l", ["null", "long"], [2**63 - 1, None, -(2**63)]),
    ("f", ["float", "null"], [1.5, None, -2.0]),
    ("d", "double", [0.0, -1.0, 1e300]),
    ("s", ["null", "string"], [None, "a" * 5000, "\u00e9"]),
    ("x", "bytes", [b"", b"\xff", b"abc"]),
    ("t", {"type": "long", "logicalType": "timestamp-micros"}, [0, 1, -1]),
]
SCHEMA = record_schema(*((name, kind) for name, kind, _ in SIMPLE))


def rows() -> pa.RecordBatch:
    target = avro_to_arrow(SCHEMA)
    values = [pa.array(values).cast(field.type) for field, (_, _, values) in zip(target, SIMPLE, strict=True)]
    return pa.RecordBatch.from_arrays(values, schema=target)


@pytest.mark.parametrize("framed", [True, False])
def test_all_simple_kinds_are_encoded_as_by_numpy(*, framed: bool) -> None:
    expected = bytes(encode_records(rows(), SCHEMA, framed=framed, limits=BY_NUMPY))
    assert encode_few(rows(), SCHEMA, framed=framed) == expected
    assert encode_records(rows(), SCHEMA, framed=framed) == expected


@pytest.mark.parametrize("first", [0, 1, 2, 7, 8, 13])
def test_the_rows_of_a_slice_are_encoded(first: int) -> None:
    part = pa.Table.from_batches([rows()] * 6).combine_chunks().to_batches()[0].slice(first, 5)
    assert encode_few(part, SCHEMA, framed=True) == bytes(encode_records(part, SCHEMA, limits=BY_NUMPY))


def test_the_rows_of_a_table_of_several_chunks_are_encoded() -> None:
    table = pa.Table.from_batches([rows(), rows()])
    assert encode_records(table, SCHEMA) == encode_records(table, SCHEMA, limits=BY_NUMPY)


@pytest.mark.parametrize(
    "kind",
    [
        {"type": "array", "items": "int"},
        {"type": "enum", "name": "e", "symbols": ["A"]},
        {"type": "fixed", "name": "f", "size": 3},
        {"type": "bytes", "logicalType": "decimal", "precision": 4},
        {"type": "record", "name": "i", "fields": [{"name": "x", "type": "int"}]},
        ["null", "int", "string"],
    ],
    ids=str,
)
def test_other_kinds_are_left_to_numpy(kind: Any) -> None:
    schema = record_schema(("a", "int"), ("c", kind))
    assert encode_few(pa.RecordBatch.from_pylist([], avro_to_arrow(schema)), schema, framed=True) is None


def test_long_texts_are_left_to_numpy() -> None:
    schema = record_schema(("s", "string"))
    batch = pa.RecordBatch.from_pydict({"s": ["a" * 40_000, "b" * 30_000]}, schema=avro_to_arrow(schema))
    assert encode_few(batch, schema, framed=True) is None
    assert len(encode_records(batch, schema)) == 70_000 + 2 * (4 + 3)


def test_a_text_that_all_rows_share_is_left_to_numpy() -> None:
    schema = record_schema(("s", "string"))
    shared = pa.RecordBatch.from_pydict({"s": pa.array(["a", "a"]).dictionary_encode()})
    assert encode_records(shared, schema) == bytes.fromhex("00000002 0261 00000002 0261")


def test_a_null_where_none_may_be_is_an_error() -> None:
    schema = record_schema(("i", "int"))
    batch = pa.RecordBatch.from_arrays([pa.array([1, None], pa.int32())], schema=avro_to_arrow(schema))
    with pytest.raises(DataError, match="column i is not nullable and has a null"):
        encode_records(batch, schema)


@SLOW
@given(data=st.data())
def test_rows_of_any_schema_have_the_bytes_of_numpy(data: st.DataObject) -> None:
    schema = data.draw(avro_schemas())
    batch = data.draw(batches(schema))
    assert encode_records(batch, schema) == encode_records(batch, schema, limits=BY_NUMPY)
