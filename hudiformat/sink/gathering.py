"""Gather rows in memory until there are enough of them for a row group or an Avro block."""

from __future__ import annotations

from abc import ABC, abstractmethod

import pyarrow as pa


class BufferedRowWriter(ABC):
    """Writes rows to a file, one piece (a row group or block) for every *enough* bytes of rows in memory.

    ``rows`` is the number of rows.  ``waiting`` and ``flushed`` are sizes in Arrow's memory, in bytes: of the rows that
    wait for their piece, and of the rows that were written.  The owner of the file closes it.
    """

    def __init__(self, enough: int) -> None:
        self._enough = enough
        self._batches: list[pa.RecordBatch] = []
        self.rows = 0
        self.waiting = 0
        self.flushed = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Add *batch*, and write a piece if there are enough rows.

        Raises:
            DataError: a column that is not nullable has a null, or a value does not fit the type of its column.
            EncodeError: the piece is too large for readers.
        """
        self._batches.append(batch)
        self.rows += batch.num_rows
        self.waiting += batch.nbytes
        if self.waiting >= self._enough:
            self.flush()

    def flush(self) -> None:
        """Write the rows that are in memory."""
        if self._batches:
            self._write_piece(pa.Table.from_batches(self._batches))
            self.flushed += self.waiting
            self._batches, self.waiting = [], 0

    @property
    @abstractmethod
    def written(self) -> int:
        """The bytes in the file."""

    @abstractmethod
    def close(self) -> int:
        """Write the remaining rows, and return the size of the file in bytes."""

    @abstractmethod
    def _write_piece(self, table: pa.Table) -> None:
        """Write all rows that are in memory."""
