"""An output file as Arrow's writers take it."""

from __future__ import annotations

import pyarrow as pa

from hudiformat.storage.protocol import OutputFile

_BUFFER = 1 << 16


def arrow_stream(file: OutputFile) -> pa.NativeFile:
    """A stream into *file*, which stays open when the stream is closed; its ``tell`` counts what is buffered, too."""
    return ArrowSink(file).stream()


class ArrowSink:
    """An output file as pyarrow wants one; closing it is left to its owner.

    Once ``is_open`` is false nothing more is written: pyarrow's writers finish their files even when they are thrown
    away.
    """

    closed = False

    def __init__(self, file: OutputFile) -> None:
        self._file = file
        self.is_open = True

    def stream(self) -> pa.NativeFile:
        """A buffered stream into the file."""
        return pa.output_stream(self, buffer_size=_BUFFER)

    def write(self, data: bytes) -> None:
        """Append *data*, as long as the sink is open."""
        if self.is_open:
            self._file.write(memoryview(data))

    def tell(self) -> int:
        """Bytes written so far."""
        return self._file.size

    def flush(self) -> None:
        """Nothing waits here."""

    def close(self) -> None:
        """See the class."""

    def writable(self) -> bool:
        """True."""
        return True

    def readable(self) -> bool:
        """False."""
        return False

    def seekable(self) -> bool:
        """False."""
        return False
