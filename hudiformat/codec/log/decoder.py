"""Decode the blocks of a log file whose bytes arrive in pieces.  Rules: spec/log-file.md."""

from __future__ import annotations

from hudiformat.codec.log.block import LogBlock, block_in_frame
from hudiformat.codec.log.frame import MAGIC
from hudiformat.codec.log.reader import corrupt_block, next_magic, sound_frame
from hudiformat.errors import DecodeError, TruncatedBlockError


class LogDecoder:
    """Takes the bytes of a log file in pieces of any size, and returns the blocks that the whole file has.

    Call :meth:`feed`, then :meth:`next_block` until it returns None, and so on; after the last piece call
    :meth:`finish` and :meth:`next_block` again.  The decoder holds the bytes of one block, sound or corrupt, and the
    bytes fed behind it.

    Whether a block is sound depends on all its bytes and on the 6 bytes behind it.  So a block is returned when these
    have been fed, or at the end of the file.

    Source: HoodieLogFileReader, which needs a file that it can seek in; spec/log-file.md.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()  # from the first byte of the next block on
        self._offset = 0
        self._needed = len(MAGIC)
        self._ended = False
        self._error: DecodeError | None = None
        self._searched = 0

    def feed(self, data: bytes | bytearray | memoryview) -> None:
        """Add the next bytes of the file.

        Raises:
            DecodeError: :meth:`finish` was called before.
        """
        if self._ended:
            raise DecodeError("feed() was called after finish()", offset=self._offset + len(self._buffer))
        self._buffer += data

    def finish(self) -> None:
        """Declare that the file ends here; a second call does nothing."""
        self._ended = True

    def next_block(self) -> LogBlock | None:
        """Return the next block; None if more bytes are needed, or at the end of the file."""
        if len(self._buffer) < (len(MAGIC) if self._ended else self._needed):
            return None
        if self._error is None:
            try:
                frame = sound_frame(self._buffer, 0, base=self._offset, ended=self._ended)
            except DecodeError as error:
                if isinstance(error, TruncatedBlockError) and not self._ended:
                    self._needed = error.needed
                    return None
                # A copy: the frames of the error hold the buffer, which then cannot be resized.
                self._error = DecodeError(error.reason, offset=error.offset)
            else:
                offset = self._offset
                return block_in_frame(memoryview(self._take(frame.end)), frame, base=offset)
        return self._corrupt_block(self._error)

    def _corrupt_block(self, error: DecodeError) -> LogBlock | None:
        """Return the corrupt span at the start of the buffer; None if its end has not been fed yet."""
        end = next_magic(self._buffer, 0, searched=self._searched)
        if end == len(self._buffer) and not self._ended:
            self._searched = max(end - len(MAGIC) + 1, 0)  # a magic may begin in the last bytes
            self._needed = end + 1
            return None
        offset = self._offset
        return corrupt_block(memoryview(self._take(end)), offset, error)

    def _take(self, count: int) -> bytes:
        """Remove the first *count* bytes, which are one block, from the buffer, and return them."""
        with memoryview(self._buffer) as view:
            taken = bytes(view[:count])
        del self._buffer[:count]
        self._offset += count
        self._needed, self._searched, self._error = len(MAGIC), 0, None
        return taken
