"""The content of delete blocks: vectors, versions and damage."""

from __future__ import annotations

import pytest

from hudiformat.codec.log.block import LogBlock, decode_block
from hudiformat.codec.log.build import delete_block
from hudiformat.codec.log.frame import BlockHeader, BlockType, HeaderKey
from hudiformat.errors import (
    CorruptBlockError,
    DecodeError,
    TruncatedBlockError,
    UnsupportedVersionError,
)
from tests.codec.log.vectors import DELETE, SCHEMA

HEADER = BlockHeader({HeaderKey.INSTANT_TIME: "001", HeaderKey.SCHEMA: SCHEMA})


def deletes(content: str) -> LogBlock:
    return LogBlock(BlockType.DELETE, HEADER, bytes.fromhex(content))


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
