"""Avro's object container files: a header and blocks of records.  Layout: spec/sink.md; Avro 1.12's specification.

Written without knowing the records, and read without decoding them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from hudiformat.errors import CorruptBlockError, TruncatedBlockError

MAGIC = b"Obj\x01"
SYNC_SIZE = 16

_BUFFER = 1 << 20
_SEVEN, _MORE = 0x7F, 0x80
_LONGEST = 63


def encode_header(metadata: Mapping[str, bytes]) -> bytes:
    """The beginning of a file, up to the sync marker that ends it."""
    parts = [MAGIC, _long(len(metadata))]
    for key, value in metadata.items():
        parts += [_long(len(key.encode())), key.encode(), _long(len(value)), value]
    return b"".join([*parts, _long(0)])


def encode_block_head(records: int, size: int) -> bytes:
    """What stands before the *size* bytes of a block; the sync marker comes after them."""
    return _long(records) + _long(size)


def _long(value: int) -> bytes:
    """Avro's long, of a number that is not negative."""
    rest, result = value << 1, bytearray()
    while rest > _SEVEN:
        result.append(rest & _SEVEN | _MORE)
        rest >>= 7
    result.append(rest)
    return bytes(result)


class ContainerReader:
    """Reads the file *opened* front to back, in large pieces; closing it is left to its owner.

    ``metadata`` and ``sync`` are the header's; ``path`` is for messages.

    Raises:
        CorruptBlockError: no container, or one that is damaged.
        TruncatedBlockError: it ends too early.
    """

    def __init__(self, opened: pa.NativeFile, path: str) -> None:
        self._stream = pa.BufferedInputStream(opened, _BUFFER)
        self.path = path
        self._size: int = opened.size()
        self._offset = 0
        if (magic := self._take(len(MAGIC))) != MAGIC:
            raise CorruptBlockError(f"{path}: expected an Avro file, {MAGIC!r}, found {magic!r}", offset=0)
        self.metadata: dict[str, bytes] = {}
        while entries := self._length():
            for _ in range(entries):
                key = self._take(self._length()).decode(errors="replace")
                self.metadata[key] = self._take(self._length())
        self.sync = self._take(SYNC_SIZE)

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """The number of records and the bytes, as they are, of each block.

        Raises:
            CorruptBlockError: a block that is damaged.
            TruncatedBlockError: the file ends within a block.
        """
        while self._offset < self._size:
            records = self._length()
            data = self._take(self._length())
            if (sync := self._take(SYNC_SIZE)) != self.sync:
                raise CorruptBlockError(
                    f"{self.path}: expected the sync marker {self.sync.hex()} after a block, found {sync.hex()}",
                    offset=self._offset - SYNC_SIZE,
                )
            yield records, data

    def _take(self, size: int) -> bytes:
        if size > self._size - self._offset:  # before anything is allocated: a damaged length may be any number
            raise TruncatedBlockError(
                f"{self.path}: expected {size} bytes, {self._size - self._offset} are left", offset=self._offset
            )
        self._offset += size
        data: bytes = self._stream.read(size)
        return data

    def _length(self) -> int:
        """A number, which no file of hudiformat's has below zero."""
        start, value = self._offset, 0
        for shift in range(0, _LONGEST + 1, 7):
            byte = self._take(1)[0]
            value |= (byte & _SEVEN) << shift
            if byte <= _SEVEN:
                break
        if byte > _SEVEN or value & 1:
            raise CorruptBlockError(f"{self.path}: expected a length or count from 0 on", offset=start)
        return value >> 1
