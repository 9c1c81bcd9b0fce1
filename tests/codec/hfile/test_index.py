from __future__ import annotations

import pytest

from hudiformat.codec.hfile.block import Block, BlockType
from hudiformat.codec.hfile.index import (
    IndexEntry,
    decode_data_index,
    decode_inner_index,
    decode_meta_index,
    encode_data_index,
)
from hudiformat.codec.hfile.reader import HFileReader
from hudiformat.errors import CorruptBlockError, DecodeError
from tests.codec.hfile.files import Watched, data_block, inner_index, numbered, put_together, rows

ENTRIES = numbered(80)
ROOT = bytes.fromhex("0000000000000000 00000056 04 0002 6131  0000000000000056 00000026 05 0002 6232 ff")


def block(content: bytes) -> Block:
    return Block(memoryview(content), 0, 0)


@pytest.mark.parametrize("sizes", [[], [1, 127, 5], [127, 128, 3], [300], [0, 2000, 1]])
def test_keys_of_all_lengths(sizes: list[int]) -> None:
    entries = [IndexEntry(bytes([number]) * size, number * 7, 9) for number, size in enumerate(sizes)]
    assert decode_data_index(block(encode_data_index(entries)), len(entries)) == entries


def three_levels() -> bytes:
    """Eight data blocks, four leaves behind each two of them, two intermediate blocks."""
    parts: list[bytes] = []

    def add(data: bytes, key: bytes) -> IndexEntry:
        parts.append(data)
        return IndexEntry(key, sum(map(len, parts[:-1])), len(data))

    leaves = []
    for leaf in range(4):
        chunks = [ENTRIES[start : start + 10] for start in range(20 * leaf, 20 * leaf + 20, 10)]
        data = [add(data_block(chunk), chunk[0][0]) for chunk in chunks]
        leaves.append(add(inner_index(BlockType.LEAF_INDEX, data), data[0].key))
    root = [
        add(inner_index(BlockType.INTERMEDIATE_INDEX, leaves[start : start + 2]), leaves[start].key) for start in (0, 2)
    ]
    return put_together(parts, root, data_index_levels=3, entry_count=80)


def test_an_index_of_three_levels() -> None:
    source = Watched(three_levels())
    reader = HFileReader(source)
    assert list(reader) == ENTRIES
    assert rows(reader.scan("key 00015", "key 00062")) == ENTRIES[15:62]
    for key, value in ENTRIES:
        assert reader.get(key) == value
        assert reader.get(key + b"x") is None
    assert reader.get("a") is None


def test_a_look_up_reads_one_block_of_each_level_and_that_once() -> None:
    data = three_levels()
    source = Watched(data)
    reader = HFileReader(source)
    source.ranges.clear()
    assert reader.get("key 00045") == b"value 45"
    assert [data[start : start + 8] for start, _ in source.ranges] == [b"IDXINTE2", b"IDXLEAF2", b"DATABLK*"]
    source.ranges.clear()
    assert reader.get("key 00055") == b"value 55"
    assert [data[start : start + 8] for start, _ in source.ranges] == [b"DATABLK*"]


def test_leaves_that_lead_to_the_same_blocks_are_corrupt() -> None:
    data = data_block(ENTRIES[:1])
    entry = IndexEntry(b"key 00000", 0, len(data))
    leaf = inner_index(BlockType.LEAF_INDEX, [entry])
    leaves = [IndexEntry(b"key 0000%d" % n, len(data) + n * len(leaf), len(leaf)) for n in range(2)]
    reader = HFileReader(put_together([data, leaf, leaf], leaves, data_index_levels=2, entry_count=2))
    with pytest.raises(CorruptBlockError, match=f"an index leads to byte 0 after byte {len(data)}"):
        list(reader)


def test_a_root_index_field_by_field() -> None:
    # The second key has a byte of what HBase keeps behind the row.
    assert decode_data_index(block(ROOT), 2) == [IndexEntry(b"a1", 0, 86), IndexEntry(b"b2", 86, 38)]
    assert [entry.key for entry in decode_meta_index(block(ROOT), 2)] == [b"\0\2a1", b"\0\2b2\xff"]
    assert len(decode_data_index(block(ROOT), 1)) == 1


@pytest.mark.parametrize("count", [-1, 3, 2**31 - 1])
def test_a_count_of_entries_that_cannot_be(count: int) -> None:
    with pytest.raises(CorruptBlockError, match=f"{count} index entries, in {len(ROOT)} bytes"):
        decode_data_index(block(ROOT), count)


@pytest.mark.parametrize(
    "key", ["05 0002 6131", "ff 0002 6131", "04 0003 6131", "04 ffff 6131", "01 00", "00"], ids=str
)
def test_a_key_whose_length_lies(key: str) -> None:
    with pytest.raises(DecodeError, match="bytes expected|negative length"):
        decode_data_index(block(bytes(12) + bytes.fromhex(key)), 1)


LEAF = inner_index(BlockType.LEAF_INDEX, [IndexEntry(b"a", 1, 2), IndexEntry(b"bc", 3, 4)])[33:-4]


def test_a_leaf_field_by_field() -> None:
    assert (
        bytes.fromhex(
            "00000002 00000000 0000000f 0000001f 0000000000000001 00000002 0001 61 0000000000000003 00000004 0002 6263"
        )
        == LEAF
    )
    assert decode_inner_index(block(LEAF)) == [IndexEntry(b"a", 1, 2), IndexEntry(b"bc", 3, 4)]


@pytest.mark.parametrize(
    ("place", "number", "message"),
    [
        (0, -1, "-1 index entries, in 43 bytes"),
        (0, 11, "11 index entries, in 43 bytes"),
        (0, 2**31 - 1, "index entries, in"),
        (4, 1, "an index entry at 0 should be at 1"),
        (8, 14, "row: 1 bytes expected, 0 left"),
        (8, 11, "negative length -1"),
        (8, 2**31 - 1, "bytes expected"),
        (8, 16, "row|length"),
        (12, 32, "bytes expected"),
    ],
)
def test_a_leaf_whose_numbers_lie(place: int, number: int, message: str) -> None:
    damaged = LEAF[:place] + number.to_bytes(4, "big", signed=True) + LEAF[place + 4 :]
    with pytest.raises(DecodeError, match=message):
        decode_inner_index(block(damaged))
