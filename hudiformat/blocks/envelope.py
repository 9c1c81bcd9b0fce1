"""The envelope that every log block travels in.  Layout: spec/log-block.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from hudiformat.blocks.block import LogBlock
from hudiformat.blocks.types import BlockHeader, BlockType, HeaderKey
from hudiformat.errors import CorruptBlockError, EncodeError, TruncatedBlockError, UnsupportedVersionError
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
        EncodeError: no reader of the format could read the block back, for it would be of 2 GiB or more (HUDI-2665),
            of a log format version other than 1, or have a footer.

    Source: HoodieLogFormatWriter.appendBlocks; spec/log-block.md.
    """
    return b"".join(encode_block_parts(block))


def encode_block_parts(block: LogBlock) -> tuple[bytes | memoryview, ...]:
    """The bytes of *block* as (head, content, tail), so that a writer can gather them without a copy.

    Raises:
        EncodeError: as in :func:`encode_block`.
    """
    if block.type is BlockType.CORRUPT:
        # A corrupt span has no envelope to rebuild: what stood there stands there again, a magic in front or not.
        starts_with_magic = block.size is None or block.size > len(block.content)
        return (MAGIC if starts_with_magic else b"", block.content, b"")
    if block.version != FORMAT_VERSION or block.footer:
        raise EncodeError(
            f"a block of log format version {block.version} with {len(block.footer)} footer entries cannot be read by "
            f"anybody: expected version {FORMAT_VERSION} and no footer"
        )
    head = b"".join((int32(block.version), int32(block.type), _encode_header(block.header), int64(len(block.content))))
    footer = int32(0)
    # Two lengths that look alike: the first leaves out the magic and itself, the last counts the magic and the first
    # but not itself.  They differ by 6.
    length = len(head) + len(block.content) + len(footer) + LENGTH_SIZE
    if (total := len(MAGIC) + LENGTH_SIZE + length) > INT32_MAX:
        raise EncodeError(
            f"a block of {total} bytes cannot be read by anybody: Hudi keeps block lengths in 32 bits (HUDI-2665); "
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
    body_start = cursor.offset
    body = Cursor(cursor.take(length, "block"), base=body_start)
    try:
        block = _decode_body(body, base + start, len(MAGIC) + length)
    except TruncatedBlockError as error:
        # The block is all there: what runs out of bytes inside it is a length that lies, not a write that was cut off.
        corrupt = CorruptBlockError(str(error))
        corrupt.offset = error.offset
        raise corrupt from error
    return replace(block, offset=base + start, size=cursor.pos), start + cursor.pos


def _decode_body(body: Cursor, offset: int, expected_pointer: int) -> LogBlock:
    """What follows the block size, for the block at *offset*."""
    if (version := body.int32("log format version")) != FORMAT_VERSION:
        raise UnsupportedVersionError(
            f"log format version {version}; only version {FORMAT_VERSION} can be read, by Hudi too", offset=offset
        )
    kind = _code(_TYPES, body, "block type")
    header = _decode_header(body)
    content = body.take(body.int64("content length"), "content")
    if count := body.int32("footer count"):
        raise CorruptBlockError(f"{count} footer entries, though the format knows no footer key", offset=offset)
    pointer = body.int64("reverse pointer")
    if pointer != expected_pointer or body.remaining:
        raise CorruptBlockError(
            f"block size {expected_pointer - len(MAGIC)}, but reverse pointer {pointer} "
            f"and {body.remaining} bytes left over",
            offset=offset,
        )
    return LogBlock(kind, header, content, version=version)


def _encode_header(header: BlockHeader) -> bytes:
    parts = [int32(len(header.entries))]
    for key, value in header.entries:
        parts += (int32(key), int32(len(value)), value)
    return b"".join(parts)


def _decode_header(body: Cursor) -> BlockHeader:
    count = body.int32("header count")
    if not 0 <= count <= body.remaining // 8:  # an entry takes 8 bytes at least: never believe more than there can be
        raise CorruptBlockError(f"header count {count} in {body.remaining} bytes", offset=body.offset)
    entries = []
    for _ in range(count):
        key = _code(_KEYS, body, "header key")
        entries.append((key, bytes(body.take(body.int32("header value length"), "header value"))))
    return BlockHeader(entries)


def _code(known: Mapping[int, _Code], body: Cursor, what: str) -> _Code:
    offset = body.offset
    number = body.int32(what)
    if (code := known.get(number)) is None:
        raise CorruptBlockError(f"unknown {what} {number}; known are {', '.join(map(str, known))}", offset=offset)
    return code
