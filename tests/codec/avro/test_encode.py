"""Records written: bytes spelled out, Arrow's many layouts, and what is refused."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.codec.avro import encode
from hudiformat.codec.avro.cells import Constant, Reference, Word, head_and_length, join, length_prefix, row_sizes
from hudiformat.codec.avro.decode import decode_records
from hudiformat.codec.avro.encode import (
    CHUNK_LIMITS,
    ChunkLimits,
    column_cells,
    encode_datums,
    encode_parts,
    encode_records,
)
from hudiformat.codec.avro.nodes import parse_schema
from hudiformat.codec.avro.schema import arrow_to_avro, avro_to_arrow
from hudiformat.codec.conversion import convert_to_schema
from hudiformat.errors import DataError, EncodeError, SchemaError
from hudiformat.testing import batches
from tests.codec.avro.builders import SLOW, both_ways, record_schema, same, schema_of
from tests.codec.avro.golden import AVRO, CDC, golden_blocks
from tests.codec.avro.reference import encode_with_fastavro


def test_primitives() -> None:
    schema = record_schema(
        ("a", "boolean"), ("b", "int"), ("c", "float"), ("d", "double"), ("e", "bytes"), ("f", "string")
    )
    rows = [
        {"a": True, "b": -2, "c": 1.0, "d": -1.0, "e": b"\x00\xff", "f": "é"},
        {"a": False, "b": 2**31 - 1, "c": -0.0, "d": -0.0, "e": b"", "f": ""},
    ]
    both_ways(
        schema,
        rows,
        "010300 00 80 3f00 00 00 00 00 00 f0 bf04 00 ff04 c3 a9",
        "00fe ff ff ff 0f00 00 00 8000 00 00 00 00 00 00 800000",
    )


def test_null_may_come_second() -> None:
    both_ways(record_schema(("c", ["string", "null"])), [{"c": "x"}, {"c": None}], "00 02 78", "02")


def test_columns_of_nulls() -> None:
    schema = record_schema(
        ("a", ["null", "string"]), ("b", ["null", {"type": "array", "items": "int"}]), ("c", ["null", "long"])
    )
    both_ways(schema, [{"a": None, "b": None, "c": None}] * 2, "00 00 00", "00 00 00")


def test_arrays_and_maps_end_with_a_zero() -> None:
    schema = record_schema(
        ("a", {"type": "array", "items": ["null", "int"]}), ("m", {"type": "map", "values": "string"})
    )
    rows = [{"a": [1, None], "m": [("k", "v"), ("l", "")]}, {"a": [], "m": []}]
    both_ways(schema, rows, "04 02 02 00 0004 02 6b 02 76 02 6c 00 00", "00 00")


def test_nested_records_have_no_bytes_of_their_own() -> None:
    inner = {
        "type": "record",
        "name": "i",
        "fields": [{"name": "x", "type": "int"}, {"name": "y", "type": ["null", "string"]}],
    }
    rows = [{"c": {"x": 1, "y": None}}, {"c": None}, {"c": {"x": 2, "y": "z"}}]
    both_ways(record_schema(("c", ["null", inner])), rows, "02 02 00", "00", "02 04 02 02 7a")


def test_decimals() -> None:
    from decimal import Decimal

    def fixed(size: int, precision: int) -> dict[str, Any]:
        return {
            "type": "fixed",
            "name": f"f{size}",
            "size": size,
            "logicalType": "decimal",
            "precision": precision,
            "scale": 2,
        }

    schema = record_schema(
        ("a", fixed(3, 5)),
        ("b", fixed(8, 18)),
        ("c", fixed(12, 25)),
        ("d", fixed(18, 38)),
        ("e", {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 2}),
    )
    one, minus = Decimal("2.56"), Decimal("-0.01")
    large = Decimal("-1234567890123456789012.34")
    both_ways(
        schema,
        [
            dict.fromkeys("abcde", one),
            dict.fromkeys("abcde", minus),
            {**dict.fromkeys("abc", one), "d": large, "e": large},
            {**dict.fromkeys("abcd", one), "e": Decimal("1.28")},
        ],
        "0001000000000000000100" + "00" * 10 + "0100" + "00" * 16 + "010004 01 00",
        "ff" * 41 + "02 ff",
        "000100"
        "0000000000000100"
        + "00" * 10
        + "0100"
        + (int(large.scaleb(2))).to_bytes(18, "big", signed=True).hex()
        + "14"
        + int(large.scaleb(2)).to_bytes(10, "big", signed=True).hex(),
        "0001000000000000000100" + "00" * 10 + "0100" + "00" * 16 + "010004 00 80",
    )


def test_unions_of_several_types_and_enums() -> None:
    schema = record_schema(
        ("u", ["null", "int", "string"]), ("e", ["null", {"type": "enum", "name": "e", "symbols": ["A", "B"]}])
    )
    rows = [
        {"u": {"member0": 1, "member1": None}, "e": "B"},
        {"u": {"member0": None, "member1": "x"}, "e": None},
        {"u": None, "e": "A"},
    ]
    both_ways(schema, rows, "02 02 02 02", "04 02 78 00", "00 02 00")
    both_ways(record_schema(("u", ["int", "string"])), [{"u": {"member0": None, "member1": "x"}}], "02 02 78")


@pytest.mark.parametrize("unit", ["ms", "us"])
def test_moments_beyond_pythons_years(unit: str) -> None:
    array = pa.array([2**63 - 1, -(2**63)], pa.int64()).cast(pa.timestamp(unit))
    batch = pa.RecordBatch.from_arrays([array], names=["c"])
    schema = arrow_to_avro(batch.schema, name="r", namespace="n")
    encoded = encode_records(batch, schema)
    assert encoded[5:15].hex() == "feffffffffffffffff01"
    assert decode_records(encoded, 2, schema) == batch


def test_bits_of_floats_are_kept() -> None:
    bits = np.array([0x7FF8DEADBEEF0001, 0xFFF0000000000001, 0x8000000000000000], np.uint64)
    batch = pa.RecordBatch.from_arrays([pa.array(bits.view(np.float64))], names=["c"])
    schema = arrow_to_avro(batch.schema, name="r", namespace="n")
    decoded = decode_records(encode_records(batch, schema), 3, schema)
    assert np.frombuffer(decoded.column(0).buffers()[1], np.uint64).tolist() == bits.tolist()


@pytest.mark.parametrize(
    "table",
    [
        "v9-mor-avro-h120",
        "v9-mor-null-list-elements-h120",
        "v9-mor-cdc-h120",
        "v6-mor-avro-h120",
        "v8-cow-cdc-h102",
        "v6-mor-latest-payload-h0150",
    ],
)
def test_blocks_of_hudi_are_decoded_and_encoded_to_the_same_bytes(table: str) -> None:
    blocks = [block for block in golden_blocks(table) if block.type in (AVRO, CDC)]
    assert blocks
    for block in blocks:
        count = int.from_bytes(block.content[4:8], "big")
        batch = decode_records(block.content[8:], count, block.schema)
        batch.validate(full=True)
        assert encode_records(batch, block.schema) == block.content[8:]


_TEXTS = ["a", "bc", None, "a longer text than fits into a view", ""]


@pytest.mark.parametrize(
    "column",
    [
        pa.array(_TEXTS, pa.large_string()),
        pa.array(_TEXTS, pa.string_view()),
        pa.array(_TEXTS).dictionary_encode(),
        pa.array([None, "x", *_TEXTS, "y"]).slice(2, 5),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3, 4]), pa.array(_TEXTS)),
    ],
    ids=lambda column: str(column.type),
)
def test_other_layouts_of_text_give_the_same_bytes(column: pa.Array) -> None:
    schema = record_schema(("c", ["null", "string"]))
    expected = encode_records(pa.RecordBatch.from_arrays([pa.array(_TEXTS)], names=["c"]), schema)
    assert encode_records(pa.RecordBatch.from_arrays([column], names=["c"]), schema) == expected


@pytest.mark.parametrize("nullable", [True, False])
def test_structs_that_are_all_null_may_have_a_dictionary_of_no_values(*, nullable: bool) -> None:
    inner = pa.field("x", pa.dictionary(pa.int32(), pa.string()), nullable)  # below it pyarrow has the index 0
    plain = pa.field("x", pa.string(), nullable)
    given, expected = (pa.record_batch({"c": pa.array([None, None], pa.struct([field]))}) for field in (inner, plain))
    schema = arrow_to_avro(given.schema, name="r", namespace="n")
    assert encode_records(given, schema) == encode_records(expected, schema)


def test_content_below_nulls_is_not_encoded() -> None:
    # both the null list and the null struct have something below them
    valid = pa.py_buffer(b"\x05")
    items = pa.array([1, 2, 3, 4], pa.int32())
    lists = pa.Array.from_buffers(
        pa.list_(pa.int32()), 3, [valid, pa.py_buffer(np.array([0, 1, 3, 4], np.int32))], children=[items]
    )
    structs = pa.StructArray.from_buffers(
        pa.struct([("x", pa.string())]), 3, [valid], children=[pa.array(["a", "b", "c"])]
    )
    batch = pa.RecordBatch.from_arrays([lists, structs], names=["l", "s"])
    schema = arrow_to_avro(batch.schema, name="r", namespace="n")
    clean = pa.RecordBatch.from_pylist(batch.to_pylist(), batch.schema)
    assert encode_records(batch, schema) == encode_records(clean, schema)
    assert batch.to_pylist()[1] == {"l": None, "s": None}


def test_a_null_below_a_null_is_allowed_in_a_required_field() -> None:
    kind = pa.struct([pa.field("x", pa.int64(), nullable=False)])
    batch = pa.RecordBatch.from_arrays([pa.array([None, {"x": 1}], kind)], names=["c"])
    assert encode_datums(batch, arrow_to_avro(batch.schema, name="r", namespace="n")).to_pylist() == [b"\0", b"\2\2"]


@pytest.mark.parametrize("limit", [1, 100, 1000])
def test_wide_rows_go_in_smaller_chunks(limit: int) -> None:
    batch = pa.RecordBatch.from_pydict({"a": ["x" * (number % 90) for number in range(200)]})
    schema = arrow_to_avro(batch.schema, name="r", namespace="n")
    limits = ChunkLimits(most_bytes=limit)
    assert encode_records(batch, schema, limits=limits) == encode_records(batch, schema)
    assert encode_datums(batch, schema, limits=limits) == encode_datums(batch, schema)


def test_no_rows_and_no_columns() -> None:
    schema = record_schema(("c", "int"))
    assert not encode_records(pa.RecordBatch.from_pydict({"c": pa.array([], pa.int32())}), schema)
    rows = pa.RecordBatch.from_struct_array(pa.nulls(3, pa.struct([])))
    assert encode_records(rows, record_schema()) == bytes(12)
    assert encode_datums(rows, record_schema()).to_pylist() == [b""] * 3
    assert decode_records(bytes(12), 3, record_schema()).num_rows == 3


def test_fields_without_a_column_are_null_and_order_is_the_schemas() -> None:
    schema = record_schema(("a", ["null", "int"]), ("b", "long"), ("c", ["null", "string"]))
    batch = pa.RecordBatch.from_pydict({"c": ["x"], "b": pa.array([1], pa.int32())})
    assert encode_datums(batch, schema).to_pylist() == [b"\x00\x02\x02\x02x"]


def _refused(error: type[Exception], message: str, schema: str, column: pa.Array, path: str = "c") -> None:
    with pytest.raises(error, match=message) as caught:
        encode_records(pa.RecordBatch.from_arrays([column], names=["c"]), schema)
    assert getattr(caught.value, "column", None) == path


def test_a_column_that_the_schema_lacks_is_refused() -> None:
    _refused(SchemaError, "not in the Avro schema", record_schema(), pa.array([1]))


def test_a_wrong_type_is_refused() -> None:
    _refused(SchemaError, "does not fit", record_schema(("c", "int")), pa.array(["x"]))


def test_a_null_where_none_may_be_is_refused() -> None:
    _refused(DataError, "not nullable", record_schema(("c", "int")), pa.array([1, None], pa.int32()))
    items = {"type": "array", "items": "int"}
    _refused(
        DataError,
        "not nullable",
        record_schema(("c", items)),
        pa.array([[1, None]], avro_to_arrow(record_schema(("c", items))).field(0).type),
        "c.item",
    )


def test_a_symbol_that_the_enum_lacks_is_refused() -> None:
    schema = record_schema(("c", ["null", {"type": "enum", "name": "e", "symbols": ["A"]}]))
    _refused(DataError, "row 2 .* symbol", schema, pa.array([None, "A", "B"]))


@pytest.mark.parametrize("size", [1, 9])
def test_a_decimal_that_its_fixed_does_not_hold_is_refused(size: int) -> None:
    kind = {"type": "fixed", "name": "f", "size": size, "logicalType": "decimal", "precision": 38, "scale": 0}
    from decimal import Decimal

    for value in (2 ** (8 * size - 1), -(2 ** (8 * size - 1)) - 1, 2**100):
        _refused(
            DataError,
            f"more than {size} bytes",
            record_schema(("c", kind)),
            pa.array([Decimal(value)], pa.decimal128(38, 0)),
        )


@pytest.mark.parametrize("value", [{"member0": None, "member1": None}, {"member0": 1, "member1": "x"}])
def test_a_union_without_exactly_one_member_is_refused(value: dict[str, Any]) -> None:
    schema = record_schema(("c", ["null", "int", "string"]))
    _refused(DataError, "exactly one member", schema, pa.array([None, value], avro_to_arrow(schema).field(0).type))


@pytest.mark.slow
@SLOW
@given(batch=batches())
def test_bytes_equal_fastavro_and_come_back(batch: pa.RecordBatch) -> None:
    schema = schema_of(batch)
    encoded = encode_records(batch, schema)
    assert encoded == encode_with_fastavro(batch, schema)
    decoded = decode_records(encoded, batch.num_rows, schema)
    decoded.validate(full=True)
    assert decoded.schema == avro_to_arrow(schema)
    assert encode_records(decoded, schema) == encoded
    expected = convert_to_schema(batch, avro_to_arrow(schema))
    assert same(decoded.to_pylist(), expected.to_pylist())


@pytest.mark.slow
@SLOW
@given(batch=batches(), data=st.data())
def test_slices_and_copies_give_the_same_bytes(batch: pa.RecordBatch, data: st.DataObject) -> None:
    schema = schema_of(batch)
    first = data.draw(st.integers(0, batch.num_rows))
    part = batch.slice(first, data.draw(st.integers(0, batch.num_rows - first)))
    copy = pa.RecordBatch.from_pylist(part.to_pylist(), schema=batch.schema)
    assert encode_records(part, schema) == encode_records(copy, schema)
    datums = encode_datums(part, schema).to_pylist()
    assert b"".join(len(datum).to_bytes(4, "big") + datum for datum in datums) == encode_records(part, schema)


@pytest.mark.parametrize("size", [63, 64, 65, 95, 97, 500])
def test_chunks_join_without_a_seam(size: int) -> None:
    batch = pa.RecordBatch.from_pydict(
        {
            "a": pa.array(range(size), pa.int64()),
            "b": pa.array([None if index % 7 == 0 else f"value {index}" for index in range(size)]),
            "c": pa.array([list(range(index % 5)) for index in range(size)], pa.list_(pa.int32())),
        }
    )
    schema = schema_of(batch)
    encoded = encode_records(batch, schema, limits=ChunkLimits(rows=64))
    assert encoded == encode_with_fastavro(batch, schema)
    assert decode_records(encoded, size, schema, chunk_rows=64) == batch


# Chunks

TWO = record_schema(("a", ["null", "string"]), ("b", ["null", "long"]))
TEN = pa.record_batch({"a": ["x" * row for row in range(10)], "b": list(range(10))})


def _chunks(
    rows: pa.RecordBatch | pa.Table, *, total: int = 0, limits: ChunkLimits = CHUNK_LIMITS
) -> list[pa.RecordBatch]:
    return list(encode._chunks(rows, TWO, total=total, limits=limits))


def _lengths(rows: pa.RecordBatch | pa.Table, *, total: int = 0, limits: ChunkLimits = CHUNK_LIMITS) -> list[int]:
    return list(map(len, _chunks(rows, total=total, limits=limits)))


def test_rows_that_fit_come_as_they_are() -> None:
    [chunk] = _chunks(TEN)
    assert chunk.equals(TEN)
    four = ChunkLimits(rows=4)
    assert _lengths(TEN, limits=four) == [5, 5]
    assert _lengths(pa.Table.from_batches([TEN.slice(0, 3), TEN.slice(3)]), limits=four) == [3, 4, 3]


@pytest.mark.parametrize("firsts", [[0, 3, 4, 5], [0, 4], [0, 1, 9]])
def test_parts_begin_and_end_anywhere_in_chunks(firsts: list[int]) -> None:
    heads = [bytes([row]) * 8 for row in firsts]
    words = np.frombuffer(b"".join(heads), np.uint64)
    data, starts = encode_parts(TEN, TWO, np.array(firsts), words, limits=ChunkLimits(rows=4))
    expected = [
        head + bytes(encode_records(TEN.slice(first, last - first), TWO))
        for head, (first, last) in zip(heads, pairwise([*firsts, 10]), strict=True)
    ]
    assert [bytes(data[first:last]) for first, last in pairwise(starts.tolist())] == expected
    assert data.nbytes == starts[-1]


def test_short_batches_are_put_together() -> None:
    assert _lengths(pa.Table.from_batches([TEN.slice(row, 1) for row in range(10)])) == [10]


def test_rows_of_many_bytes_come_in_smaller_chunks() -> None:
    limits = ChunkLimits(most_bytes=60)
    assert _lengths(TEN, total=TEN.nbytes, limits=limits) == [2, 2, 3, 3]
    assert _lengths(TEN.select(["b", "a"]), limits=limits) == [2, 2, 3, 3]  # what is resolved is measured


def test_columns_are_ordered_filled_and_cast() -> None:
    rows = pa.record_batch({"b": pa.array([1], pa.int32())})
    [chunk] = _chunks(rows)
    assert chunk.to_pydict() == {"a": [None], "b": [1]}
    assert chunk.schema.types == [pa.string(), pa.int64()]


def test_a_dictionary_is_kept_only_if_all_rows_share_its_text() -> None:
    for texts, kind in ((["t", "t"], pa.dictionary(pa.int32(), pa.string())), (["t", None], pa.string())):
        [chunk] = _chunks(pa.record_batch({"a": pa.array(texts).dictionary_encode()}))
        assert chunk.schema.types == [kind, pa.int64()]


def test_a_column_that_the_schema_lacks_is_refused_before_the_first_chunk() -> None:
    with pytest.raises(SchemaError, match="column c is not in the Avro schema"):
        _lengths(pa.record_batch({"c": [1]}))


# Cells of columns


def test_a_nullable_column_has_a_cell_for_its_branch() -> None:
    [(_, node)] = parse_schema(record_schema(("c", ["null", "boolean"]))).fields
    [branch, value] = column_cells(node, pa.array([True, False]), None, "c")
    assert branch == Constant(b"\2")
    assert isinstance(value, Word)
    assert value.values.tolist() == [1, 0]
    assert column_cells(node, pa.nulls(2, pa.bool_()), None, "c") == [Constant(b"\0")]


def test_a_head_is_before_the_length_of_the_rows_that_begin_parts() -> None:
    heads = np.array([int.from_bytes(b"head0000", "little"), int.from_bytes(b"head2222", "little")], np.uint64)
    prefix = head_and_length(np.array([1, 2, 3]), np.array([0, 2]), heads)
    assert isinstance(prefix, Reference)
    data, ends = join([prefix], row_sizes([prefix], 3))
    assert data.tobytes() == b"head0000\0\0\0\1\0\0\0\2head2222\0\0\0\3"
    assert ends.tolist() == [0, 12, 16, 28]


def test_a_record_of_two_gigabytes_is_refused() -> None:
    for prefix in (length_prefix, lambda lengths: head_and_length(lengths, np.array([0]), np.zeros(1, np.uint64))):
        with pytest.raises(EncodeError, match="2147483648 bytes"):
            prefix(np.array([5, 2**31]))
