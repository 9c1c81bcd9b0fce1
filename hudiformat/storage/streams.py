"""An output file as Arrow's writers take it."""

from __future__ import annotations

import pyarrow as pa

from hudiformat.storage.protocol import OutputFile

_BUFFER = 1 << 16


def arrow_stream(file: OutputFile) -> pa.NativeFile:
    """A stream into *file*, which stays open when the stream is closed; its ``tell`` counts what is buffered, too."""
    return pa.output_stream(_Sink(file), buffer_size=_BUFFER)


class _Sink:
    """An output file as pyarrow wants one; closing it is left to its owner."""

    closed = False

    def __init__(self, file: OutputFile) -> None:
        self._file = file

    def write(self, data: bytes) -> None:
        self._file.write(memoryview(data))

    def tell(self) -> int:
        return self._file.size

    def flush(self) -> None:
        """Nothing waits here."""

    def close(self) -> None:
        """See the class."""

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False
