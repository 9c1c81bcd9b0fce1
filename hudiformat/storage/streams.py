"""Adapt output files to Arrow's writers, and open files whose ranges are read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from hudiformat.errors import HudiFormatError, StorageError
from hudiformat.storage.protocol import OutputFile, Storage

_BUFFER = 1 << 16


@contextmanager
def open_ranges(storage: Storage, path: str) -> Iterator[pa.NativeFile]:
    """Open a file whose ranges are read within the body.

    Raises:
        StorageError: the file cannot be opened, or one of its ranges cannot be read.
    """
    with storage.open_input(path) as file:
        try:
            yield file
        except HudiFormatError:
            raise
        except (OSError, pa.ArrowException) as error:
            name = f"{storage.root}/{path}"
            raise StorageError(f"cannot read {name}: {error}", path=name) from error


def arrow_stream(file: OutputFile) -> pa.NativeFile:
    """Return a stream into *file*, which stays open when the stream is closed; ``tell`` includes the buffered bytes."""
    return ArrowSink(file).stream()


class ArrowSink:
    """An output file with the methods that pyarrow calls; the owner of the file closes it.

    Once ``is_open`` is false, written bytes are dropped: pyarrow's writers write a footer even when they are only
    discarded.
    """

    closed = False

    def __init__(self, file: OutputFile) -> None:
        self._file = file
        self._held: bytearray | None = None
        self.is_open = True

    def stream(self) -> pa.NativeFile:
        """Return a buffered stream into the file."""
        return pa.output_stream(self, buffer_size=_BUFFER)

    def write(self, data: bytes) -> None:
        """Append *data*, as long as the sink is open."""
        if self._held is not None:
            self._held += data
        elif self.is_open:
            self._file.write(memoryview(data))

    @contextmanager
    def capture(self) -> Iterator[bytearray]:
        """Collect the bytes that are written within the body in a bytearray, instead of writing them to the file."""
        self._held = bytearray()
        try:
            yield self._held
        finally:
            self._held = None

    def tell(self) -> int:
        """Return the number of bytes that were written so far."""
        return self._file.size

    def flush(self) -> None:
        """Do nothing, because nothing is buffered."""

    def close(self) -> None:
        """Do nothing; the owner of the file closes it."""

    def writable(self) -> bool:
        """Return True."""
        return True

    def readable(self) -> bool:
        """Return False."""
        return False

    def seekable(self) -> bool:
        """Return False."""
        return False
