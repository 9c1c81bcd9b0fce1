"""Encode and decode the blocks of an HFile: their header and checksums.  Layout: spec/hfile.md.

The header has 33 bytes; with a content of 100 bytes, not compressed, and one checksum:

    bytes    field
     0- 8    magic, here "DATABLK*"
     8-12    104, the bytes behind the header: content and checksums
    12-16    100, the bytes of the decompressed content
    16-24    the offset of the block before, or -1
    24-25    the type of the checksums, here 0 for none
    25-29    16384, the bytes for each checksum
    29-33    133, the bytes of header and content
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, IntEnum

from hudiformat.errors import CorruptBlockError, EncodeError, TruncatedBlockError, UnsupportedFeatureError
from hudiformat.wire import INT32_MAX, Cursor

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


_HEADER = struct.Struct(">8siiqBii")
HEADER_SIZE = _HEADER.size
BYTES_PER_CHECKSUM = 16 * 1024
CHECKSUM_SIZE = 4
NO_BLOCK = -1
"""The offset of the block before, in the header of the first block."""


class BlockType(Enum):
    """What a block holds, by its magic.

    Source: HFileBlockType.
    """

    DATA = b"DATABLK*"
    ENCODED_DATA = b"DATABLKE"
    LEAF_INDEX = b"IDXLEAF2"
    BLOOM_CHUNK = b"BLMFBLK2"
    META = b"METABLKc"
    INTERMEDIATE_INDEX = b"IDXINTE2"
    ROOT_INDEX = b"IDXROOT2"
    FILE_INFO = b"FILEINF2"
    GENERAL_BLOOM_META = b"BLMFMET2"
    DELETE_FAMILY_BLOOM_META = b"DFBLMET2"


class ChecksumType(IntEnum):
    """The algorithm of the checksums behind a block's content.

    Source: ChecksumType.
    """

    NULL = 0
    CRC32 = 1
    CRC32C = 2


@dataclass(frozen=True, slots=True)
class Block:
    """A block that was read: its decompressed content, and its offset and size, including header and checksums."""

    content: memoryview
    offset: int
    size: int

    @property
    def base(self) -> int:
        """The offset of the content, to which errors in the decompressed content add their own offset."""
        return self.offset + HEADER_SIZE


@contextmanager
def treat_truncation_as_corruption() -> Iterator[None]:
    """Convert truncation to corruption: if the file has its trailer, missing bytes mean a wrong length.

    Raises:
        CorruptBlockError: the body raised a TruncatedBlockError.
    """
    try:
        yield
    except TruncatedBlockError as error:
        raise CorruptBlockError(error.reason, offset=error.offset, path=error.path) from error


def encode_block(
    kind: BlockType,
    content: bytes | memoryview,
    codec: Compression,
    *,
    previous: int = NO_BLOCK,
    last_entry: int | None = None,
) -> bytes:
    """Return a block with *content*, and zeros for checksums, as Hudi writes it.

    *previous* is the offset of the block before, for the header; *last_entry* is the size of a data block's last entry.

    Raises:
        EncodeError: the block would have 2 GiB or more.

    Source: HFileBlock.serialize.
    """
    if len(content) > INT32_MAX:
        raise EncodeError(f"an HFile block of {len(content)} bytes; sizes are kept in 32 bits")
    packed = compress(content, codec)
    end = HEADER_SIZE + len(packed)
    chunk = BYTES_PER_CHECKSUM
    # Hudi's reader (HFileDataBlock) subtracts the size of the checksums from the content, although the content does not
    # include them, and so loses the last entry if that is shorter.  In that case fewer checksums are declared.
    while last_entry is not None and _checksums_size(end, chunk) >= last_entry:
        chunk *= 2
    checksums = bytes(_checksums_size(end, chunk))
    sizes = (len(packed) + len(checksums), len(content), previous, ChecksumType.NULL, chunk, end)
    return b"".join((_HEADER.pack(kind.value, *sizes), packed, checksums))


def decode_block(data: memoryview, expected: BlockType, codec: Compression, *, base: int) -> Block:
    """Decode the block of type *expected* that *data* begins with; *base* is its offset in the file.

    Raises:
        DecodeError: the block is damaged, or of another type.
        UnsupportedFeatureError: a data block in one of HBase's encodings.

    Source: HFileBlock, HFileBlockReader.nextBlock; they check neither checksums nor that the sizes agree.
    """
    header = Cursor(data, base=base).take(HEADER_SIZE, "block header")
    magic, rest, unpacked, _, checksum_type, chunk, end = _HEADER.unpack(header)
    _check_magic(magic, expected, base)
    size = HEADER_SIZE + rest
    if not HEADER_SIZE <= end <= size:
        raise CorruptBlockError(f"a block of {size} bytes, {end} of them before its checksums", offset=base)
    block = Cursor(data, base=base).take(size, "block")
    _check_sums(block, end, checksum_type, chunk, base)
    return Block(decompress(block[HEADER_SIZE:end], unpacked, codec, offset=base), base, size)


def _check_magic(magic: bytes, expected: BlockType, offset: int) -> None:
    if magic == BlockType.ENCODED_DATA.value and expected is BlockType.DATA:
        message = (
            "HFile: expected data blocks with the encoding NONE, found an encoded one; write "
            "the file without an encoding"
        )
        raise UnsupportedFeatureError(message, feature="data block encoding")
    if magic != expected.value:
        raise CorruptBlockError(f"expected the magic {expected.value!r}, found {magic!r}", offset=offset)


def _check_sums(block: memoryview, end: int, kind: int, chunk: int, offset: int) -> None:
    """Check the checksums if they are CRC32; the standard library has no CRC32C.

    Raises:
        CorruptBlockError: a checksum is wrong, or their number or type is.
    """
    if kind not in tuple(ChecksumType):
        raise CorruptBlockError(f"unknown checksum type {kind}; known are 0 to 2", offset=offset)
    if kind != ChecksumType.CRC32:
        return
    sums = block[end:]
    if chunk <= 0 or len(sums) != _checksums_size(end, chunk):
        raise CorruptBlockError(f"{len(sums)} bytes of checksums, one for {chunk} bytes", offset=offset)
    for number, start in enumerate(range(0, end, chunk)):
        stored = int.from_bytes(sums[number * CHECKSUM_SIZE :][:CHECKSUM_SIZE], "big")
        if (actual := zlib.crc32(block[start : min(start + chunk, end)])) != stored:
            raise CorruptBlockError(f"CRC32 {actual:08x} expected, {stored:08x} found", offset=offset + start)


def _checksums_size(size: int, chunk: int) -> int:
    """Return the bytes of the checksums of *size* bytes, one for every *chunk* bytes."""
    return -(-size // chunk) * CHECKSUM_SIZE
