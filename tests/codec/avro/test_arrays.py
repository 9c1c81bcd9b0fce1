"""Arrow arrays as numpy arrays, and varints."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.codec.avro.arrays import (
    Output,
    Parts,
    bitmap,
    decode_varints,
    encode_varints,
    estimate_nbytes,
    map_leaf_types,
    numbers,
    offsets,
    one_batch,
    rows_within,
    unzigzag,
    validity,
    varint_sizes,
    varint_stops,
    zigzag,
)
from tests.codec.avro.builders import both_ways, record_schema


@pytest.mark.parametrize(
    ("value", "bytes_"),
    [
        (0, "00"),
        (-1, "01"),
        (63, "7e"),
        (64, "80 01"),
        (-65, "81 01"),
        (8191, "fe 7f"),
        (8192, "80 80 01"),
        (2**27 - 1, "fe ff ff 7f"),
        (2**34 - 1, "fe ff ff ff 7f"),
        (2**41 - 1, "fe ff ff ff ff 7f"),
        (2**48 - 1, "fe ff ff ff ff ff 7f"),
        (2**55 - 1, "fe ff ff ff ff ff ff 7f"),
        (2**55, "80 80 80 80 80 80 80 80 01"),
        (2**62 - 1, "fe ff ff ff ff ff ff ff 7f"),
        (2**62, "80 80 80 80 80 80 80 80 80 01"),
        (2**63 - 1, "fe ff ff ff ff ff ff ff ff 01"),
        (-(2**63), "ff ff ff ff ff ff ff ff ff 01"),
    ],
)
def test_longs_of_every_length(value: int, bytes_: str) -> None:
    both_ways(record_schema(("c", "long")), [{"c": value}], bytes_)
    # the byte that says "not null" makes nine bytes of eight, and eleven of ten
    both_ways(
        record_schema(("c", ["null", "long"]), ("d", "long")), [{"c": value, "d": value}], f"02 {bytes_} {bytes_}"
    )
    rows = [{"c": value}, {"c": None}, {"c": 1}]
    both_ways(record_schema(("c", ["null", "long"])), rows, f"02 {bytes_}", "00", "02 02")


def test_arrays_without_buffers() -> None:
    empty = pa.Array.from_buffers(pa.list_(pa.int32()), 0, [None, None], children=[pa.array([], pa.int32())])
    nothing = pa.Array.from_buffers(pa.int32(), 0, [None, None])
    assert offsets(empty).tolist() == [0]
    assert numbers(nothing, np.int32).tolist() == []


def test_varints_are_words_and_lengths() -> None:
    [(words, lengths, longest)] = encode_varints(np.array([5, 300, 16384], np.uint64))
    assert words.tolist() == [0x05, 0x02AC, 0x018080]
    assert isinstance(lengths, np.ndarray)
    assert (lengths.tolist(), longest) == ([1, 2, 3], 3)


@pytest.mark.parametrize("values", [[5], [300, 200], [16384, 2**21 - 1]])
def test_equal_lengths_are_one_number(values: list[int]) -> None:
    [(_, lengths, longest)] = encode_varints(np.array(values, np.uint64))
    assert lengths == longest


def test_varints_at_the_start_of_words_are_decoded() -> None:
    words = np.array([0x77777705, 0x777702AC, 0x77018080, 0x80808080], np.uint32)
    stops = varint_stops(words)
    values, sizes = decode_varints(words, stops)
    assert values[:3].tolist() == [5, 300, 16384]
    assert sizes.tolist() == varint_sizes(stops).tolist() == [1, 2, 3, 0]


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_zigzag_is_reversed(values: list[int]) -> None:
    numbers = np.array(values, np.int64)
    assert unzigzag(zigzag(numbers)).tolist() == values
    assert zigzag(np.array([0, -1, 1, -2])).tolist() == [0, 1, 2, 3]


def test_validity_respects_slices_and_comes_back() -> None:
    array = pa.array([1, None, 3, None])
    assert validity(array.slice(2, 1)) is None
    valid = validity(array.slice(1, 3))
    assert valid is not None
    assert valid.tolist() == [False, True, False]
    buffer = bitmap(valid)
    assert buffer is not None
    assert buffer.to_pybytes() == bytes([0b010])
    assert bitmap(None) is None


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.list_(pa.int8()), pa.large_list(pa.int8()), pa.list_(pa.int8(), 2)]
)
def test_offsets_of_slices(kind: pa.DataType) -> None:
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    array = pa.array(["ab", "cd", "ef"] if text else [[1, 2], [3, 4], [5, 6]], kind)
    assert offsets(array).tolist() == [0, 2, 4, 6]
    assert offsets(array.slice(1)).tolist() == [2, 4, 6]


def test_a_table_of_any_number_of_chunks_becomes_one_batch() -> None:
    batch = pa.RecordBatch.from_pydict({"n": [1, 2]})
    assert one_batch(batch) is batch
    assert one_batch(pa.Table.from_batches([batch, batch])).to_pydict() == {"n": [1, 2, 1, 2]}
    assert one_batch(pa.Table.from_batches([], batch.schema)).num_rows == 0


def test_the_rows_within_a_size_are_found_by_slices() -> None:
    texts = pa.table({"t": pa.array(["a" * 4, "b" * 4, "c" * 96, "d" * 4])})  # and four bytes of each one's offset
    assert [rows_within(texts, size) for size in (0, 7, 8, 15, 16, 115, 116, 123, 124, 1000)] == [
        0, 0, 1, 1, 2, 2, 3, 3, 4, 4,
    ]  # fmt: skip
    assert rows_within(texts.to_batches()[0].slice(1, 2), 20) == 1


def test_bytes_are_appended_where_there_is_room_and_where_there_is_none() -> None:
    output = Output(4, b"ab")
    for part in (b"cd", b"", b"efghijkl", b"m"):
        output.append(np.frombuffer(part, np.uint8))
    output.reserve(3)[:] = 0x7A  # not used
    output.reserve(2)[:] = 0x6E
    output.used += 2
    assert output.used == 15
    assert bytes(output.written_bytes()) == b"abcdefghijklmnn"
    assert output.written_bytes().readonly


def test_parts_are_counted_from_the_rows_that_they_are_in() -> None:
    parts = Parts(np.array([0, 3, 5]), np.array([7, 8, 9], np.uint64))
    here = parts.in_rows(3, 5)
    assert here.heads is not None
    assert (here.firsts.tolist(), here.heads.tolist()) == ([0], [8])
    assert Parts(parts.firsts).in_rows(1, 6).firsts.tolist() == [2, 4]
    assert Parts(parts.firsts).in_rows(1, 6).heads is None
    none = Parts()
    assert none.in_rows(0, 5) is none


def test_a_batch_whose_bytes_arrow_does_not_know_has_the_size_of_its_buffers() -> None:
    class OfViews:
        @property
        def nbytes(self) -> int:
            raise pa.ArrowTypeError("as pyarrow 19 for string_view")

        def get_total_buffer_size(self) -> int:
            return 7

    assert estimate_nbytes(cast("pa.RecordBatch", OfViews())) == 7


@pytest.mark.parametrize(
    "made",
    [
        lambda kind: kind,
        lambda kind: pa.struct([pa.field("a", kind, nullable=False), pa.field("b", pa.int8())]),
        lambda kind: pa.list_(pa.field("item", pa.list_(kind))),
        pa.large_list,
        lambda kind: pa.list_(kind, 3),
        lambda kind: pa.map_(pa.int8(), kind, keys_sorted=True),
    ],
)
def test_types_inside_a_type_are_mapped_and_nothing_else_changes(
    made: Callable[[pa.DataType], pa.DataType],
) -> None:
    other = map_leaf_types(made(pa.string()), lambda leaf: pa.binary() if leaf == pa.string() else leaf)
    assert other.equals(made(pa.binary()), check_metadata=True)
