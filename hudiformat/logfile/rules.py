"""What makes a block of a log file sound, and how much of the file a corrupt one takes.  Rules: spec/log-file.md.

The one place where that is decided: :mod:`~hudiformat.logfile.scan` asks about a whole file,
:mod:`~hudiformat.logfile.decoder` about as much as there is of one.
"""

from __future__ import annotations

import re

from hudiformat.blocks.block import LogBlock
from hudiformat.blocks.frame import MAGIC, Buffer, Frame, parse_frame
from hudiformat.blocks.types import BlockHeader, BlockType
from hudiformat.errors import CorruptBlockError, TruncatedBlockError

_NEXT_MAGIC = re.compile(re.escape(MAGIC))


def sound_frame(data: Buffer, start: int, *, base: int = 0, ended: bool = True) -> Frame:
    """The frame of the sound block at *start*.  *ended* says that no bytes will follow *data*.

    Raises:
        TruncatedBlockError: the block is not there whole; where *data* has not *ended* it may yet turn out to be sound.
        DecodeError: there is no sound block.

    Source: HoodieLogFileReader.isBlockCorrupted.
    """
    frame = parse_frame(data, start, base=base)
    following = data[frame.end : frame.end + len(MAGIC)]
    if len(following) == len(MAGIC):
        if following != MAGIC:
            raise CorruptBlockError(
                f"the block is followed by {bytes(following)!r}, neither a magic nor the end of the file",
                offset=base + frame.end,
            )
    elif not ended:  # fewer bytes than a magic at the end are ignored, as Hudi ignores them
        raise TruncatedBlockError("what follows the block is not there", needed=frame.end - start + len(MAGIC))
    return frame


def next_magic(data: Buffer, start: int, *, searched: int = 0) -> int:
    """Where the corrupt span at *start* ends: at the next magic, its own left out, or at the end of *data*.

    The first *searched* bytes of the span are known to hold none.

    Source: HoodieLogFileReader.scanForNextAvailableBlockOffset.
    """
    own = len(MAGIC) if data[start : start + len(MAGIC)] == MAGIC else 0
    found = _NEXT_MAGIC.search(data, start + max(own, searched))
    return found.start() if found else len(data)


def corrupt_block(span: memoryview, offset: int, reason: str) -> LogBlock:
    """The block that stands for *span*, the bytes at *offset* of the file that cannot be read for *reason*.

    Source: HoodieLogFileReader.createCorruptBlock.
    """
    content = span[len(MAGIC) :] if span[: len(MAGIC)] == MAGIC else span
    return LogBlock(BlockType.CORRUPT, BlockHeader(), content, offset=offset, size=len(span), reason=reason)
