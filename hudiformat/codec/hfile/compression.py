"""Compress and decompress the content of blocks.  Ids and layout: spec/hfile.md."""

from __future__ import annotations

import zlib
from enum import IntEnum

from hudiformat.errors import CorruptBlockError, UnsupportedFeatureError

# What java.util.zip.GZIPOutputStream writes since Java 16: no name, no time, compression method 8, system unknown.
_GZIP_HEADER = bytes.fromhex("1f8b0800 00000000 00ff")
_GZIP_LEVEL = 6
_RAW_DEFLATE = -15
_GZIP_WRAPPED = 31
_MOST_EXPANSION = 1032
"""The most bytes that Deflate makes of one byte."""


class Compression(IntEnum):
    """How the blocks of a file are compressed, by the id in its trailer.

    Source: CompressionCodec; HoodieCompressorFactory knows NONE and GZIP.
    """

    LZO = 0
    GZIP = 1
    NONE = 2
    SNAPPY = 3
    LZ4 = 4
    BZIP2 = 5
    ZSTD = 6

    @classmethod
    def parse(cls, name: str) -> Compression:
        """Return the codec of that name, in upper or lower case.

        Raises:
            UnsupportedFeatureError: there is no such codec, or it is not supported.
        """
        codec = cls.__members__.get(name.upper())
        if codec is None:
            raise _unsupported(name)
        return codec.require_supported()

    def require_supported(self) -> Compression:
        """Return the codec itself, if it is supported.

        Raises:
            UnsupportedFeatureError: Hudi does not read and write the codec.
        """
        if self not in (Compression.NONE, Compression.GZIP):
            name = self.name.lower()
            raise _unsupported(name)
        return self


def _unsupported(name: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"HFile: expected the compression none or gzip, as in Hudi, found {name!r}; write the file with one of these",
        feature=name,
    )


def compress(content: bytes | memoryview, codec: Compression) -> bytes | memoryview:
    """Return *content* as it is stored on disk."""
    if codec is Compression.NONE:
        return content
    deflate = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _RAW_DEFLATE)
    tail = zlib.crc32(content).to_bytes(4, "little") + (len(content) & 0xFFFFFFFF).to_bytes(4, "little")
    return b"".join((_GZIP_HEADER, deflate.compress(content), deflate.flush(), tail))


def decompress(data: memoryview, size: int, codec: Compression, *, offset: int) -> memoryview:
    """Return the content of *size* bytes that *data* holds; *offset* is where its block begins, for errors.

    Raises:
        CorruptBlockError: the content is damaged, or of another size.  A wrong size costs no memory.
    """
    if codec is Compression.NONE:
        content: bytes | memoryview = data
    elif not 0 <= size <= _MOST_EXPANSION * len(data):
        raise CorruptBlockError(f"{len(data)} bytes cannot hold the {size} that the block declares", offset=offset)
    else:
        content = _gunzip(data, size, offset)
    if len(content) != size:
        raise CorruptBlockError(f"a content of {size} bytes expected, {len(content)} found", offset=offset)
    return memoryview(content)


def _gunzip(data: memoryview, size: int, offset: int) -> bytes:
    inflate = zlib.decompressobj(_GZIP_WRAPPED)
    try:
        # One byte more than declared: a longer content shows, and any other reaches its checksum.
        content = inflate.decompress(data, size + 1)
    except zlib.error as error:
        raise CorruptBlockError(f"gzip: {error}", offset=offset) from None
    if len(content) <= size and not inflate.eof:
        raise CorruptBlockError("gzip: the content breaks off", offset=offset)
    return content
