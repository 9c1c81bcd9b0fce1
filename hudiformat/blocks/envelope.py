"""The envelope that every log block travels in.  Layout: spec/log-block.md."""

from __future__ import annotations

import struct

from hudiformat.blocks.block import LogBlock
from hudiformat.blocks.frame import FORMAT_VERSION, LENGTH_SIZE, MAGIC, TAIL_SIZE, Frame, parse_frame
from hudiformat.blocks.types import BlockHeader, BlockType, Quirks
from hudiformat.errors import EncodeError
from hudiformat.wire import INT32_MAX, int32

_HEAD = struct.Struct(">6sqii")
_INT64 = struct.Struct(">q")
_TAIL = struct.Struct(">iq")
_LEAST_SIZE = 4 + 4 + LENGTH_SIZE + TAIL_SIZE
"""Bytes that the block's size counts besides the header and the content."""
_PLAIN = Quirks()


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
    if block.version != FORMAT_VERSION or block.footer.entries:
        raise EncodeError(
            f"a block of log format version {block.version} with {len(block.footer)} footer entries cannot be read by "
            f"anybody: expected version {FORMAT_VERSION} and no footer"
        )
    quirks = block.quirks or _PLAIN
    header, content = block.header.encoded, len(block.content)
    if quirks.header_count:
        header = int32(quirks.header_count)
    # Two lengths that look alike: the first leaves out the magic and itself, the last counts the magic and the first
    # but not itself.  They differ by 6.
    length = _LEAST_SIZE + len(header) + content
    # Java reads a size just below the limit, of a block up to 14 bytes beyond it: one that was read is given back.
    if (total := len(MAGIC) + LENGTH_SIZE + length) > INT32_MAX and block.size != total:
        raise EncodeError(
            f"a block of {total} bytes cannot be read by anybody: Hudi keeps block lengths in 32 bits (HUDI-2665); "
            "write smaller blocks (hoodie.logfile.data.block.max.size)"
        )
    head = _HEAD.pack(MAGIC, length + (quirks.size_wraps << 32), block.version, block.type)
    size = _INT64.pack(content + (quirks.content_length_wraps << 32))
    return (head + header + size, block.content, _TAIL.pack(quirks.footer_count, len(MAGIC) + length))


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
    frame = parse_frame(view, start, base=base)
    return block_in_frame(view, frame, base=base), frame.end


def block_in_frame(view: memoryview, frame: Frame, *, base: int = 0) -> LogBlock:
    """The block that *frame* found in *view*; the values of the header are copied, the content is a view."""
    entries = [(key, bytes(view[start:end])) for key, start, end in frame.entries]
    return LogBlock(
        frame.type,
        BlockHeader(entries),
        view[frame.content : frame.end - TAIL_SIZE],
        offset=base + frame.start,
        size=frame.end - frame.start,
        quirks=frame.quirks,
    )
