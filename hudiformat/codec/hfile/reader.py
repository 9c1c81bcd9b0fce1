"""Read an HFile: the trailer, the section to load on opening, and then only the blocks that are needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.codec.hfile.block import Block, BlockType, decode_block, treat_truncation_as_corruption
from hudiformat.codec.hfile.chain import Longs, has_unannounced_byte
from hudiformat.codec.hfile.entries import MAX_SEARCHED_KEYS, decode_entries, find_values
from hudiformat.codec.hfile.file_info import decode_file_info, name_of, suffix_size, text_bytes
from hudiformat.codec.hfile.index import DataIndex, IndexEntry, decode_data_index, decode_meta_index
from hudiformat.codec.hfile.trailer import TRAILER_SIZE, HFileTrailer, decode_trailer
from hudiformat.errors import CorruptBlockError, TruncatedBlockError

MAX_CACHED_BYTES = 32 * 1024 * 1024
"""A reader keeps decoded blocks of up to this many bytes."""


class ByteSource(Protocol):
    """Bytes that can be read in ranges: ``bytes``, a ``memoryview``, or an object that fetches each slice."""

    def __len__(self) -> int: ...

    def __getitem__(self, key: slice, /) -> bytes | memoryview: ...


class HFileReader:
    """Reads an HFile; each call reads only the ranges of bytes that it needs.

    Opening it reads the trailer and the section that it points to: the root of the index, the names of the meta blocks
    and the file info.  Keys are bytes or text, which is encoded as UTF-8; they are sorted by their bytes.  Decoded
    blocks of up to *max_cached_bytes* together are kept for further look-ups.

    Raises:
        TruncatedBlockError: the file breaks off and has no trailer.
        DecodeError: the file is damaged, or of another version than 3.
        UnsupportedFeatureError: a compression other than none and gzip, encryption, tags, or an encoding of blocks.

    Source: HFileReaderImpl; spec/hfile.md.
    """

    def __init__(self, source: ByteSource, *, max_cached_bytes: int = MAX_CACHED_BYTES) -> None:
        self._source = source
        self._end = max(len(source) - TRAILER_SIZE, 0)
        self.trailer = self._read_trailer()
        with treat_truncation_as_corruption():
            self._index, self._meta, self.file_info = self._open()
            self._suffix = suffix_size(self.file_info)
            self._is_certain = self._suffix != 0
        self._kept: dict[int, pa.RecordBatch] = {}
        self._max_cached_bytes = max_cached_bytes

    @property
    def num_entries(self) -> int:
        """The number of entries that the file declares."""
        return self.trailer.entry_count

    @property
    def meta_block_names(self) -> list[str]:
        """The names of the meta blocks, in file order."""
        return list(self._meta)

    def meta_block(self, name: str) -> bytes | None:
        """Return the content of the meta block *name*; None if there is no such block.

        Raises:
            DecodeError: the block is damaged.
        """
        entry = self._meta.get(name)
        return None if entry is None else bytes(self._block(entry, BlockType.META).content)

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield key and value of each entry, in file order."""
        for batch in self.blocks():
            yield from zip(batch["key"].to_pylist(), batch["value"].to_pylist(), strict=True)

    def blocks(self) -> Iterator[pa.RecordBatch]:
        """Yield the entries of each data block: ``key`` and ``value``, both binary.

        Raises:
            DecodeError: a block is damaged, or the blocks together do not have the declared number of entries.
        """
        count = 0
        for entry in self._entries():
            batch = self._decode(entry)
            count += batch.num_rows
            yield batch
        if count != self.num_entries:
            raise CorruptBlockError(f"{self.num_entries} entries are declared, {count} were found")

    def get(self, key: bytes | str) -> bytes | None:
        """Return the value of the first entry with *key*; None if there is none.

        One data block is read, or none if *key* is before the first key.

        Raises:
            DecodeError: the data block, or an index block on the way to it, is damaged.
        """
        wanted = _key(key)
        with treat_truncation_as_corruption():
            entry = self._index.find_block(wanted)
        if entry is None:
            return None
        batch = self._batch(entry)
        row = pc.index(batch["key"], pa.scalar(wanted, pa.binary())).as_py()
        return None if row < 0 else bytes(batch["value"][row].as_py())

    def find(self, keys: pa.Array, *, max_searched_keys: int = MAX_SEARCHED_KEYS) -> tuple[Longs, pa.Array]:
        """Return the rows of *keys* that the file has entries for, in order, and the value of each.

        *keys* are binary, and ascend.  Each block that may hold some of them is read once.  For up to
        *max_searched_keys* of its keys, its bytes are searched for each key; for more, its entries are decoded, as in a
        scan.

        Raises:
            DecodeError: a data block, or an index block on the way to it, is damaged.
        """
        wanted = keys.to_pylist()
        rows, values = [np.empty(0, np.int64)], [pa.array([], pa.binary())]
        with treat_truncation_as_corruption():
            for entry, start, end in self._index.find_blocks(wanted):
                part = keys.slice(start, end - start)
                found, some = self._find_in(entry, part, wanted[start:end], max_searched_keys)
                rows.append(found + start)
                values.append(some)
        return np.concatenate(rows), pa.chunked_array(values).combine_chunks()

    def _find_in(
        self, entry: IndexEntry, keys: pa.Array, wanted: list[bytes], max_searched_keys: int
    ) -> tuple[Longs, pa.Array]:
        """Return what :meth:`find` returns, for the keys of one data block."""
        if len(keys) <= max_searched_keys:
            content = self._data_block(entry).content
            found = find_values(content, wanted, suffix=self._suffix)
            if found is not None:
                rows = np.flatnonzero([value is not None for value in found])
                return rows, pa.array([found[row] for row in rows], pa.binary())
        batch = self._batch(entry)
        at = pc.index_in(keys, value_set=batch["key"])
        is_found = at.is_valid()
        return np.flatnonzero(is_found.to_numpy(zero_copy_only=False)), batch["value"].take(at.filter(is_found))

    def scan(self, start: bytes | str = b"", stop: bytes | str | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the entries with *start* <= key < *stop*, block by block; without *stop*, to the end.

        Only blocks that may hold such entries are read; empty batches are left out.

        Raises:
            DecodeError: a data block, or an index block on the way to it, is damaged.
        """
        first, last = _key(start), None if stop is None else _key(stop)
        for entry in self._entries(first):
            if last is not None and entry.key >= last:
                return
            batch = self._batch(entry)
            inside = pc.greater_equal(batch["key"], pa.scalar(first, pa.binary()))
            if last is not None:
                inside = pc.and_(inside, pc.less(batch["key"], pa.scalar(last, pa.binary())))
            rows = batch.filter(inside)
            if rows.num_rows:
                yield rows

    def prefix_scan(self, prefix: bytes | str) -> Iterator[pa.RecordBatch]:
        """Yield the entries whose keys begin with *prefix*, block by block, as :meth:`scan` does."""
        first = _key(prefix)
        return self.scan(first, _end_of_prefix(first))

    def _read_trailer(self) -> HFileTrailer:
        data = memoryview(self._source[self._end : len(self._source)])
        try:
            return decode_trailer(data, base=self._end)
        except CorruptBlockError as error:
            if bytes(self._source[0:8]) in (kind.value for kind in BlockType) and error.offset == self._end:
                raise TruncatedBlockError("an HFile that breaks off: it has no trailer", offset=self._end) from error
            raise

    def _open(self) -> tuple[DataIndex, dict[str, IndexEntry], Mapping[str, bytes]]:
        trailer = self.trailer
        start = trailer.load_on_open_offset
        if not 0 <= start <= self._end:
            raise CorruptBlockError(f"a section to load on opening at byte {start}", offset=self._end)
        section = memoryview(self._source[start : self._end])
        pos = 0
        blocks = []
        for kind in (BlockType.ROOT_INDEX, BlockType.ROOT_INDEX, BlockType.FILE_INFO):
            blocks.append(decode_block(section[pos:], kind, trailer.compression, base=start + pos))
            pos += blocks[-1].size
        data, meta, info = blocks
        root = decode_data_index(data, trailer.data_index_count)
        names = {name_of(entry.key): entry for entry in decode_meta_index(meta, trailer.meta_index_count)}
        index = DataIndex(root, trailer.data_index_levels, self._block)
        return index, names, MappingProxyType(decode_file_info(info))

    def _entries(self, start: bytes = b"") -> Iterator[IndexEntry]:
        with treat_truncation_as_corruption():
            yield from self._index.blocks(start)

    def _batch(self, entry: IndexEntry) -> pa.RecordBatch:
        """Return the entries of a data block, from the cache if it is there: look-ups may come in any order of keys."""
        batch = self._kept.pop(entry.offset, None)
        if batch is None:
            batch = self._decode(entry)
            self._make_room(batch.nbytes)
        self._kept[entry.offset] = batch
        return batch

    def _make_room(self, size: int) -> None:
        """Remove blocks from the cache, the least recently used first, until *size* more bytes fit.

        Other threads may look up keys meanwhile.
        """
        kept = list(self._kept.items())
        size += sum(batch.nbytes for _, batch in kept)
        for offset, batch in kept:
            if size <= self._max_cached_bytes:
                return
            self._kept.pop(offset, None)
            size -= batch.nbytes

    def _decode(self, entry: IndexEntry) -> pa.RecordBatch:
        block = self._data_block(entry)
        with treat_truncation_as_corruption():
            return decode_entries(block, suffix=self._suffix)

    def _data_block(self, entry: IndexEntry) -> Block:
        """Read a data block; the first one shows whether values have a timestamp that the file does not announce.

        Writers of 2025 left the announcement out, and Hudi's reader always takes one byte for it.
        """
        block = self._block(entry, BlockType.DATA)
        if not self._is_certain and block.content:
            with treat_truncation_as_corruption():
                self._suffix = 1 if has_unannounced_byte(block.content, base=block.base) else 0
            self._is_certain = True
        return block

    def _block(self, entry: IndexEntry, kind: BlockType) -> Block:
        end = entry.offset + entry.size
        if entry.offset < 0 or entry.size < 0 or end > self.trailer.load_on_open_offset:
            raise CorruptBlockError(f"an index entry of {entry.size} bytes leads out of the file", offset=entry.offset)
        with treat_truncation_as_corruption():
            block = decode_block(
                memoryview(self._source[entry.offset : end]), kind, self.trailer.compression, base=entry.offset
            )
        if block.size != entry.size:
            raise CorruptBlockError(f"a block of {block.size} bytes, in the index of {entry.size}", offset=entry.offset)
        return block


def _key(key: bytes | str) -> bytes:
    return text_bytes(key) if isinstance(key, str) else key


def _end_of_prefix(prefix: bytes) -> bytes | None:
    """Return the first key behind all keys that begin with *prefix*; None if there is no such key."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else None
