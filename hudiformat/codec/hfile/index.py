"""Encode and decode index blocks, and look up blocks by their first keys.  Layout: spec/hfile.md.

The index is a tree.  Its root is read when the file is opened; if the tree has several levels, a look-up or scan reads
only the index blocks on its way.  An entry of a root block, for a data block of 50 bytes at byte 100 with the first key
"abc":

    00 00 00 00 00 00 00 64     the offset of the block
    00 00 00 32                 its size
    05                          the length of the key in the index, a vlong
    00 03 61 62 63              the key: the length of the row, and the row
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from hudiformat.codec.hfile.block import Block, BlockType
from hudiformat.codec.hfile.chain import ROW_LENGTH_SIZE
from hudiformat.codec.hfile.vlong import decode_vlong, encode_vlong
from hudiformat.errors import CorruptBlockError
from hudiformat.wire import Cursor, int32, int64

_SMALLEST_ENTRY = 13
_OFFSET_AND_SIZE = struct.Struct(">qi")
_LONGEST_IN_A_BYTE = 127  # a vlong
_MOST_LEVELS = 16
"""No real file has more levels, because an index block usually has more than 16 entries."""


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """A block's first key (or a text between it and the key before), its offset, and its size on disk."""

    key: bytes
    offset: int
    size: int


def encode_data_index(entries: Iterable[IndexEntry]) -> bytes:
    """Return the content of a root block over data blocks.

    Source: HFileRootIndexBlock.getUncompressedBlockDataToWrite.
    """
    return b"".join(_encode_entry(entry, len(entry.key).to_bytes(2, "big") + entry.key) for entry in entries)


def encode_meta_index(entries: Iterable[IndexEntry]) -> bytes:
    """Return the content of a root block over meta blocks, whose keys are their names.

    Source: HFileMetaIndexBlock.getUncompressedBlockDataToWrite.
    """
    return b"".join(_encode_entry(entry, entry.key) for entry in entries)


def _encode_entry(entry: IndexEntry, key: bytes) -> bytes:
    return b"".join((int64(entry.offset), int32(entry.size), encode_vlong(len(key)), key))


def decode_data_index(block: Block, count: int) -> list[IndexEntry]:
    """Return the *count* entries of a root block over data blocks, or over further index blocks.

    Raises:
        DecodeError: the block is damaged.

    Source: HFileRootIndexBlock.readBlockIndexEntry.
    """
    return [IndexEntry(row_of(key, block.base), offset, size) for key, offset, size in _decode_entries(block, count)]


def decode_meta_index(block: Block, count: int) -> list[IndexEntry]:
    """Return the *count* entries of a root block over meta blocks.

    Raises:
        DecodeError: the block is damaged.
    """
    return [IndexEntry(bytes(key), offset, size) for key, offset, size in _decode_entries(block, count)]


def _decode_entries(block: Block, count: int) -> Iterator[tuple[memoryview, int, int]]:
    cursor = Cursor(block.content, base=block.base)
    if not 0 <= count <= cursor.remaining // _SMALLEST_ENTRY:
        raise CorruptBlockError(f"{count} index entries, in {cursor.remaining} bytes", offset=block.offset)
    content, pos = block.content, 0
    while count and (begin := pos + _SMALLEST_ENTRY) <= len(content):
        # Entries whose length takes one byte, nearly all, are read without the cursor: an index may have many.
        end = begin + content[begin - 1]
        if end > min(begin + _LONGEST_IN_A_BYTE, len(content)):
            break
        offset, size = _OFFSET_AND_SIZE.unpack_from(content, pos)
        yield content[begin:end], offset, size
        count, pos = count - 1, end
    cursor.take(pos, "index entries")
    for _ in range(count):
        offset, size = cursor.int64("offset of a block"), cursor.int32("size of a block")
        yield cursor.take(decode_vlong(cursor), "key of an index entry"), offset, size


