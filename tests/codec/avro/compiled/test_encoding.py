"""What the kernels write is what numpy writes, or they refuse.  Python runs them here as it runs any function."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.codec.avro.arrays import Output, Parts
from hudiformat.codec.avro.compiled.encoding import write
from hudiformat.codec.avro.compiled.record_writer import RecordWriter
from hudiformat.codec.avro.decode import decode_records
from hudiformat.codec.avro.encode import encode_records
from hudiformat.codec.avro.schema import arrow_to_avro, avro_to_arrow
from hudiformat.codec.conversion import convert_to_schema
from hudiformat.kernels import VARIABLE
from hudiformat.testing import batches
from tests.codec.avro.builders import SLOW, record_schema, schema_of
from tests.codec.avro.golden import AVRO, CDC, golden_blocks


def written(rows: pa.RecordBatch, schema: str, parts: Parts | None = None, *, framed: bool = True) -> bytes | None:
    """What the kernels write, run by Python; None if they refuse."""
    output = Output()
    begun = RecordWriter(schema, write).append(rows, output, parts or Parts(), framed=framed)
    return None if begun is None else bytes(output.written_bytes())


@pytest.fixture(autouse=True)
def _by_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "0")


@SLOW
@given(batch=batches(max_rows=20))
def test_any_rows_get_the_bytes_that_numpy_gives_them(batch: pa.RecordBatch) -> None:
    schema = schema_of(batch)
    rows = convert_to_schema(batch, avro_to_arrow(schema))
    assert written(rows, schema) == bytes(encode_records(batch, schema))


@SLOW
@given(batch=batches(max_rows=20), framed=st.booleans())
def test_few_rows_get_the_bytes_that_numpy_gives_them(batch: pa.RecordBatch, *, framed: bool) -> None:
    schema = schema_of(batch)
    rows = convert_to_schema(batch, avro_to_arrow(schema))
    writer, found = RecordWriter(schema, write), bytes(encode_records(batch, schema, framed=framed))
    assert [writer.encode_few(rows, framed=framed) for _ in range(2)] == [found, found]


def test_few_rows_that_are_long_are_left_to_append() -> None:
    rows = pa.record_batch({"c": ["a" * 20_000]})
    assert RecordWriter(schema_of(rows), write).encode_few(rows, framed=True) is None


def test_few_rows_that_cannot_be_encoded_are_refused() -> None:
    rows = pa.record_batch({"c": pa.array([None], pa.int32())})
    assert RecordWriter(record_schema(("c", "int")), write).encode_few(rows, framed=True) is None


@SLOW
@given(batch=batches(max_rows=20), data=st.data())
def test_slices_get_the_bytes_that_numpy_gives_them(batch: pa.RecordBatch, data: st.DataObject) -> None:
    schema = schema_of(batch)
    rows = convert_to_schema(batch, avro_to_arrow(schema))
    first = data.draw(st.integers(0, batch.num_rows))
    part = rows.slice(first, data.draw(st.integers(0, batch.num_rows - first)))
    assert written(part, schema) == bytes(encode_records(part, schema))
    whole = pa.RecordBatch.from_struct_array(rows.to_struct_array().slice(first))
    assert written(whole, schema, framed=False) == bytes(encode_records(whole, schema, framed=False))


@pytest.mark.parametrize("table", ["v9-mor-avro-h120", "v9-mor-null-list-elements-h120", "v9-mor-cdc-h120"])
def test_blocks_of_hudi_get_their_own_bytes(table: str) -> None:
    for block in golden_blocks(table):
        if block.type in (AVRO, CDC):
            rows = decode_records(block.content[8:], int.from_bytes(block.content[4:8], "big"), block.schema)
            assert written(rows, block.schema) == block.content[8:]


def _of(kind: Any, values: list[Any]) -> tuple[pa.RecordBatch, str]:
    schema = record_schema(("c", kind))
    return pa.RecordBatch.from_arrays([pa.array(values, avro_to_arrow(schema).field(0).type)], names=["c"]), schema


def test_numbers_of_all_lengths() -> None:
    longs = [sign * 2**bits + more for bits in range(63) for sign in (1, -1) for more in (-1, 0, 1)] + [-(2**63)]
    rows, schema = _of("long", longs)
    assert written(rows, schema) == bytes(encode_records(rows, schema))
    rows, schema = _of("int", [value for value in longs if -(2**31) <= value < 2**31])
    assert written(rows, schema) == bytes(encode_records(rows, schema))


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 15, 16, 17, 63, 64, 8191, 8192])
def test_texts_of_all_lengths_are_not_read_past_their_end(size: int) -> None:
    texts = pa.array(["x" * size, "y" * 3, "z" * size])
    # the buffer ends with the last text: what follows it in memory belongs to nobody
    buffers = texts.buffers()
    exact = pa.Array.from_buffers(pa.string(), 3, [None, buffers[1], pa.py_buffer(buffers[2].to_pybytes())])
    rows = pa.RecordBatch.from_arrays([exact], names=["c"])
    schema = schema_of(rows)
    assert written(rows, schema) == bytes(encode_records(rows, schema))


@pytest.mark.parametrize("second", [False, True])
def test_null_is_the_first_or_the_second_of_two_types(second: bool) -> None:
    rows, schema = _of(["string", "null"] if second else ["null", "string"], ["a", None])
    assert written(rows, schema, framed=False) == (b"\0\2a\2" if second else b"\2\2a\0")


def test_unions_of_several_types() -> None:
    for kind in (["null", "int", "string"], ["int", "null", "string"], ["int", "string", "null"]):
        values = [{"member0": 1, "member1": None}, {"member0": None, "member1": "x"}, None]
        rows, schema = _of(kind, values)
        assert written(rows, schema) == bytes(encode_records(rows, schema))


def test_maps_in_maps_as_deep_as_a_schema_may_be() -> None:
    kind: Any = "long"
    value: Any = 1
    for _ in range(45):
        kind, value = {"type": "map", "values": {"type": "array", "items": kind}}, [("k", [value, value][:1])]
    rows, schema = _of(kind, [value])
    assert written(rows, schema) == bytes(encode_records(rows, schema))


def test_parts_begin_with_their_heads() -> None:
    rows = pa.record_batch({"c": ["a", "b", "c"]})
    heads = np.frombuffer(b"head0000head2222", np.uint64)
    output = Output()
    parts = Parts(np.array([0, 2]), heads)
    begun = RecordWriter(schema_of(rows), write).append(rows, output, parts, framed=True)
    assert begun is not None
    assert begun.tolist() == [0, 8 + 2 * 7]
    framed = [b"\0\0\0\3\2\2" + text for text in (b"a", b"b", b"c")]
    assert bytes(output.written_bytes()) == b"head0000" + framed[0] + framed[1] + b"head2222" + framed[2]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("int", [1, None]),
        ({"type": "array", "items": "int"}, [[1], [1, None]]),
        (["int", "string"], [{"member0": 1, "member1": "x"}]),
        (["null", "int", "string"], [{"member0": None, "member1": None}]),
        (["int", "string"], [None]),
    ],
    ids=json.dumps,
)
def test_what_numpy_refuses_is_refused(kind: Any, values: list[Any]) -> None:
    assert written(*_of(kind, values)) is None


@pytest.mark.parametrize("size", [1, 8, 9, 16, 18])
def test_decimals_take_as_many_bytes_as_they_need_or_are_refused(size: int) -> None:
    from decimal import Decimal

    fixed = {"type": "fixed", "name": "f", "size": size, "logicalType": "decimal", "precision": 38, "scale": 0}
    plain = {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 0}
    least = min(2 ** (8 * size - 1), 10**38 - 1)
    for value in (0, 1, -1, 127, 128, -128, -129, least - 1, -least):
        if abs(value) <= least:
            for kind in (fixed, plain) if -least <= value < least else (plain,):
                rows, schema = _of(kind, [Decimal(value)])
                assert written(rows, schema) == bytes(encode_records(rows, schema))
    if size < 16:
        for value in (2 ** (8 * size - 1), -(2 ** (8 * size - 1)) - 1, 2**100):
            assert written(*_of(fixed, [Decimal(value)])) is None


def test_a_text_that_all_rows_share_is_taken_from_its_dictionary() -> None:
    texts = pa.DictionaryArray.from_arrays(pa.array([0, 0, 0], pa.int32()), pa.array(["no", "shared text"]).slice(1))
    rows = pa.record_batch({"c": texts})
    schema = arrow_to_avro(rows.schema, name="r", namespace="n")
    assert written(rows, schema) == bytes(encode_records(rows, schema))


def test_no_rows_and_no_columns() -> None:
    empty = pa.RecordBatch.from_pydict({"c": pa.array([], pa.list_(pa.string()))})
    assert written(empty, schema_of(empty)) == b""
    assert written(pa.RecordBatch.from_struct_array(pa.nulls(3, pa.struct([]))), record_schema()) == bytes(12)


def test_more_bytes_than_a_length_can_say_are_left_to_numpy() -> None:
    def needs_much(*arguments: int) -> int:
        return -(2**31)

    rows = pa.record_batch({"c": ["a"]})
    writer = RecordWriter(schema_of(rows), needs_much)
    assert writer.append(rows, Output(), Parts(), framed=True) is None
