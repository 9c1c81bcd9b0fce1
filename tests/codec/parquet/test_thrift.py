"""Thrift's compact protocol, in both directions."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.codec.parquet.thrift import MAX_DEPTH, Field, Items, Kind, Struct, Value, decode_struct, encode_struct
from hudiformat.errors import DecodeError

VECTOR = bytes.fromhex(
    "15 0e"  # field 1, i32: 7
    "28 02 61 62"  # field 3, binary: "ab"
    "11"  # field 4: true
    "12"  # field 5: false
    "03 3c ff"  # field 30, byte, with its number as a zigzag varint
    "19 25 01 02"  # field 31, list of two i32: -1 and 1
    "1c 16 80 01 00"  # field 32, struct with field 1, i64: 64
    "17 00 00 00 00 00 00 f0 3f"  # field 33, double: 1.0
    "19 21 01 02"  # field 34, list of two booleans
    "00"  # end
)
STRUCT: Struct = {
    1: Field(Kind.I32, 7),
    3: Field(Kind.BINARY, b"ab"),
    4: Field(Kind.TRUE, True),
    5: Field(Kind.FALSE, False),
    30: Field(Kind.BYTE, 255),
    31: Field(Kind.LIST, Items(Kind.I32, (-1, 1))),
    32: Field(Kind.STRUCT, {1: Field(Kind.I64, 64)}),
    33: Field(Kind.DOUBLE, bytes.fromhex("000000000000f03f")),
    34: Field(Kind.LIST, Items(Kind.TRUE, (True, False))),
}


def test_a_struct_of_each_type() -> None:
    assert decode_struct(VECTOR) == (STRUCT, len(VECTOR))
    assert decode_struct(b"xx" + VECTOR + b"x", 2) == (STRUCT, len(VECTOR) + 2)
    assert encode_struct(STRUCT) == VECTOR


def test_the_footer_of_a_parquet_file_is_the_same_again() -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({f"c{i}": [1.5, None] for i in range(40)}), sink, write_page_index=True)
    data = sink.getvalue().to_pybytes()
    footer = data[-8 - int.from_bytes(data[-8:-4], "little") : -8]
    struct, end = decode_struct(footer)
    assert (encode_struct(struct), end) == (footer, len(footer))


integers = st.integers(-(2**63), 2**63 - 1)
numbers = st.integers(-(2**15), 2**15 - 1)


def fields(values: st.SearchStrategy[Field]) -> st.SearchStrategy[Struct]:
    return st.dictionaries(numbers, values, max_size=5)


def with_kind(kind: Kind, values: st.SearchStrategy[Value]) -> st.SearchStrategy[Field]:
    one = st.builds(Field, st.just(kind), values)
    return one | st.builds(Field, st.just(Kind.LIST), st.builds(Items, st.just(kind), st.lists(values).map(tuple)))


leaves = (
    with_kind(Kind.I64, integers)
    | with_kind(Kind.BINARY, st.binary(max_size=20))
    | with_kind(Kind.BYTE, st.integers(0, 255))
    | with_kind(Kind.UUID, st.binary(min_size=16, max_size=16))
    | st.booleans().map(lambda value: Field(Kind.TRUE if value else Kind.FALSE, value))
)
trees = fields(st.recursive(leaves, lambda inner: with_kind(Kind.STRUCT, fields(inner)), max_leaves=8))


@pytest.mark.slow
@given(trees)
def test_what_is_encoded_is_decoded(struct: Struct) -> None:
    data = encode_struct(struct)
    assert decode_struct(data) == (struct, len(data))


@pytest.mark.slow
@given(trees, st.data())
def test_a_cut_is_an_error(struct: Struct, data: st.DataObject) -> None:
    encoded = encode_struct(struct)
    with pytest.raises(DecodeError):
        decode_struct(encoded[: data.draw(st.integers(0, len(encoded) - 1))])


@given(st.binary(max_size=60))
def test_other_bytes_raise_nothing_else(junk: bytes) -> None:
    try:
        decode_struct(junk)
    except DecodeError:
        return


def test_a_list_that_is_longer_than_the_file_is_an_error() -> None:
    with pytest.raises(DecodeError, match="a list of 2097151 items"):
        decode_struct(bytes.fromhex("19 f5 ff ff 7f"))


def test_structs_that_never_end_are_an_error() -> None:
    with pytest.raises(DecodeError, match=f"at most {MAX_DEPTH} levels"):
        decode_struct(b"\x1c" * 100)
    with pytest.raises(DecodeError, match="at level 33"):
        decode_struct(b"\x19" * 100 + b"\0")


def test_a_number_of_more_than_64_bits_is_an_error() -> None:
    with pytest.raises(DecodeError, match="at most 64 bits"):
        decode_struct(b"\x15" + b"\xff" * 11)


def test_a_type_that_footers_do_not_have_is_an_error() -> None:
    with pytest.raises(DecodeError, match="expected a type of Thrift, found 11"):
        decode_struct(b"\x1b\0")
