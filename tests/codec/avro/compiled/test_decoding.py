"""The kernel gives what numpy gives, value by value and error by error, run by Python and by numba."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat.codec.avro.compiled import decoding, layout
from hudiformat.codec.avro.encode import encode_records
from hudiformat.codec.avro.schema import arrow_to_avro
from hudiformat.testing import avro_schemas, batches
from tests.codec.avro.builders import SLOW, damage, framed, framed_records, record_schema
from tests.codec.avro.compiled.paths import in_chunks_of, outcome, outcomes
from tests.effort import examples
from tests.kernels.paths import KERNELS, by_numpy


def assert_same(*arguments: Any, **options: Any) -> Any:
    """Every path gives the same, which is returned."""
    first, *others = outcomes(*arguments, **options)
    for other in others:
        if isinstance(first, pa.RecordBatch):
            assert isinstance(other, pa.RecordBatch), other
            assert other.schema == first.schema
            # NaN is not equal to itself; texts of both show what is in them
            assert other.equals(first) or other.to_pylist().__repr__() == first.to_pylist().__repr__()
        else:
            assert other == first
    return first


_NESTED = {
    "type": "record",
    "name": "n",
    "fields": [
        {"name": "x", "type": ["null", "double"]},
        {"name": "l", "type": {"type": "array", "items": {"type": "map", "values": ["null", "string"]}}},
        {"name": "t", "type": "string"},
        {"name": "b", "type": "boolean"},
        {"name": "f", "type": {"type": "fixed", "name": "f3", "size": 3}},
        {
            "name": "d",
            "type": {"type": "fixed", "name": "d5", "size": 5, "logicalType": "decimal", "precision": 9, "scale": 2},
        },
        {"name": "e", "type": {"type": "enum", "name": "e", "symbols": ["A", "B"]}},
        {"name": "i", "type": "int"},
    ],
}


def test_a_null_record_makes_all_inside_it_null() -> None:
    schema = record_schema(("c", ["null", _NESTED]), ("after", "string"))
    inside = "02 02 0000000000000840 02 02 02 6b 02 02 76 00 00 02 74 01 616263 ffffffff85 02 03"
    data = framed("00 02 78", inside + "04 797a", "00 00")
    rows = assert_same(data, 3, schema)
    assert rows.to_pylist()[0] == {"c": None, "after": "x"}
    assert rows.to_pylist()[1]["c"]["l"] == [[("k", "v")]]
    assert rows["c"].field("t").to_pylist() == [None, "t", None]


def test_a_null_record_makes_values_of_every_width_null() -> None:
    def fixed(name: str, **more: Any) -> dict[str, Any]:
        return {"type": "fixed", "name": name, "size": 2, **more}

    decimal = fixed("d", logicalType="decimal", precision=4)
    kinds = ["int", "long", "float", "double", "boolean", "string", "bytes", fixed("f"), decimal]
    inner = {"type": "record", "name": "n", "fields": [{"name": f"f{i}", "type": kind} for i, kind in enumerate(kinds)]}
    record = "02 02 04 00000000 0000000000000000 01 02 78 02 79 6162 0102"
    found = assert_same(framed(record, "00", record), 3, record_schema(("c", ["null", inner])))
    assert [found["c"].field(index).null_count for index in range(len(kinds))] == [1] * len(kinds)
    skipped = framed(f"{record} 04", "00 06")
    assert_same(skipped, 2, record_schema(("c", ["null", inner]), ("d", "int")), columns=["d"])


@pytest.mark.parametrize(
    ("kind", "record"),
    [
        ("int", "ff ff ff ff 0f"),
        ("int", "80 80 80 80 10"),
        ("long", "ff ff ff ff ff ff ff ff ff 01"),
        ("long", "fe ff ff ff ff ff ff ff ff 01"),
        ("long", "ff ff ff ff ff ff ff ff ff 02"),
        ("long", "80 80 80 80 80 80 80 80 80 80 00"),
        ("long", "80 80 00"),
        ({"type": "int", "logicalType": "time-millis"}, "fe af b2 52"),
        ({"type": "int", "logicalType": "time-millis"}, "80 b0 b2 52"),
        ({"type": "long", "logicalType": "time-micros"}, "01"),
        ("boolean", "02"),
        ({"type": "enum", "name": "e", "symbols": ["A"]}, "02"),
        ({"type": "enum", "name": "e", "symbols": ["A"]}, "01"),
        ("string", "02 ff"),
        ("bytes", "02 ff"),
        ("string", "04 78"),
        ("string", "01"),
        ("string", "80"),
        (["null", "int"], "04"),
        (["null", "int"], ""),
        (["int", "null"], "02"),
        ({"type": "fixed", "name": "f", "size": 300}, "00"),
        ({"type": "array", "items": "int"}, "01 02 02 00"),
        ({"type": "array", "items": "int"}, "fe ff ff ff 0f"),
        ({"type": "array", "items": "int"}, "02 02"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4}, "06 00 00 07"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4}, "04 ff 07"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4}, "00"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4}, "06 7f 00 07"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4}, "80" * 10 + "00"),
        ("double", "00"),
        ("int", "02 02"),
        ("int", ""),
    ],
    ids=str,
)
def test_edges_and_damage_come_out_as_from_numpy(kind: Any, record: str) -> None:
    assert_same(framed(record), 1, record_schema(("c", kind)))
    assert_same(framed(record + "02"), 1, record_schema(("c", kind), ("d", "int")), columns=["d"])


@pytest.mark.parametrize("count", [*range(1, 10), 41])
def test_any_number_of_records_is_skipped_side_by_side(count: int) -> None:
    kinds: list[Any] = ["string", ["null", "long"], ["double", "null"], ["null", "string"], "int", "boolean", "bytes"]
    schema = record_schema(*((name, kind) for name, kind in zip("abcdefg", kinds, strict=True)))
    every = [
        "02 61 | 02 ff ff ff ff ff ff ff ff ff 01 | 00 0102030405060708 | 02 04 6263 | 7e | 01 | 00",
        "00 | 00 | 02 | 00 | 80 01 | 00 | 02 ff",
        "80 01 "
        + "63" * 64
        + " | 02 80 80 80 80 80 80 01 | 00 1112131415161718 | 02 80 01 "
        + "64" * 64
        + " | 01 | 01 | 00",
        "04 6566 | 02 07 | 02 | 02 00 | ff ff ff ff 0f | 00 | 04 0102",
    ]
    data = framed(*(every[index * 7 % 4].replace("|", "") for index in range(count)))
    for name in "abcdefg":
        assert len(assert_same(data, count, schema, columns=[name])) == count
        assert_same(data[:-1] + b"\xff", count, schema, columns=[name])


def test_many_nulls_at_the_end_of_a_record_do_not_run_past_the_padding() -> None:
    schema = record_schema(*((f"c{index}", ["null", "int"]) for index in range(300)))
    assert_same(framed("00"), 1, schema)
    assert_same(framed("00" * 300), 1, schema)


def test_memory_grows_for_texts_and_for_items() -> None:
    schema = record_schema(("t", "string"), ("l", {"type": "array", "items": ["null", "string"]}))
    short = "00 00"
    long = "c8 01" + "61" * 100 + "a0 01" + ("02 14" + "62" * 10) * 80 + "00"
    data = framed(*[short, short, long, short, long] * 4, short)
    with in_chunks_of(2):  # type: ignore[attr-defined]  # a context manager of mock
        rows = assert_same(data, 21, schema)
    assert [len(items) for items in rows["l"].to_pylist()] == [0, 0, 80, 0, 80] * 4 + [0]


@pytest.mark.slow
@SLOW
@given(batch=batches(max_rows=30), data=st.data(), views=st.booleans(), probed=st.integers(1, 30))
def test_rows_are_those_of_numpy(batch: pa.RecordBatch, data: st.DataObject, *, views: bool, probed: int) -> None:
    schema = arrow_to_avro(batch.schema, name="r", namespace="n")
    columns = data.draw(st.none() | st.lists(st.sampled_from(batch.schema.names), unique=True))
    with in_chunks_of(probed):  # type: ignore[attr-defined]  # a context manager of mock
        found = assert_same(bytes(encode_records(batch, schema)), len(batch), schema, columns=columns, views=views)
    assert isinstance(found, pa.RecordBatch)


@SLOW
@given(data=st.data())
def test_rows_of_any_avro_schema_are_those_of_numpy(data: st.DataObject) -> None:
    schema = data.draw(avro_schemas())
    batch = data.draw(batches(schema))
    assert_same(bytes(encode_records(batch, schema)), len(batch), schema)


@pytest.mark.slow
@settings(SLOW, max_examples=examples(200))
@given(batch=batches(max_rows=4), data=st.data(), views=st.booleans())
def test_damaged_bytes_come_out_as_from_numpy(batch: pa.RecordBatch, data: st.DataObject, *, views: bool) -> None:
    schema = arrow_to_avro(batch.schema, name="r", namespace="n")
    damaged = damage(data, encode_records(batch, schema))
    assert_same(damaged, len(batch), schema, views=views)
    assert_same(damaged, len(batch), schema, columns=batch.schema.names[-1:], views=views)
    # with lengths that are right, what is inside is read
    records = framed_records([len(damaged)], damaged or b"x")
    assert_same(records, 1, schema, views=views)
    assert_same(records, 1, schema, columns=batch.schema.names[-1:], views=views)


@pytest.mark.parametrize("path", KERNELS)
def test_the_lengths_of_many_records_are_followed(path: Any) -> None:
    sizes = np.random.default_rng(7).integers(0, 50, 3000).tolist()
    data = framed_records(sizes, b"\x02")
    schema = record_schema(*((f"c{index}", "int") for index in range(3)))
    with by_numpy():
        expected = outcome(data, len(sizes), schema)
    with path():
        assert outcome(data, len(sizes), schema) == expected


def test_a_chain_that_does_not_fill_its_bytes_is_bad() -> None:
    data = np.frombuffer(framed_records([2, 3], b"x"), np.uint8)
    offsets = np.zeros(3, np.int64)
    at = data.ctypes.data
    assert decoding.chain(at, len(data), offsets.ctypes.data, 2) == layout.DONE
    assert offsets.tolist() == [0, 6, 13]
    assert decoding.chain(at, len(data) - 1, offsets.ctypes.data, 2) == layout.BAD
    assert decoding.chain(at, 8, offsets.ctypes.data, 2) == layout.BAD