def decode_inner_index(block: Block) -> list[IndexEntry]:
    """Return the entries of an intermediate or leaf block, which holds their count and where each of them begins.

    Raises:
        DecodeError: the block is damaged.

    Source: HFileLeafIndexBlock.readBlockIndex.
    """
    cursor = Cursor(block.content, base=block.base)
    count = cursor.int32("count of index entries")
    if not 0 <= count < cursor.remaining // 4:
        raise CorruptBlockError(f"{count} index entries, in {cursor.remaining} bytes", offset=block.offset)
    starts = [cursor.int32("position of an index entry") for _ in range(count + 1)]
    first = cursor.pos
    entries = []
    for start, end in pairwise(starts):
        if start != cursor.pos - first:
            raise CorruptBlockError(f"an index entry at {cursor.pos - first} should be at {start}", offset=block.offset)
        offset, size = cursor.int64("offset of a block"), cursor.int32("size of a block")
        key = cursor.take(end - (cursor.pos - first), "key of an index entry")
        entries.append(IndexEntry(row_of(key, cursor.offset - len(key)), offset, size))
    return entries


def row_of(key: memoryview, offset: int) -> bytes:
    """Return the row of an HBase key, which is Hudi's key, without the parts that may follow it."""
    if len(key) >= ROW_LENGTH_SIZE and key[0] == 0 and ROW_LENGTH_SIZE + key[1] <= len(key):
        return bytes(key[ROW_LENGTH_SIZE : ROW_LENGTH_SIZE + key[1]])
    cursor = Cursor(key, base=offset)
    length = int.from_bytes(cursor.take(ROW_LENGTH_SIZE, "length of a row"), "big", signed=True)
    return bytes(cursor.take(length, "row"))


class DataIndex:
    """Finds the data blocks of keys.

    *load* reads an index block below the root.  The entries of index blocks are kept.
    """

    def __init__(self, root: Sequence[IndexEntry], levels: int, load: Callable[[IndexEntry, BlockType], Block]) -> None:
        if root and not 1 <= levels <= _MOST_LEVELS:
            raise CorruptBlockError(f"a data index of {levels} levels: expected 1 to {_MOST_LEVELS}")
        self._root = root
        self._levels = levels
        self._load = load
        self._read: dict[tuple[BlockType, int], list[IndexEntry]] = {}

    def find_block(self, key: bytes) -> IndexEntry | None:
        """Return the only data block that may hold *key*; None if *key* is before the first key."""
        if not self._root or key < self._root[0].key:
            return None
        return next(self.blocks(key), None)

    def find_blocks(self, keys: Sequence[bytes]) -> Iterator[tuple[IndexEntry, int, int]]:
        """Yield the data blocks that may hold some of *keys*, which ascend, each with the range of these keys.

        With blocks that begin with the keys b, f and k, the keys a, c, d, m give (block b, 1, 3) and (block k, 3, 4).

        Raises:
            DecodeError: as for :meth:`blocks`.
        """
        start = bisect_left(keys, self._root[0].key) if self._root else len(keys)
        while start < len(keys):
            blocks = self.blocks(keys[start])
            entry, following = next(blocks), next(blocks, None)
            # Java sorts some characters differently, so the next block may begin with a lower key.
            end = len(keys) if following is None else max(bisect_left(keys, following.key, start), start + 1)
            yield entry, start, end
            start = end

    def blocks(self, start: bytes = b"") -> Iterator[IndexEntry]:
        """Yield the data blocks in file order, from the block that may hold *start* on.

        Raises:
            DecodeError: an index block is damaged, or the blocks do not follow one another.
        """
        return self._below(self._root, self._levels, start, [0] * (self._levels + 1))

    def _below(
        self, entries: Sequence[IndexEntry], level: int, start: bytes, reached: list[int]
    ) -> Iterator[IndexEntry]:
        """Yield the data blocks under *entries*; *reached* is where the last block of each level ended.

        Raises:
            CorruptBlockError: a block of a level does not follow the block before.
        """
        first = max(bisect_right(entries, start, key=lambda entry: entry.key) - 1, 0)
        for entry in entries[first:]:
            # A damaged index could otherwise lead to the same blocks again and again.
            if entry.offset < reached[level]:
                raise CorruptBlockError(f"an index leads to byte {entry.offset} after byte {reached[level]}")
            reached[level] = entry.offset + max(entry.size, 1)
            if level == 1:
                yield entry
            else:
                yield from self._below(self._children(entry, level), level - 1, start, reached)

    def _children(self, entry: IndexEntry, level: int) -> list[IndexEntry]:
        kind = BlockType.INTERMEDIATE_INDEX if level > 2 else BlockType.LEAF_INDEX  # noqa: PLR2004 - two levels are root and leaves
        key = kind, entry.offset
        if key not in self._read:
            self._read[key] = decode_inner_index(self._load(entry, kind))
        return self._read[key]
