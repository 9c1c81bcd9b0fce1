"""The content of Avro data blocks: vectors, versions and damage."""

from __future__ import annotations

import pyarrow as pa
import pytest

from hudiformat.codec.log.block import LogBlock, decode_block
from hudiformat.codec.log.frame import BlockHeader, BlockType, HeaderKey
from hudiformat.errors import (
    CorruptBlockError,
    DecodeError,
    TruncatedBlockError,
    UnsupportedVersionError,
)
from tests.codec.log.vectors import AVRO, SCHEMA

HEADER = BlockHeader({HeaderKey.INSTANT_TIME: "001", HeaderKey.SCHEMA: SCHEMA})


def avro(content: str) -> LogBlock:
    return LogBlock(BlockType.AVRO_DATA, HEADER, bytes.fromhex(content))


def test_the_records_of_the_vector() -> None:
    block, _ = decode_block(AVRO)
    batch = block.to_arrow()
    assert block.num_records() == batch.num_rows == 2
    assert batch.to_pydict() == {"a": [1, -2]}
    assert batch.schema == pa.schema([pa.field("a", pa.int32(), nullable=False)])


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
