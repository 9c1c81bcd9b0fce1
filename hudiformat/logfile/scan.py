"""Blocks out of the bytes of a log file, whatever those bytes are.  Rules: spec/log-file.md.

Every byte of a file belongs to a block that is yielded, but for a tail shorter than a magic, which Hudi ignores.  A
span that cannot be read is one CORRUPT block up to the next magic, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile

from hudiformat.blocks.block import LogBlock
from hudiformat.blocks.envelope import LENGTH_SIZE, MAGIC, decode_block
from hudiformat.blocks.types import BlockHeader, BlockType
from hudiformat.errors import CorruptBlockError, DecodeError
from hudiformat.wire import Cursor

_NEXT_MAGIC = re.compile(re.escape(MAGIC))
_OVERLAP = len(MAGIC) - 1  # two magics can share a "#"


def scan_blocks(data: memoryview, start: int = 0) -> Iterator[LogBlock]:
    """The blocks from *start* to the end of *data*, in file order.  Contents are views, and not touched.

    Source: HoodieLogFileReader.hasNext and next.
    """
    position = start
    while len(data) - position >= len(MAGIC):
        block = _block_at(data, position)
        yield block
        position += block.size or 0


def scan_blocks_reversed(data: memoryview) -> Iterator[LogBlock]:
    """The blocks of *data* from the last to the first, by the reverse pointers.

    Where a pointer does not lead to a sound block, as in a torn tail, the file is scanned forward up to there and that
    is reversed, so that the blocks are those of :func:`scan_blocks`.  (Only a file that was forged so that sound blocks
    overlap has two readings.)

    Source: HoodieLogFileReader.prev, which throws in that case.
    """
    end = len(data)
    while end:
        block = _block_before(data, end)
        if block is None or block.offset is None:
            yield from reversed(list(_blocks_before(data, end)))
            return
        yield block
        end = block.offset


def _block_at(data: memoryview, start: int) -> LogBlock:
    try:
        block, end = decode_block(data, start)
        following = data[end : end + len(MAGIC)]
        # Fewer bytes than a magic at the end are ignored, as Hudi ignores them.
        if len(following) == len(MAGIC) and following != MAGIC:
            raise CorruptBlockError(
                f"the block is followed by {bytes(following)!r}, neither a magic nor the end of the file", offset=end
            )
    except DecodeError as error:
        return _corrupt_block(data, start, str(error))
    return block


def _blocks_before(data: memoryview, end: int) -> Iterator[LogBlock]:
    """The blocks that begin before *end*, scanned in the whole file: what follows a block says whether it is sound."""
    return takewhile(lambda block: (block.offset or 0) < end, scan_blocks(data))


def _block_before(data: memoryview, end: int) -> LogBlock | None:
    """The sound block that ends at *end*; None when the reverse pointer does not lead to one."""
    if end < len(MAGIC) + 2 * LENGTH_SIZE:
        return None
    start = end - LENGTH_SIZE - Cursor(data[end - LENGTH_SIZE : end]).int64()
    if not 0 <= start < end:
        return None
    if start >= _OVERLAP and data[start - _OVERLAP : start + 1] == MAGIC:
        return None  # read forward, the block may be lost to the magic that ends in its own
    try:
        block, block_end = decode_block(data, start)
    except DecodeError:
        return None
    return block if block_end == end else None


def _corrupt_block(data: memoryview, start: int, reason: str) -> LogBlock:
    """The span from *start* to the next magic, the one at *start* left out."""
    content_start = start + len(MAGIC) if data[start : start + len(MAGIC)] == MAGIC else start
    found = _NEXT_MAGIC.search(data, content_start)
    end = found.start() if found else len(data)
    content = data[content_start:end]
    return LogBlock(BlockType.CORRUPT, BlockHeader(), content, offset=start, size=end - start, reason=reason)
