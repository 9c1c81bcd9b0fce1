"""The entries of a data block."""

from __future__ import annotations

import struct

import pyarrow as pa
import pytest

from hudiformat.codec.hfile.block import BlockType, encode_block
from hudiformat.codec.hfile.file_info import PB_MAGIC
from hudiformat.codec.hfile.index import IndexEntry
from hudiformat.codec.hfile.reader import HFileReader
from hudiformat.codec.protobuf import encode_delimited, encode_field
from hudiformat.errors import (
    CorruptBlockError,
)
from tests.codec.hfile.files import NONE, put_together

ENTRIES = [(b"a1", b"x"), (b"b2", b"yz")]


def info(*entries: tuple[bytes, bytes]) -> bytes:
    pairs = (encode_field(1, encode_field(1, name) + encode_field(2, value)) for name, value in entries)
    return PB_MAGIC + encode_delimited(b"".join(pairs))


def test_entries_without_memstore_timestamps() -> None:
    entries = b"".join(
        struct.pack(">iih", 12 + len(key), len(value), len(key)) + key + bytes(10) + value for key, value in ENTRIES
    )
    block = encode_block(BlockType.DATA, entries, NONE)
    data = put_together([block], [IndexEntry(b"a1", 0, len(block))], info=info(), entry_count=2)
    assert list(HFileReader(data)) == ENTRIES


@pytest.mark.parametrize("timestamp", [b"\x7f", b"\x8f\xff", b"\x88" + b"\1" * 8, b"\x90"])
def test_entries_with_memstore_timestamps_of_any_length(timestamp: bytes) -> None:
    entries = b"".join(
        struct.pack(">iih", 12 + len(key), len(value), len(key)) + key + bytes(10) + value + timestamp
        for key, value in ENTRIES
    )
    block = encode_block(BlockType.DATA, entries, NONE)
    highest = info((b"KEY_VALUE_VERSION", b"\0\0\0\1"), (b"MAX_MEMSTORE_TS_KEY", b"\1" * 8))
    data = put_together([block], [IndexEntry(b"a1", 0, len(block))], info=highest, entry_count=2)
    assert list(HFileReader(data)) == ENTRIES


def test_a_memstore_timestamp_that_breaks_off() -> None:
    entry = struct.pack(">iih", 13, 0, 1) + b"a" + bytes(10) + b"\x88\1"
    block = encode_block(BlockType.DATA, entry, NONE)
    highest = info((b"KEY_VALUE_VERSION", b"\0\0\0\1"), (b"MAX_MEMSTORE_TS_KEY", b"\1" * 8))
    reader = HFileReader(put_together([block], [IndexEntry(b"a", 0, len(block))], info=highest))
    with pytest.raises(CorruptBlockError, match="vlong: 8 bytes expected, 1 left"):
        list(reader)


TAIL = b"\0" + b"\x7f" + b"\xff" * 7 + b"\4"


@pytest.mark.parametrize("timestamp", [b"", b"\0"], ids=["none", "a byte"])
@pytest.mark.parametrize("count", [1, 2, 40])
@pytest.mark.parametrize("announced", [[], [(b"MAX_MEMSTORE_TS_KEY", bytes(8))], [(b"KEY_VALUE_VERSION", bytes(4))]])
def test_a_memstore_timestamp_that_is_not_announced_is_found(
    timestamp: bytes, count: int, announced: list[tuple[bytes, bytes]]
) -> None:
    """Scanned, looked up one by one, and looked up at once; a value may be empty or full of zeros."""
    expected = [(b"k%02d" % number, bytes(number % 7)) for number in range(count)]
    entries = b"".join(
        struct.pack(">iih", 12 + len(key), len(value), len(key)) + key + TAIL + value + timestamp
        for key, value in expected
    )
    block = encode_block(BlockType.DATA, entries, NONE)
    data = put_together([block], [IndexEntry(b"k00", 0, len(block))], info=info(*announced), entry_count=count)
    assert list(HFileReader(data)) == expected
    assert [HFileReader(data).get(key) for key, _ in expected] == [value for _, value in expected]
    found, values = HFileReader(data).find(pa.array([key for key, _ in expected[:3]], pa.binary()))
    assert (found.tolist(), values.to_pylist()) == (list(range(min(count, 3))), [value for _, value in expected[:3]])
