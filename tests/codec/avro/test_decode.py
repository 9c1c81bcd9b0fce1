"""Records read: what writers other than Hudi's may do, and each kind of damage by name."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat.codec.avro.decode import decode_records, record_offsets
from hudiformat.codec.avro.delete_list import decode_delete_list
from hudiformat.codec.avro.encode import encode_datums, encode_records
from hudiformat.codec.avro.schema import arrow_to_avro
from hudiformat.errors import CorruptBlockError, DecodeError, SchemaError, TruncatedBlockError
from hudiformat.testing import batches
from tests.codec.avro.builders import SLOW, damage, framed, framed_records, record_schema, same, schema_of
from tests.codec.avro.reference import decode_with_fastavro, plain
from tests.effort import examples


def rows_of(kind: Any, *records: str) -> list[Any]:
    batch = decode_records(framed(*records), len(records), record_schema(("c", kind)))
    batch.validate(full=True)
    everything = decode_records(framed(*records), len(records), record_schema(("c", kind)), columns=[])
    assert everything.num_rows == len(records)
    values: list[Any] = batch.column("c").to_pylist()
    return values


def test_columns_are_chosen_and_ordered() -> None:
    schema = record_schema(("a", "int"), ("b", "string"), ("c", {"type": "array", "items": "int"}), ("d", "double"))
    data = framed("02 02 78 02 02 000000000000000000")
    batch = decode_records(data, 1, schema, columns=["d", "a"])
    assert batch.schema.names == ["d", "a"]
    assert batch.to_pylist() == [{"d": 0.0, "a": 1}]


def test_a_column_that_is_not_there_is_refused() -> None:
    with pytest.raises(SchemaError, match="no column 'x'"):
        decode_records(b"", 0, record_schema(("c", "int")), columns=["x"])


def test_no_records() -> None:
    assert decode_records(b"", 0, record_schema(("c", "int"))).schema.names == ["c"]


_ITEMS = {"type": "array", "items": ["null", "string"]}


_EMPTY = {"type": "record", "name": "i", "fields": []}


_WIDE = {"type": "fixed", "name": "f", "size": 17, "logicalType": "decimal", "precision": 38}


def test_blocks_of_items_with_a_size_and_several_blocks() -> None:
    assert rows_of(_ITEMS, "01 06 02 02 7804 00 02 02 7900", "00") == [["x", None, "y"], []]
    assert rows_of({"type": "map", "values": "int"}, "01 06 02 6b 0202 02 6c 04 00") == [[("k", 1), ("l", 2)]]


@pytest.mark.parametrize("rows", [1, 40])
@pytest.mark.parametrize(
    ("items", "one", "value"),
    [
        ("boolean", "01", True),
        ("int", "02", 1),
        ("long", "ff ff ff ff ff ff ff ff ff 01", -(2**63)),
        ("float", "00 00 80 3f", 1.0),
        ("double", "00 00 00 00 00 00 f0 bf", -1.0),
        ("string", "02 78", "x"),
        ("string", "80 02" + "61" * 128, "a" * 128),
        (["null", "int"], "00", None),
        (["int", "null"], "00 02", 1),
        (["null", "int", "string"], "02 02", {"member0": 1, "member1": None}),
        (["null", "int", "string"], "00", None),
        ({"type": "fixed", "name": "f", "size": 2}, "61 62", b"ab"),
        ({"type": "enum", "name": "e", "symbols": ["A", "B"]}, "02", "B"),
        ({"type": "array", "items": "int"}, "02 02 00", [1]),
        ({"type": "array", "items": "int"}, "01 02 02 00", [1]),
        ({"type": "map", "values": "int"}, "02 02 6b 02 00", [("k", 1)]),
        ({"type": "record", "name": "i", "fields": [{"name": "x", "type": "int"}]}, "02", {"x": 1}),
        ({"type": "record", "name": "i", "fields": []}, "", {}),
    ],
    ids=str,
)
def test_items_of_every_type_in_few_rows_and_in_many(items: Any, one: str, value: Any, rows: int) -> None:
    # few rows go through a loop per row, many through all rows at once
    padded = {
        "type": "array",
        "items": {
            "type": "record",
            "name": "padded",
            "fields": [{"name": "item", "type": items}, {"name": "flag", "type": "boolean"}],
        },
    }
    records = [f"06 {one} 00 {one} 01 {one} 00 00", "00"] * rows
    expected = [{"item": value, "flag": False}, {"item": value, "flag": True}, {"item": value, "flag": False}]
    assert rows_of(padded, *records) == [expected, []] * rows


def test_rows_of_very_different_lengths() -> None:
    records = ["02 02 00"] * 50 + ["c8 01" + "04" * 100 + "00"]
    assert rows_of({"type": "array", "items": "int"}, *records) == [[1]] * 50 + [[2] * 100]


def _corrupt(message: str, kind: Any, *records: str) -> None:
    for many in (1, 40):
        damaged = framed(*records * many)
        with pytest.raises(CorruptBlockError, match=message) as caught:
            decode_records(damaged, len(records) * many, record_schema(("c", kind)))
        assert caught.value.offset is not None
        assert caught.value.offset <= len(damaged)


@pytest.mark.parametrize(
    ("message", "kind", "record"),
    [
        ("ends before its declared length", "int", "02 02"),
        ("past the end of its record", "int", ""),
        ("past the end of its record", "double", "00"),
        ("past the end of its record", "int", "80"),
        ("past the end of its record", {"type": "fixed", "name": "f", "size": 300}, "00"),
        ("over 64 bits", "long", "ff ff ff ff ff ff ff ff ff 02"),
        ("over 64 bits", "long", "80" * 20),
        ("over 32 bits", "int", "80 80 80 80 10"),
        ("neither 0 nor 1", "boolean", "02"),
        ("2 branches", ["null", "int"], "04 02"),
        ("2 branches", ["null", "int"], "82 00 02"),
        ("3 branches", ["null", "int", "string"], "06"),
        ("3 branches", ["null", "int", "string"], "01"),
        ("1 symbols", {"type": "enum", "name": "e", "symbols": ["A"]}, "02"),
        ("longer than the rest", "string", "04 61"),
        ("longer than the rest", "string", "01"),
        ("longer than the rest", "bytes", "fe ff ff ff ff ff ff ff ff 01"),
        ("not UTF-8", "string", "02 ff"),
        ("outside the day", {"type": "int", "logicalType": "time-millis"}, "80 f0 b2 52"),
        ("outside the day", {"type": "long", "logicalType": "time-micros"}, "01"),
        ("more digits", {"type": "fixed", "name": "f", "size": 2, "logicalType": "decimal", "precision": 3}, "7f ff"),
        ("over 16 bytes", _WIDE, "01" + "00" * 16),
        ("over 16 bytes", _WIDE, "00 80" + "00" * 15),
        ("too many", {"type": "bytes", "logicalType": "decimal", "precision": 3}, "00"),
        ("too many", {"type": "bytes", "logicalType": "decimal", "precision": 3}, "42" + "00" * 33),
        ("more items than bytes", _ITEMS, "fe ff ff ff ff ff ff ff ff 01"),
        ("more items than bytes", _ITEMS, "ff ff ff ff ff ff ff ff ff 01 00"),
        ("more items than bytes", {"type": "array", "items": _EMPTY}, "80 80 80 80 80 01 00"),
        ("impossible size", _ITEMS, "01 fe 01 00"),
        ("impossible size", _ITEMS, "01 01 00"),
        ("not have the size", _ITEMS, "01 04 00 00 00"),
        ("item|past the end", _ITEMS, "04 02 02 78"),
        ("item|longer", _ITEMS, "02 02 fe 78"),
        ("item|branches", _ITEMS, "02 06 00"),
        ("item|longer|negative", {"type": "array", "items": "string"}, "02 01 00"),
        ("item|longer|64", {"type": "array", "items": "string"}, "02" + "ff" * 12 + "00"),
        ("item|over 64", {"type": "array", "items": "long"}, "02" + "ff" * 12 + "00"),
        ("item|branches", {"type": "array", "items": ["null", "int", "string"]}, "02 09 00"),
        ("item|more items", {"type": "array", "items": _ITEMS}, "02 7e 00 00"),
        ("item|impossible", {"type": "array", "items": _ITEMS}, "02 01 01 00 00 00"),
        ("item|longer", {"type": "array", "items": _ITEMS}, "02 04 00 02 7e 00"),
    ],
    ids=str,
)  # fmt: skip
def test_damage_within_a_record(message: str, kind: Any, record: str) -> None:
    _corrupt(message, kind, record)


def test_the_offset_is_that_of_the_damaged_value() -> None:
    data = framed("02 61", "04 61 62", "02 ff", "02 61")
    with pytest.raises(CorruptBlockError) as caught:
        decode_records(data, 4, record_schema(("c", "string")))
    assert caught.value.offset == data.index(b"\xff")


def test_offsets_count_from_the_start_in_later_chunks_too() -> None:
    data = framed(*["02"] * 9000, "04 00")
    with pytest.raises(CorruptBlockError, match=f"at byte {9000 * 5 + 5}:"):
        decode_records(data, 9001, record_schema(("c", "int")))


@pytest.mark.parametrize("count", [-1, 2, 3, 2**31])
def test_a_count_that_lies(count: int) -> None:
    with pytest.raises((CorruptBlockError, TruncatedBlockError)):
        decode_records(framed("02"), count, record_schema(("c", "int")))


def test_bytes_after_the_last_record() -> None:
    with pytest.raises(CorruptBlockError, match="1 bytes follow"):
        decode_records(framed("02") + b"\0", 1, record_schema(("c", "int")))


def test_a_negative_length() -> None:
    with pytest.raises(CorruptBlockError, match="length -1"):
        decode_records(b"\xff\xff\xff\xff\x02", 1, record_schema(("c", "int")))


def test_a_record_cut_off() -> None:
    with pytest.raises(TruncatedBlockError, match="record 1 of 1"):
        decode_records(framed("02 02")[:-1], 1, record_schema(("c", "int")))


def test_a_block_of_two_gigabytes_is_refused() -> None:
    with pytest.raises(CorruptBlockError, match="2 GiB"):
        decode_records(np.zeros(2**31, np.uint8).data, 0, record_schema(("c", "int")))


def test_required_fields_of_a_null_struct() -> None:
    inner = {"type": "record", "name": "i", "fields": [{"name": "x", "type": "string"}, {"name": "y", "type": "int"}]}
    batch = decode_records(framed("00", "02 02 61 02"), 2, record_schema(("c", ["null", inner])))
    batch.validate(full=True)
    assert batch.to_pylist() == [{"c": None}, {"c": {"x": "a", "y": 1}}]


def test_a_single_value_stands_at_an_even_address(capfd: pytest.CaptureFixture[str]) -> None:
    schema = pa.schema([pa.field("s", pa.string(), nullable=False), pa.field("x", pa.float64(), nullable=False)])
    rows = pa.RecordBatch.from_pydict({"s": ["ab"], "x": [0.5]}, schema=schema)
    text = arrow_to_avro(schema, name="r", namespace="n")
    for shift in range(8):
        content = memoryview(bytes(shift) + encode_records(rows, text))[shift:]
        found = pa.Table.from_batches([decode_records(content, 1, text)])
        assert found.filter(pc.field("x") == 0.5) == found
    assert capfd.readouterr().err == ""  # where Arrow complains of others


def _offsets(lengths: list[int]) -> list[int]:
    offsets: list[int] = np.cumsum([0, *(length + 4 for length in lengths)]).tolist()
    return offsets


@settings(deadline=None, max_examples=examples(40))
@given(
    lengths=st.lists(st.integers(0, 60), min_size=1, max_size=60),
    filler=st.sampled_from([b"\0", b"\0\0\0\1", b"a", b"\xff", b"\0\0\0\0\1\2"]),
    times=st.sampled_from([1, 100, 1000]),
)
def test_records_of_all_lengths_are_found(lengths: list[int], filler: bytes, times: int) -> None:
    data = framed_records(lengths * times, filler)
    offsets = record_offsets(memoryview(data), len(lengths) * times)
    assert offsets.tolist() == _offsets(lengths * times)


@pytest.mark.parametrize("at", [0, 1, 2500, 4998, 4999])
@pytest.mark.parametrize("change", [-1, 1, -(2**31)])
def test_one_wrong_length_among_many_is_found(at: int, change: int) -> None:
    data = bytearray(framed_records([40] * 5000, b"\xff"))
    data[44 * at : 44 * at + 4] = ((40 + change) % 2**32).to_bytes(4, "big")
    with pytest.raises(DecodeError):
        record_offsets(memoryview(data), 5000)


@pytest.mark.parametrize("count", [4999, 5001])
def test_a_wrong_count_of_many_is_found(count: int) -> None:
    with pytest.raises(DecodeError):
        record_offsets(memoryview(framed_records([40] * 5000, b"\xff")), count)


def test_one_record_among_many_may_be_long() -> None:
    lengths = [10] * 3000 + [100_000] + [10] * 3000
    offsets = record_offsets(memoryview(framed_records(lengths, b"a")), len(lengths))
    assert offsets.tolist() == _offsets(lengths)


@pytest.mark.slow
@SLOW
@given(batch=batches())
def test_decoded_rows_equal_fastavro(batch: pa.RecordBatch) -> None:
    schema = schema_of(batch)
    encoded = encode_records(batch, schema)
    decoded = decode_records(encoded, batch.num_rows, schema)
    rows = [{field.name: plain(row[field.name], field.type) for field in decoded.schema} for row in decoded.to_pylist()]
    assert _utc(repr(rows)) == _utc(repr(decode_with_fastavro(bytes(encoded), schema)))


def _utc(text: str) -> str:
    """Arrow and fastavro name UTC by different classes."""
    return (
        text.replace("zoneinfo.ZoneInfo(key='UTC')", "UTC")
        .replace("datetime.timezone.utc", "UTC")
        .replace("<UTC>", "UTC")
    )


@pytest.mark.slow
@SLOW
@given(batch=batches(), data=st.data())
def test_chosen_columns_equal_those_of_all(batch: pa.RecordBatch, data: st.DataObject) -> None:
    schema = schema_of(batch)
    encoded = encode_records(batch, schema)
    names = data.draw(st.permutations(batch.schema.names))[: data.draw(st.integers(0, batch.num_columns))]
    chosen = decode_records(encoded, batch.num_rows, schema, columns=names)
    assert (chosen.schema.names, chosen.num_rows) == (names, batch.num_rows)
    if names:  # pyarrow has no rows where there are no columns
        assert same(chosen.to_pylist(), decode_records(encoded, batch.num_rows, schema).select(names).to_pylist())


@SLOW
@given(batch=batches(), data=st.data())
def test_damaged_bytes_raise_only_our_errors(batch: pa.RecordBatch, data: st.DataObject) -> None:
    schema = schema_of(batch)
    damaged = damage(data, encode_records(batch, schema))
    count = data.draw(st.sampled_from([batch.num_rows, 0, 1, -1, 2**31]))
    with contextlib.suppress(DecodeError):
        decoded = decode_records(damaged, count, schema)
        decoded.validate(full=True)
        assert decoded.num_rows == count


@pytest.mark.slow
@SLOW
@given(batch=batches(max_rows=3), data=st.data())
def test_damage_within_a_record_raises_only_our_errors(batch: pa.RecordBatch, data: st.DataObject) -> None:
    schema = schema_of(batch)
    damaged = [damage(data, datum) for datum in encode_datums(batch, schema).to_pylist()]
    framed = b"".join(len(datum).to_bytes(4, "big") + datum for datum in damaged)
    with contextlib.suppress(DecodeError):
        decoded = decode_records(framed, len(damaged), schema)
        decoded.validate(full=True)
        assert decoded.num_rows == len(damaged)
    with contextlib.suppress(DecodeError):
        assert decode_records(framed, len(damaged), schema, columns=[]).num_rows == len(damaged)


@SLOW
@given(junk=st.binary(max_size=200))
def test_junk_raises_only_our_errors(junk: bytes) -> None:
    with contextlib.suppress(DecodeError):
        decode_delete_list(junk)
