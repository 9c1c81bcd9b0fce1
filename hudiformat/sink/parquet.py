"""Parquet files of plain rows: written a row group after the other, and merged, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import pyarrow as pa
import pyarrow.parquet as pq

from hudiformat.errors import SchemaError
from hudiformat.storage import OutputFile, Storage, arrow_stream

ROW_GROUP = 64 << 20
"""Bytes in Arrow that are gathered for a row group."""
_READ_ROWS = 1 << 16


class ParquetRows:
    """Writes rows to *file*; closing the file is left to its owner.

    ``rows`` counts them; ``waiting`` and ``flushed`` are bytes in Arrow: those in memory, and those in the file.
    """

    def __init__(self, file: OutputFile, schema: pa.Schema) -> None:
        self._stream = arrow_stream(file)
        self._writer = pq.ParquetWriter(self._stream, schema)
        self._batches: list[pa.RecordBatch] = []
        self.rows = 0
        self.waiting = 0
        self.flushed = 0

    @property
    def written(self) -> int:
        """Bytes in the file."""
        size: int = self._stream.tell()
        return size

    def write(self, batch: pa.RecordBatch) -> None:
        """Add *batch*; a row group that is full goes to the file."""
        self._batches.append(batch)
        self.rows += batch.num_rows
        self.waiting += batch.nbytes
        if self.waiting >= ROW_GROUP:
            self.flush()

    def flush(self) -> None:
        """Write the rows that are waiting as a row group."""
        if self._batches:
            table = pa.Table.from_batches(self._batches)
            self._writer.write_table(table, row_group_size=table.num_rows)
            self.flushed += self.waiting
            self._batches, self.waiting = [], 0

    def close(self) -> int:
        """Write what is left and the footer; the size of the file in bytes."""
        self.flush()
        self._writer.close()
        size = self.written
        self._stream.close()
        return size


def merge_files(storage: Storage, sources: Sequence[str], target: str) -> None:
    """Write the rows of *sources*, in their order, to the new file *target*.

    Row groups are decoded and encoded anew, column by column: pyarrow cannot copy them, and many small ones would stay.

    Raises:
        SchemaError: they are not of one schema.
    """
    with storage.open_new(target) as file:
        batches = _batches(storage, sources)
        first = next(batches)  # a file of the sink has rows
        merged = ParquetRows(file, first.schema)
        for batch in chain([first], batches):
            merged.write(batch)
        merged.close()
        file.sync()


def _batches(storage: Storage, sources: Sequence[str]) -> Iterator[pa.RecordBatch]:
    first: pa.Schema | None = None
    for source in sources:
        with storage.open_input(source) as opened:
            found = pq.ParquetFile(opened)
            first = first or found.schema_arrow
            if not found.schema_arrow.equals(first):
                raise SchemaError(
                    f"{source}: expected the schema of the files before\n{first}\nfound\n{found.schema_arrow}\n"
                    "write a batch with one schema"
                )
            yield from found.iter_batches(_READ_ROWS)
