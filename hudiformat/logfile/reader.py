"""A log file that is read block by block."""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import TracebackType

import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.blocks.batches import record_batches
from hudiformat.blocks.block import LogBlock
from hudiformat.errors import SchemaError, StorageError
from hudiformat.logfile.scan import scan_blocks, scan_blocks_reversed, scan_runs
from hudiformat.storage import Storage, open_parent

Source = str | os.PathLike[str] | bytes | bytearray | memoryview
"""A path, or the bytes themselves."""


def map_source(source: Source, storage: Storage | None = None) -> tuple[str | None, memoryview]:
    """The path, if there is one, and the bytes of *source*, which are read when they are touched.

    Raises:
        StorageError: there is no such file, or it cannot be read.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        return None, memoryview(source).cast("B")
    path = os.fspath(source)
    storage, name = place(path, storage)
    return path, storage.map(name)


def place(path: str, storage: Storage | None = None) -> tuple[Storage, str]:
    """The storage of a file and its path there: those given, or the folder and the name."""
    return open_parent(path) if storage is None else (storage, path)


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

    def __init__(self, source: Source, *, storage: Storage | None = None) -> None:
        self.path: str | None
        self._data: memoryview | None
        self.path, self._data = map_source(source, storage)

    @property
    def size(self) -> int:
        """The size of the file in bytes."""
        return len(self._bytes())

    def __iter__(self) -> Iterator[LogBlock]:
        return scan_blocks(self._bytes())

    def __reversed__(self) -> Iterator[LogBlock]:
        return scan_blocks_reversed(self._bytes())

    def to_arrow(
        self,
        schema: pa.Schema | None = None,
        *,
        columns: list[str] | None = None,
        filter: pc.Expression | None = None,  # noqa: A002
    ) -> pa.Table:
        """The records of all data blocks, in file order, as they stand in the log: nothing is merged or rolled back.

        *schema*, *columns* and *filter* are those of :meth:`LogBlock.to_arrow`; without *schema* all blocks must have
        been written with one.  Corrupt spans are passed over, as queries do; small blocks are decoded together.

        Raises:
            StorageError: the reader is closed.
            DecodeError: the content of a block is damaged.
            SchemaError: the blocks have different schemas, which do not fit *schema*, or a column is not there.
        """
        batches = list(record_batches(scan_runs(self._bytes()), schema=schema, columns=columns, filter=filter))
        if (other := next((batch for batch in batches if batch.schema != batches[0].schema), None)) is not None:
            raise SchemaError(
                f"{self.path or 'the buffer'} has blocks of unlike schemas, {batches[0].schema.names} and "
                f"{other.schema.names}: say which one to bring them to"
            )
        return pa.Table.from_batches(batches, None if batches else schema or pa.schema([]))

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
