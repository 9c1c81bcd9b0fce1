from __future__ import annotations

import contextlib
import re

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat.blocks import (
    BlockHeader,
    BlockType,
    HeaderKey,
    LogBlock,
    data_block,
    decode_block,
    delete_block,
    rollback_block,
)
from hudiformat.errors import (
    CorruptBlockError,
    DecodeError,
    HudiFormatError,
    SchemaError,
    TruncatedBlockError,
    UnsupportedFeatureError,
    UnsupportedVersionError,
)
from tests.blocks.vectors import AVRO, DELETE, SCHEMA, envelope

BATCH = pa.record_batch({"a": pa.array([1, 2], pa.int32()), "b": pa.array(["x", None]), "c": pa.array([0.5, 1.5])})
BLOCK = data_block(BATCH, instant="001")
HEADER = BlockHeader({HeaderKey.INSTANT_TIME: "001", HeaderKey.SCHEMA: SCHEMA})


def avro(content: str) -> LogBlock:
    return LogBlock(BlockType.AVRO_DATA, HEADER, bytes.fromhex(content))


def deletes(content: str) -> LogBlock:
    return LogBlock(BlockType.DELETE, HEADER, bytes.fromhex(content))


# Records


def test_the_records_of_the_vector() -> None:
    block, _ = decode_block(AVRO)
    batch = block.to_arrow()
    assert block.num_records() == batch.num_rows == 2
    assert batch.to_pydict() == {"a": [1, -2]}
    assert batch.schema == pa.schema([pa.field("a", pa.int32(), nullable=False)])


def test_without_a_schema_the_rows_come_as_they_were_written() -> None:
    assert BLOCK.to_arrow() == BATCH


def test_with_a_schema_columns_go_by_name_and_are_promoted_and_missing_ones_are_null() -> None:
    target = pa.schema([("c", pa.float64()), ("d", pa.string()), ("a", pa.int64())])
    batch = BLOCK.to_arrow(target)
    assert batch.schema == target
    assert batch.to_pydict() == {"c": [0.5, 1.5], "d": [None, None], "a": [1, 2]}


def test_columns_are_picked_in_the_order_asked_for() -> None:
    batch = BLOCK.to_arrow(columns=["c", "a"])
    assert batch.to_pydict() == {"c": [0.5, 1.5], "a": [1, 2]}
    assert BLOCK.to_arrow(columns=[]).num_rows == 2


def test_columns_pick_from_the_schema_where_there_is_one() -> None:
    target = pa.schema([("a", pa.int64()), ("b", pa.string()), ("d", pa.string())], metadata={"k": "v"})
    batch = BLOCK.to_arrow(target, columns=["d", "a"])
    assert batch.schema == pa.schema([("d", pa.string()), ("a", pa.int64())])
    assert batch.schema.metadata == {b"k": b"v"}
    assert batch.to_pydict() == {"d": [None, None], "a": [1, 2]}


def test_a_column_that_is_not_there_is_named() -> None:
    with pytest.raises(SchemaError, match="column z is not in the Avro schema"):
        BLOCK.to_arrow(columns=["z"])
    with pytest.raises(SchemaError, match=re.escape("column c is not in the schema, which has ['a']")) as caught:
        BLOCK.to_arrow(pa.schema([("a", pa.int64())]), columns=["a", "c"])
    assert caught.value.column == "c"


def test_rows_that_cannot_be_brought_to_the_schema_are_refused() -> None:
    with pytest.raises(SchemaError, match="column a"):
        BLOCK.to_arrow(pa.schema([("a", pa.string())]))
    with pytest.raises(SchemaError, match="column d .* required and missing"):
        BLOCK.to_arrow(pa.schema([pa.field("d", pa.string(), nullable=False)]))


@pytest.mark.parametrize("version", [1, 2, 3])
def test_content_versions_1_to_3_hold_the_same(version: int) -> None:
    assert avro(f"0000000{version} 00000001 00000001 02").to_arrow().to_pydict() == {"a": [1]}


