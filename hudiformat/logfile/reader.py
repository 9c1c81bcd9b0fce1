"""A log file that is read block by block."""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import TracebackType

from hudiformat.blocks.block import LogBlock
from hudiformat.errors import StorageError
from hudiformat.logfile.scan import scan_blocks, scan_blocks_reversed
from hudiformat.storage import Storage, open_storage


class LogReader:
    """The blocks of one log file, which may be larger than memory.

    *source* is a path, or the bytes themselves.  Iterating yields the blocks in file order, ``reversed()`` from the
    last to the first, both as often as one likes.  Damage raises nothing: a span that cannot be read is a block of
    type CORRUPT.  The file is mapped as it is at opening; what a writer appends later is not seen.

    Blocks stay usable after the reader is closed, for their contents are views that keep the map alive.

    Raises:
        StorageError: there is no such file, or it cannot be read.

    Source: HoodieLogFileReader; spec/log-file.md.
    """

    def __init__(
        self, source: str | os.PathLike[str] | bytes | bytearray | memoryview, *, storage: Storage | None = None
    ) -> None:
        self.path: str | None = None
        if isinstance(source, (bytes, bytearray, memoryview)):
            self._data: memoryview | None = memoryview(source).cast("B")
            return
        self.path = os.fspath(source)
        if storage is None:
            folder, separator, name = self.path.rpartition("/")  # not Path, which makes s3:/b of s3://b
            self._data = open_storage(folder + separator or ".").map(name)
        else:
            self._data = storage.map(self.path)

    @property
    def size(self) -> int:
        """The size of the file in bytes."""
        return len(self._bytes())

    def __iter__(self) -> Iterator[LogBlock]:
        return scan_blocks(self._bytes())

    def __reversed__(self) -> Iterator[LogBlock]:
        return scan_blocks_reversed(self._bytes())

    def close(self) -> None:
        """Let go of the file; a second call does nothing."""
        self._data = None

    def __enter__(self) -> LogReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _bytes(self) -> memoryview:
        if self._data is None:
            raise StorageError(f"the reader of {self.path or 'a buffer'} is closed", path=self.path)
        return self._data
