"""Blocks out of the bytes of a log file, whatever those bytes are.  Rules: spec/log-file.md.

Every byte of a file belongs to a block that is yielded, but for a tail shorter than a magic, which Hudi ignores.  A
span that cannot be read is one CORRUPT block up to the next magic, with the reason.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import takewhile

from hudiformat.blocks.block import LogBlock
from hudiformat.blocks.envelope import block_in_frame, decode_block
from hudiformat.blocks.frame import LENGTH_SIZE, MAGIC
from hudiformat.blocks.run import BlockRun
from hudiformat.errors import DecodeError
from hudiformat.logfile.likeness import runs_like
from hudiformat.logfile.rules import corrupt_block, next_magic, sound_frame
from hudiformat.storage import Trail
from hudiformat.wire import Cursor

_OVERLAP = len(MAGIC) - 1  # two magics can share a "#"


def scan_blocks(data: memoryview, start: int = 0) -> Iterator[LogBlock]:
    """The blocks from *start* to the end of *data*, in file order.  Contents are views, and not touched.

    Source: HoodieLogFileReader.hasNext and next.
    """
    for found in scan_runs(data, start):
        if isinstance(found, BlockRun):
            yield from found.blocks()
        else:
            yield found


def scan_runs(data: memoryview, start: int = 0) -> Iterator[LogBlock | BlockRun]:
    """The same, sound blocks as runs of them, which costs less for those that nobody has to look at one by one."""
    trail = Trail(data, start)
    while len(data) - start >= len(MAGIC):
        block = _block_at(data, start)
        run = None
        for run in runs_like(data, block):
            yield run
            start = int(run.places[-1])
            trail.reach(start)
        if run is None:
            yield block
            start += block.size or 0
            trail.reach(start)


def scan_blocks_reversed(data: memoryview) -> Iterator[LogBlock]:
    """The blocks of *data* from the last to the first, by the reverse pointers.

    Where a pointer does not lead to a sound block, as in a torn tail, the file is scanned forward up to there and that
    is reversed, so that the blocks are those of :func:`scan_blocks`.  (Only a file that was forged so that sound blocks
    overlap has two readings.)

    Source: HoodieLogFileReader.prev, which throws in that case.
    """
    end = len(data)
    trail = Trail(data, end)
    while end:
        block = _block_before(data, end)
        if block is None or block.offset is None:
            # Where the blocks begin, and not the blocks: of a forged file there may be one for every six bytes.
            starts = array("q", (block.offset or 0 for block in _blocks_before(data, end)))
            yield from (_block_at(data, start) for start in reversed(starts))
            return
        yield block
        end = block.offset
        trail.reach(end)


def _block_at(data: memoryview, start: int) -> LogBlock:
    try:
        return block_in_frame(data, sound_frame(data, start))
    except DecodeError as error:
        return corrupt_block(data[start : next_magic(data, start)], start, str(error))


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
