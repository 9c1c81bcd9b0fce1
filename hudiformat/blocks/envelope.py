"""The envelope that every log block travels in.  Layout: spec/log-block.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from hudiformat.blocks.block import LogBlock
from hudiformat.blocks.types import BlockHeader, BlockType, HeaderKey
from hudiformat.errors import CorruptBlockError, EncodeError, UnsupportedVersionError
from hudiformat.wire import INT32_MAX, Cursor, int32, int64

MAGIC = b"#HUDI#"
FORMAT_VERSION = 1
LENGTH_SIZE = 8
"""Bytes of the size after the magic, and of the reverse pointer at the end."""

_KEYS: Mapping[int, HeaderKey] = {int(key): key for key in HeaderKey}
_TYPES: Mapping[int, BlockType] = {int(kind): kind for kind in BlockType if kind is not BlockType.CORRUPT}
_Code = TypeVar("_Code", HeaderKey, BlockType)


def encode_block(block: LogBlock) -> bytes:
    """The bytes of *block*; for a block that was read, the bytes it was read from.

    Raises:
        EncodeError: the block would be 2 GiB or more, which no reader of the format can read back (HUDI-2665).

    Source: HoodieLogFormatWriter.appendBlocks; spec/log-block.md.
    """
    return b"".join(encode_block_parts(block))


def encode_block_parts(block: LogBlock) -> tuple[bytes | memoryview, ...]:
    """The bytes of *block* as (head, content, tail), so that a writer can gather them without a copy.

    Raises:
        EncodeError: the block would be 2 GiB or more.
    """
    if block.type is BlockType.CORRUPT:
        # A corrupt span has no envelope to rebuild: what stood there stands there again, a magic in front or not.
        starts_with_magic = block.size is None or block.size > len(block.content)
        return (MAGIC if starts_with_magic else b"", block.content, b"")
    head = b"".join((int32(block.version), int32(block.type), _encode_map(block.header), int64(len(block.content))))
    footer = _encode_map(block.footer)
    # Two lengths that look alike: the first leaves out the magic and itself, the last counts the magic and the first
    # but not itself.  They differ by 6.
    length = len(head) + len(block.content) + len(footer) + LENGTH_SIZE
    if length > INT32_MAX:
        raise EncodeError(
            f"a block of {length} bytes cannot be read by anybody: Hudi keeps block lengths in 32 bits (HUDI-2665); "
            "write smaller blocks (hoodie.logfile.data.block.max.size)"
        )
    return (MAGIC + int64(length) + head, block.content, footer + int64(len(MAGIC) + length))


def decode_block(data: bytes | memoryview, start: int = 0, *, base: int = 0) -> tuple[LogBlock, int]:
    """The block that begins at *start*, and the offset just after it; its content is a view, not a copy.

    What follows the block is not looked at.  *base* is the file offset of ``data[0]``, for ``block.offset`` and for
    the offsets in errors.

    Raises:
        TruncatedBlockError: the block runs past the end of *data*.
        CorruptBlockError: its parts contradict each other.
        UnsupportedVersionError: a log format version other than 1.

    Source: HoodieLogFileReader.readBlock, with the content length checked, which Java does not do.
    """
    view = memoryview(data)
    cursor = Cursor(view[start:], base=base + start)
    if (magic := cursor.take(len(MAGIC), "magic")) != MAGIC:
        raise CorruptBlockError(f"expected the magic {MAGIC!r}, found {bytes(magic)!r}", offset=base + start)
    length = cursor.int64("block size")
    body = Cursor(cursor.take(length, "block"), base=cursor.offset - max(length, 0))
    if (version := body.int32("log format version")) != FORMAT_VERSION:
        raise UnsupportedVersionError(
            f"log format version {version}; only version {FORMAT_VERSION} can be read, by Hudi too", offset=base + start
        )
    kind = _code(_TYPES, body, "block type")
    header = _decode_map(body, "header")
    content = body.take(body.int64("content length"), "content")
    if len(footer := _decode_map(body, "footer")):
        raise CorruptBlockError(
            f"{len(footer)} footer entries, though the format knows no footer key", offset=base + start
        )
    pointer = body.int64("reverse pointer")
    if pointer != len(MAGIC) + length or body.remaining:
        raise CorruptBlockError(
            f"block size {length}, but reverse pointer {pointer} and {body.remaining} bytes left over",
            offset=base + start,
        )
    block = LogBlock(kind, header, content, footer, version=version, offset=base + start, size=cursor.pos)
    return block, start + cursor.pos


def _encode_map(header: BlockHeader) -> bytes:
    parts = [int32(len(header.entries))]
    for key, value in header.entries:
        parts += (int32(key), int32(len(value)), value)
    return b"".join(parts)


def _decode_map(body: Cursor, what: str) -> BlockHeader:
    count = body.int32(f"{what} count")
    if not 0 <= count <= body.remaining // 8:  # an entry takes 8 bytes at least: never believe more than there can be
        raise CorruptBlockError(f"{what} count {count} in {body.remaining} bytes", offset=body.offset)
    entries = []
    for _ in range(count):
        key = _code(_KEYS, body, f"{what} key")
        entries.append((key, bytes(body.take(body.int32(f"{what} value length"), f"{what} value"))))
    return BlockHeader(entries)


def _code(known: Mapping[int, _Code], body: Cursor, what: str) -> _Code:
    offset = body.offset
    number = body.int32(what)
    if (code := known.get(number)) is None:
        raise CorruptBlockError(f"unknown {what} {number}; known are {', '.join(map(str, known))}", offset=offset)
    return code
