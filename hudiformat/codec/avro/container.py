"""Avro's object container files: a header and blocks of records.  Layout: spec/sink.md; Avro 1.12's specification.

    header   magic, a map of metadata (the schema, the codec), the sync marker
    block    number of records, number of bytes, the bytes as the codec leaves them, the sync marker

Files are written without decoding the records, and read block by block without decoding them either.  Avro asks for a
random sync marker; here it is a digest, so that the same content gives the same file.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Any

import fastavro
import pyarrow as pa

from hudiformat.codec.avro.values import decode_value, parse_value_schema
from hudiformat.errors import (
    CorruptBlockError,
    CorruptTableError,
    DecodeError,
    EncodeError,
    SchemaError,
    TruncatedBlockError,
)

MAGIC = b"Obj\x01"
SCHEMA_KEY = "avro.schema"
CODEC_KEY = "avro.codec"

_SYNC_SIZE = 16
_BUFFER = 1 << 20
_MOST_ENTRIES = 64
"""Entries of a header; Java's and hudiformat's files have two."""
_SEVEN, _MORE = 0x7F, 0x80
_LONGEST = 63


def encode_header(metadata: Mapping[str, bytes]) -> bytes:
    """Return the beginning of a file, up to the sync marker that follows it."""
    parts = [MAGIC, _encode_long(len(metadata))]
    for key, value in metadata.items():
        parts += [_encode_long(len(key.encode())), key.encode(), _encode_long(len(value)), value]
    return b"".join([*parts, _encode_long(0)])


def encode_block_head(records: int, size: int) -> bytes:
    """Return the fields before the *size* bytes of a block; the sync marker follows these bytes."""
    return _encode_long(records) + _encode_long(size)


def sync_marker(*seed: bytes) -> bytes:
    """Return the sync marker of a file, a digest of the parts of *seed*."""
    return hashlib.sha256(b"".join(seed)).digest()[:_SYNC_SIZE]


def _encode_long(value: int) -> bytes:
    """Return the Avro long of a number that is not negative: 150 is 300 in zigzag, so ``ac 02``."""
    rest, result = value << 1, bytearray()
    while rest > _SEVEN:
        result.append(rest & _SEVEN | _MORE)
        rest >>= 7
    result.append(rest)
    return bytes(result)


class ContainerReader:
    """Reads the file *opened* front to back, in large pieces; the caller closes the file.

    ``metadata`` and ``sync`` are the header's; ``path`` names the file in messages.

    Raises:
        CorruptBlockError: the file is no container, or its header is damaged.
        TruncatedBlockError: the file ends within the header.
    """

    def __init__(self, opened: pa.NativeFile, path: str) -> None:
        self._stream = pa.BufferedInputStream(opened, _BUFFER)
        self.path = path
        self._size: int = opened.size()
        self._offset = 0
        if (magic := self._take(len(MAGIC))) != MAGIC:
            raise CorruptBlockError(f"{path}: expected an Avro file, {MAGIC!r}, found {magic!r}", offset=0, path=path)
        self.metadata: dict[str, bytes] = {}
        left = _MOST_ENTRIES
        while entries := self._read_length():
            left -= entries
            if left < 0:
                raise CorruptBlockError(
                    f"{path}: over {_MOST_ENTRIES} entries in the header", offset=self._offset, path=path
                )
            for _ in range(entries):
                key = self._take(self._read_length()).decode(errors="replace")
                self.metadata[key] = self._take(self._read_length())
        self.sync = self._take(_SYNC_SIZE)

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """Yield the number of records and the bytes of each block; the bytes are still compressed.

        Raises:
            CorruptBlockError: a block is damaged.
            TruncatedBlockError: the file ends within a block.
        """
        while self._offset < self._size:
            records = self._read_length()
            data = self._take(self._read_length())
            if (sync := self._take(_SYNC_SIZE)) != self.sync:
                raise CorruptBlockError(
                    f"{self.path}: expected the sync marker {self.sync.hex()} after a block, found {sync.hex()}",
                    offset=self._offset - _SYNC_SIZE,
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

    def _read_length(self) -> int:
        """Read the next long, a length or count, which must not be negative.

        Raises:
            CorruptBlockError: it is negative, or no long.
        """
        start, value = self._offset, 0
        for shift in range(0, _LONGEST + 1, 7):
            byte = self._take(1)[0]
            value |= (byte & _SEVEN) << shift
            if byte <= _SEVEN:
                break
        if byte > _SEVEN or value & 1:
            raise CorruptBlockError(f"{self.path}: expected a length or count from 0 on", offset=start, path=self.path)
        return value >> 1


def encode_avro_file(schema_text: str, schema: Any, record: Mapping[str, object]) -> bytes:
    """Return the bytes of a container that holds *record*; *schema* is *schema_text* as fastavro parses it.

    Raises:
        EncodeError: the record does not fit the schema.

    Source: TimelineMetadataUtils.convertMetadataToByteArray, Hudi 1.2.0; Avro 1.11's DataFileWriter.
    """
    buffer = BytesIO()
    try:
        fastavro.schemaless_writer(buffer, schema, record)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise EncodeError(f"the metadata does not fit Hudi's schema: {error}") from error
    data = buffer.getvalue()
    header = encode_header({SCHEMA_KEY: schema_text.encode()})
    block = encode_block_head(1, len(data)) + data
    sync = sync_marker(header, block)
    return header + sync + block + sync


_MOST_INFLATED = 1 << 20
_MOST_EXPANSION = 10
"""A deflated block may have 10 times the bytes of the file, and 1 MiB more; Hudi does not deflate its own files."""


def decode_avro_file(data: bytes, *, path: str) -> dict[str, Any]:
    """Decode the first record of a container whose blocks are not compressed, or deflated.

    The schema is the file's own, within the limits of :mod:`hudiformat.codec.avro.values`: decoding takes time and
    memory in proportion to the file, whatever the file says.

    Raises:
        CorruptTableError: not a container, damaged, without a record, or beyond the limits; *path* is named.

    Source: DataFileReader of Avro 1.12; TimelineMetadataUtils writes without codec, Hudi 1.2.0.
    """
    try:
        reader = ContainerReader(pa.BufferReader(data), path)
        schema = parse_value_schema(reader.metadata.get(SCHEMA_KEY, b""))
        records, block = next(reader.blocks(), (0, b""))
        content = _decompress(block, reader.metadata.get(CODEC_KEY, b"null"), len(data))
        record = decode_value(content, schema, size=len(data)) if records else None
    except (DecodeError, SchemaError) as error:
        raise CorruptTableError(f"{path}: expected an Avro file, which it is not: {error}", path=path) from error
    if not isinstance(record, dict):
        raise CorruptTableError(
            f"{path}: expected an Avro file with a record, found {type(record).__name__}", path=path
        )
    return record


def is_whole_avro_file(data: bytes) -> bool:
    """Return whether *data* is a container whose last block is complete, and whose first record can be decoded.

    A codec that is not supported counts as one that can be.
    """
    try:
        reader = ContainerReader(pa.BufferReader(data), "")
        counts = [count for count, _ in reader.blocks()]  # all of them: each is checked
        if not any(counts):
            return False
        if reader.metadata.get(CODEC_KEY, b"null") in (b"null", b"deflate"):
            decode_avro_file(data, path="")
    except (DecodeError, CorruptTableError):
        return False
    return True


def _decompress(block: bytes, codec: bytes, file_size: int) -> bytes:
    if codec == b"null":
        return block
    if codec != b"deflate":
        raise CorruptBlockError(f"the codec {codec[:20]!r} is not supported: expected null or deflate")
    most = _MOST_INFLATED + _MOST_EXPANSION * file_size
    try:
        inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        content = inflate.decompress(block, most + 1)
    except zlib.error as error:
        raise CorruptBlockError(f"deflate: {error}") from error
    if len(content) > most:
        raise CorruptBlockError(f"a block that inflates to more than {most} bytes")
    if not inflate.eof:
        raise CorruptBlockError("deflate: the block breaks off")
    return content
