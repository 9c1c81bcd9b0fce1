"""Rows that are gathered in memory until there are enough of them for a piece of a file."""

from __future__ import annotations

from abc import ABC, abstractmethod

import pyarrow as pa


class GatheredRows(ABC):
    """Writes rows to a file, a piece for every *enough* bytes in Arrow; closing the file is left to its owner.

    ``rows`` counts them; ``waiting`` and ``flushed`` are bytes in Arrow: those in memory, and those in the file.
    """

    def __init__(self, enough: int) -> None:
        self._enough = enough
        self._batches: list[pa.RecordBatch] = []
        self.rows = 0
        self.waiting = 0
        self.flushed = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Add *batch*; a piece that is full goes to the file.

        Raises:
            DataError: a null where the schema has none, or a value that its type does not hold.
            EncodeError: a piece that readers do not take.
        """
        self._batches.append(batch)
        self.rows += batch.num_rows
        self.waiting += batch.nbytes
        if self.waiting >= self._enough:
            self.flush()

    def flush(self) -> None:
        """Write the rows that are waiting."""
        if self._batches:
            self._write_piece(pa.Table.from_batches(self._batches))
            self.flushed += self.waiting
            self._batches, self.waiting = [], 0

    @property
    @abstractmethod
    def written(self) -> int:
        """Bytes in the file."""

    @abstractmethod
    def close(self) -> int:
        """Write what is left; the size of the file in bytes."""

    @abstractmethod
    def _write_piece(self, table: pa.Table) -> None:
        """Write all the rows that are waiting."""