@pytest.mark.parametrize("version", ["00000000", "00000004", "ffffffff"])
def test_another_version_of_the_content_is_refused_by_name(version: str) -> None:
    block = avro(f"{version} 00000000")
    for read in (block.num_records, block.to_arrow):
        with pytest.raises(UnsupportedVersionError, match="Avro data content of version .*; known are 1 to 3"):
            read()


@pytest.mark.parametrize("content", ["", "000000", "00000003", "00000003 0000"])
def test_a_content_that_is_cut_in_its_prologue(content: str) -> None:
    block = avro(content)
    for read in (block.num_records, block.to_arrow):
        with pytest.raises(TruncatedBlockError, match="content version|record count"):
            read()


@pytest.mark.parametrize(("count", "number"), [("ffffffff", -1), ("00000003", 3), ("7fffffff", 2147483647)])
def test_a_record_count_that_cannot_be(count: str, number: int) -> None:
    block = avro(f"00000003 {count} 00000001 02 00000001 03")
    for read in (block.num_records, block.to_arrow):
        with pytest.raises(CorruptBlockError, match=f"{number} records are declared, in 10 bytes"):
            read()


@pytest.mark.parametrize(
    "records",
    ["00000001 00000002 02", "00000001 00000001 02 00", "00000001 ffffffff 02", "00000000 00", "00000001 00000001 80"],
    ids=["past the end", "left over", "negative", "no records, but a byte", "an int without end"],
)
def test_records_that_do_not_fill_the_content(records: str) -> None:
    with pytest.raises(DecodeError):
        avro(f"00000003 {records}").to_arrow()


def test_a_block_without_a_schema_says_so() -> None:
    block = LogBlock(BlockType.AVRO_DATA, BlockHeader(), b"", offset=77)
    with pytest.raises(CorruptBlockError, match="at byte 77: a block of type AVRO_DATA without a SCHEMA header"):
        block.to_arrow()
    assert block.instant is None


@pytest.mark.parametrize("schema", ["", "{", '"int"', "\ufffd"])
def test_a_schema_that_is_none_is_an_error_of_ours(schema: str) -> None:
    header = BlockHeader({HeaderKey.SCHEMA: schema})
    with pytest.raises(SchemaError):
        LogBlock(BlockType.AVRO_DATA, header, bytes.fromhex("00000003 00000000")).to_arrow()


# Deletes


def test_the_deletes_of_the_vector() -> None:
    block, _ = decode_block(DELETE)
    assert block.num_records() == 2
    assert block.deletes().to_pylist() == [
        {"record_key": "k1", "partition_path": "p", "ordering": 1700000000000},
        {"record_key": "k2", "partition_path": "", "ordering": None},
    ]


def test_int_zero_stays_where_all_ordering_values_are_ints() -> None:
    assert delete_block(["k", "l"], instant="001").deletes()["ordering"].to_pylist() == [0, 0]


@pytest.mark.parametrize("version", ["00000000", "00000004", "ffffffff"])
def test_another_version_of_a_delete_block_is_refused_by_name(version: str) -> None:
    with pytest.raises(UnsupportedVersionError, match="delete content of version .*; known are 1 to 3"):
        deletes(f"{version} 00000001 00").deletes()


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        ("", TruncatedBlockError, "content version"),
        ("00000003", TruncatedBlockError, "delete list length"),
        ("00000003 ffffffff", CorruptBlockError, "delete list: negative length -1"),
        ("00000003 00000002 00", TruncatedBlockError, "delete list: 2 bytes expected, 1 left"),
        ("00000003 00000001 00 00", CorruptBlockError, "1 bytes after the delete list"),
        ("00000003 00000002 00 00", CorruptBlockError, "bytes follow the list of deletes"),
        ("00000003 00000000", CorruptBlockError, "past the end"),
    ],
)
def test_a_delete_list_that_is_damaged(content: str, error: type[DecodeError], message: str) -> None:
    block = deletes(content)
    for read in (block.deletes, block.num_records):
        with pytest.raises(error, match=message):
            read()


