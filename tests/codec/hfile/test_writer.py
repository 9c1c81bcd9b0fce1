from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from hudiformat.codec.hfile.file_info import RESERVED
from hudiformat.codec.hfile.reader import HFileReader
from hudiformat.codec.hfile.writer import block_ranges, encode_hfile
from hudiformat.errors import DataError, EncodeError, SchemaError, UnsupportedFeatureError
from tests.codec.hfile.files import hfile, numbered
from tests.effort import sample

ENTRIES = numbered(500)
VALUES = pa.array([b"x"])


def block_sizes(data: bytes) -> list[int]:
    return [batch.num_rows for batch in HFileReader(data).blocks()]


@pytest.mark.parametrize("compression", ["none", "gzip", "GZIP"])
@pytest.mark.parametrize("block_size", sample([-1, 0, 1, 100, 1000, 10**9], of=6))
def test_what_is_written_is_read_again(compression: str, block_size: int) -> None:
    data = hfile(ENTRIES, compression=compression, block_size=block_size, creation_time=7)
    reader = HFileReader(data)
    assert list(reader) == ENTRIES
    assert reader.file_info["hfile.CREATE_TIME_TS"] == bytes(7) + b"\7"
    assert data == hfile(ENTRIES, compression=compression, block_size=block_size, creation_time=7)


@pytest.mark.parametrize("kind", [pa.binary(), pa.string(), pa.large_binary(), pa.large_string()], ids=str)
def test_keys_and_values_come_in_any_form(kind: pa.DataType) -> None:
    keys, values = pa.array(["a", "b", "c"]), pa.array(["1", "", "3"])
    expected = encode_hfile(keys, values)
    assert encode_hfile(keys.cast(kind), values.cast(kind)) == expected
    chunks = [pa.chunked_array([array[:1], array[1:]]).cast(kind) for array in (keys, values)]
    assert encode_hfile(*chunks) == expected
    longer = [pa.concat_arrays([pa.array(["0"]), array, pa.array(["z"])]).cast(kind)[1:-1] for array in (keys, values)]
    assert encode_hfile(*longer) == expected
    assert list(HFileReader(encode_hfile(keys[:0].cast(kind), values[:0].cast(kind)))) == []


def test_a_block_is_closed_before_it_grows_past_its_size() -> None:
    sized = [(b"%03d" % number, bytes(26)) for number in range(6)]  # 50 bytes each
    assert block_sizes(hfile(sized, block_size=99)) == [1] * 6
    assert block_sizes(hfile(sized, block_size=100)) == [2, 2, 2]
    assert block_sizes(hfile(sized, block_size=299)) == [5, 1]
    assert block_sizes(hfile(sized, block_size=300)) == [6]


def test_equal_keys_share_a_block() -> None:
    entries = [(b"a", b"1"), (b"b", b"2"), (b"b", b"3"), (b"b", b"4"), (b"c", b"5"), (b"c", b"6")]
    assert block_sizes(hfile(entries, block_size=1)) == [1, 3, 2]
    assert block_sizes(hfile(entries, block_size=46)) == [2 + 2, 2]


def test_checksums_are_declared_so_that_hudis_reader_reaches_the_last_entry() -> None:
    small = [(b"%05d" % number, b"") for number in range(4000)]  # 26 bytes each
    header = hfile(small)
    assert header[25:29] == (32768).to_bytes(4, "big")  # of 104033 bytes: 4 checksums and not 7, which have 28 bytes
    assert list(HFileReader(header)) == small
    large = [*small, (b"99999", bytes(3))]
    assert hfile(large)[25:29] == (16384).to_bytes(4, "big")


def test_averages_and_sizes_are_those_of_keys_and_values() -> None:
    reader = HFileReader(hfile([(b"a", b"1234"), (b"bcd", b""), (b"cd", b"1")]))
    assert reader.file_info["hfile.AVG_KEY_LEN"] == b"\0\0\0\2"
    assert reader.file_info["hfile.AVG_VALUE_LEN"] == b"\0\0\0\1"
    assert reader.file_info["hfile.LASTKEY"] == b"\0\2cd"
    assert reader.trailer.uncompressed_data_index_size == 6 + 5 + 3 * 21


def test_names_in_any_script_come_back() -> None:
    named = {"schéma": b"1", "\U0001f600": b"2", "\udcff": b"3", "": b""}
    reader = HFileReader(hfile([], file_info=named, meta_blocks=named))
    assert {name: reader.file_info[name] for name in named} == named
    assert {name: reader.meta_block(name) for name in reader.meta_block_names} == named


# Errors


@pytest.mark.parametrize("compression", ["lz4", "snappy", "zstd", "lzo", "bzip2", "", "gz"])
def test_a_compression_that_hudi_does_not_have_is_refused_by_name(compression: str) -> None:
    with pytest.raises(
        UnsupportedFeatureError, match=f"found '{compression}'; write the file with one of these"
    ) as caught:
        hfile(ENTRIES, compression=compression)
    assert caught.value.feature == compression


def test_keys_out_of_order_are_refused() -> None:
    with pytest.raises(EncodeError, match="keys out of order: b'b' before b'a', at 1"):
        hfile([(b"a", b""), (b"b", b""), (b"a", b"")])


def test_the_order_is_that_of_bytes() -> None:
    with pytest.raises(EncodeError, match="out of order"):
        encode_hfile(pa.array(["\U00010000", "\ue000"]), pa.array(["", ""]))  # in order by UTF-16 units


def test_the_longest_key() -> None:
    entries = [(b"k" * 32767, b"v")]
    assert list(HFileReader(hfile(entries))) == entries
    with pytest.raises(EncodeError, match="a key of 32768 bytes; an HFile's have at most 32767"):
        hfile([(b"k" * 32768, b"v")])


@pytest.mark.parametrize(
    ("keys", "values", "column"),
    [(pa.array(["a", None]), VALUES, "key"), (VALUES, pa.array([None], pa.binary()), "value")],
)
def test_nulls_are_refused(keys: pa.Array, values: pa.Array, column: str) -> None:
    with pytest.raises(DataError, match=f"an HFile's {column} is null") as caught:
        encode_hfile(keys, values)
    assert caught.value.column == column


def test_columns_of_unlike_length_are_refused() -> None:
    with pytest.raises(DataError, match="2 keys and 1 values"):
        encode_hfile(pa.array(["a", "b"]), VALUES)


@pytest.mark.parametrize(
    ("keys", "values", "column"), [(pa.array([1]), VALUES, "key"), (VALUES, pa.array([1]), "value")]
)
def test_other_types_are_refused(keys: Any, values: Any, column: str) -> None:
    with pytest.raises(SchemaError, match=f"an HFile's {column}s are binary or text, not int64") as caught:
        encode_hfile(keys, values)
    assert caught.value.column == column


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_a_file_info_of_the_writers_own_is_refused(name: str) -> None:
    with pytest.raises(EncodeError, match=f"the file info {name} is the writer's own"):
        hfile(ENTRIES, file_info={name: b""})


@pytest.mark.parametrize("option", ["file_info", "meta_blocks"])
def test_a_name_without_utf8_is_refused(option: str) -> None:
    with pytest.raises(EncodeError, match="no UTF-8"):
        hfile(ENTRIES, **{option: {"\ud800": b""}})


def test_a_block_of_2_gib_is_refused() -> None:
    with pytest.raises(EncodeError, match="a data block of 2147483648 bytes; sizes are kept in 32 bits"):
        list(block_ranges(pa.array([b"a"], pa.large_binary()), pa.array([2**31], pa.int64()).to_numpy(), 2**40))
