"""Writing Parquet files of plain rows, one row group after the other, and merging them, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import pyarrow as pa
import pyarrow.parquet as pq

from hudiformat.errors import SchemaError
from hudiformat.sink.gathering import GatheredRows
from hudiformat.storage import OutputFile, Storage, arrow_stream, reading

ROW_GROUP = 64 << 20
"""The bytes in Arrow of a row group."""
_READ_ROWS = 1 << 16


class ParquetRows(GatheredRows):
    """Writes rows to *file* in row groups."""

    def __init__(self, file: OutputFile, schema: pa.Schema) -> None:
        super().__init__(ROW_GROUP)
        self._stream = arrow_stream(file)
        self._writer = pq.ParquetWriter(self._stream, schema)

    @property
    def written(self) -> int:
        """As :attr:`GatheredRows.written`."""
        size: int = self._stream.tell()
        return size

    def close(self) -> int:
        """Write the remaining rows and the footer; return the size of the file in bytes."""
        self.flush()
        self._writer.close()
        size = self.written
        self._stream.close()
        return size

    def _write_piece(self, table: pa.Table) -> None:
        self._writer.write_table(table, row_group_size=table.num_rows)


def merge_files(storage: Storage, sources: Sequence[str], target: str) -> None:
    """Write the rows of *sources*, in their order, to the new file *target*.

    Row groups are decoded and encoded again: pyarrow cannot copy them, and copies of small row groups would stay small.

    Raises:
        SchemaError: the files have different schemas.
    """
    with storage.open_new(target) as file:
        batches = _batches(storage, sources)
        first = next(batches)  # files of the sink are never empty
        merged = ParquetRows(file, first.schema)
        for batch in chain([first], batches):
            merged.write(batch)
        merged.close()
        file.sync()


def _batches(storage: Storage, sources: Sequence[str]) -> Iterator[pa.RecordBatch]:
    first: pa.Schema | None = None
    for source in sources:
        with reading(storage, source) as stream:
            file = pq.ParquetFile(stream)
            first = first or file.schema_arrow
            if not file.schema_arrow.equals(first):
                raise SchemaError(
                    f"{source}: expected the schema of the files before\n{first}\nfound\n{file.schema_arrow}\n"
                    "write a batch with one schema"
                )
            yield from file.iter_batches(_READ_ROWS)