# Types


def test_a_command_or_corrupt_block_has_no_records() -> None:
    assert rollback_block(instant="002", target="001").num_records() == 0
    assert LogBlock(BlockType.CORRUPT, BlockHeader(), b"junk").num_records() == 0


@pytest.mark.parametrize("kind", [BlockType.COMMAND, BlockType.CORRUPT, BlockType.DELETE])
def test_a_block_without_rows_gives_none(kind: BlockType) -> None:
    with pytest.raises(UnsupportedFeatureError, match=f"a block of type {kind.name}"):
        LogBlock(kind, HEADER, b"").to_arrow()


@pytest.mark.parametrize("kind", [BlockType.COMMAND, BlockType.CORRUPT, BlockType.AVRO_DATA])
def test_a_block_without_deletes_gives_none(kind: BlockType) -> None:
    with pytest.raises(UnsupportedFeatureError, match=f"a block of type {kind.name}"):
        LogBlock(kind, HEADER, b"").deletes()


@settings(deadline=None)
@given(
    kind=st.sampled_from(BlockType),
    content=st.binary(max_size=40) | st.binary(max_size=40).map(lambda junk: b"\0\0\0\3\0\0\0\2" + junk),
    schema=st.sampled_from([SCHEMA, BLOCK.schema, "{}"]) | st.text(max_size=20),
)
def test_whatever_a_content_is_reading_raises_only_our_errors(kind: BlockType, content: bytes, schema: str) -> None:
    block = LogBlock(kind, BlockHeader({HeaderKey.SCHEMA: schema}), content)
    for read in (block.num_records, block.to_arrow, block.deletes):
        with contextlib.suppress(HudiFormatError):
            read()


# Offsets


def test_the_offset_of_a_content_counts_from_the_file() -> None:
    block, _ = decode_block(b"." * 5 + AVRO, 5, base=1000)
    assert block.content_offset == 1005 + len(AVRO) - 30
    corrupt = LogBlock(BlockType.CORRUPT, BlockHeader(), b"junk", offset=90, size=10)
    assert corrupt.content_offset == 96
    assert LogBlock(BlockType.COMMAND, BlockHeader(), b"").content_offset is None
    assert LogBlock(BlockType.COMMAND, BlockHeader(), b"", offset=3).content_offset is None


def test_errors_of_a_content_count_from_the_file() -> None:
    count = AVRO.replace(b"\0\0\0\3\0\0\0\2\0\0\0\1", b"\0\0\0\3\0\0\0\2\x80\0\0\1")
    block, _ = decode_block(count, base=1000)
    for schema in (None, pa.schema([("a", pa.int32())])):
        with pytest.raises(CorruptBlockError, match="at byte 1126: a record of length") as caught:
            block.to_arrow(schema)
        assert caught.value.offset == 1126
    block, _ = decode_block(envelope(kind=3, content=b"\0\0"), base=1000)
    with pytest.raises(TruncatedBlockError, match="at byte 1034: content version: 4 bytes expected, 2 left"):
        block.num_records()
    block, _ = decode_block(envelope(kind=1, content=b"\0\0\0\3\0\0\0\2\0"), base=1000)
    with pytest.raises(TruncatedBlockError, match="at byte 1042: delete list: 2 bytes expected, 1 left"):
        block.deletes()


def test_blocks_are_equal_when_they_say_the_same_wherever_they_stand() -> None:
    one, other = (rollback_block(instant="2", target="1")._replace(offset=offset) for offset in (1, 2))
    assert one == other
    assert hash(one) == hash(other)
    assert one != rollback_block(instant="3", target="1")
    assert one != tuple(one)
