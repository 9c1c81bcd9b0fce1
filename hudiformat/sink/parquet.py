"""Write Parquet files of plain rows, one row group after the other, and merge them, in bounded memory.

Merging copies large row groups undecoded.  Rules: spec/sink.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from hudiformat.codec.parquet.copying import RowGroupCopier
from hudiformat.codec.parquet.rows import close_writer, columns_with_nan, read_batches, set_infinite_bounds
from hudiformat.codec.parquet.source import ParquetSource
from hudiformat.errors import DataError, SchemaError
from hudiformat.sink.gathering import BufferedRowWriter
from hudiformat.storage.protocol import OutputFile, Storage
from hudiformat.storage.streams import ArrowSink, open_ranges

ROW_GROUP = 64 << 20
"""The size of a row group in Arrow's memory, in bytes."""


@dataclass(frozen=True, slots=True)
class MergeLimits:
    """The sizes that decide what is copied when files are merged.

    A row group of at least *copied_group* bytes, before compression, is copied as it is.  Smaller ones are decoded,
    *read_rows* rows at a time, and put together to row groups of *row_group* bytes in Arrow's memory.
    """

    row_group: int = ROW_GROUP
    copied_group: int = 4 << 20
    read_rows: int = 1 << 16


MERGE_LIMITS = MergeLimits()


def check_types(schema: pa.Schema) -> None:
    """Check that each column of *schema* has a type that pyarrow writes to Parquet.

    Raises:
        SchemaError: a column has another type, such as a struct without fields.
    """
    for field in schema:
        _check_type(field)


def _check_type(field: pa.Field) -> None:
    try:
        pq.ParquetWriter(pa.BufferOutputStream(), pa.schema([field])).close()
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        message = f"column {field.name} of type {field.type} cannot be stored in Parquet: {error}"
        raise SchemaError(message, column=field.name) from None


class ParquetRows(BufferedRowWriter):
    """Writes rows to *file* in row groups."""

    def __init__(self, file: OutputFile, schema: pa.Schema) -> None:
        super().__init__(ROW_GROUP)
        self._sink = ArrowSink(file)
        self._stream = self._sink.stream()
        self._writer = pq.ParquetWriter(self._stream, schema)
        self._with_nan: list[frozenset[str]] = []

    @property
    def written(self) -> int:
        """As :attr:`BufferedRowWriter.written`."""
        size: int = self._stream.tell()
        return size

    def close(self) -> int:
        """Write the remaining rows and the footer; return the size of the file in bytes."""
        self.flush()
        return close_writer(self._writer, self._sink, self._stream, self._with_nan)

    def _write_piece(self, table: pa.Table) -> None:
        self._writer.write_table(table, row_group_size=table.num_rows)
        self._with_nan.append(columns_with_nan(table))


class MergingRowWriter(BufferedRowWriter):
    """Writes a file of row groups: large ones are copied as they are, small ones decoded and combined.

    The rows stay in the order in which they are added.  A combined row group is first written to memory, and copied
    from there, so that every row group enters the file by copying.
    """

    def __init__(self, file: OutputFile, schema: pa.Schema, limits: MergeLimits = MERGE_LIMITS) -> None:
        super().__init__(limits.row_group)
        self._limits = limits
        self._file = file
        self._schema = schema
        self._copier = RowGroupCopier(file)
        self._written_here = _parquet_in_memory(schema.empty_table())
        self._copier.append(self._written_here)

    def add(self, stream: pa.NativeFile, path: str) -> None:
        """Add all rows of a Parquet file.

        Raises:
            SchemaError: the file has another schema.
        """
        parquet = pq.ParquetFile(stream)
        if not parquet.schema_arrow.equals(self._schema):
            raise SchemaError(
                f"{path}: expected the schema of the files before\n{self._schema}\nfound\n{parquet.schema_arrow}\n"
                "write a batch with one schema"
            )
        source: ParquetSource | None = None
        for number in range(parquet.num_row_groups):
            if parquet.metadata.row_group(number).total_byte_size >= self._limits.copied_group:
                source = source or ParquetSource.open(stream, path)
                if self._written_here.difference(source) is None:
                    self.flush()
                    self._copier.append(source, [number])
                    continue
            for batch in read_batches(parquet, self._limits.read_rows, groups=[number]):
                self.write(batch)

    @property
    def written(self) -> int:
        """As :attr:`BufferedRowWriter.written`."""
        return self._file.size

    def close(self) -> int:
        """Write the remaining rows and the footer; return the size of the file in bytes."""
        self.flush()
        return self._copier.close()

    def _write_piece(self, table: pa.Table) -> None:
        self._copier.append(_parquet_in_memory(table))


def _parquet_in_memory(table: pa.Table) -> ParquetSource:
    """Return a Parquet file in memory with *table* as its only row group."""
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, table.schema) as writer:
        writer.write_table(table, row_group_size=max(table.num_rows, 1))
    data, with_nan = sink.getvalue(), columns_with_nan(table)
    if with_nan:
        data = pa.py_buffer(set_infinite_bounds(data.to_pybytes(), [with_nan]))
    return ParquetSource.open(pa.BufferReader(data), "rows in memory")


def merge_files(storage: Storage, sources: Sequence[str], target: str, *, limits: MergeLimits = MERGE_LIMITS) -> None:
    """Write the rows of *sources*, in their order, to the new file *target*.

    Large row groups are copied byte for byte; smaller ones are decoded and put together, because copies of small row
    groups would stay small.  *limits* say which are large.  Memory holds one row group.

    Raises:
        SchemaError: the files have different schemas.
    """
    with storage.open_new(target) as file:
        merged: MergingRowWriter | None = None
        for source in sources:
            with open_ranges(storage, source) as stream:
                merged = merged or MergingRowWriter(file, pq.read_schema(stream), limits)
                merged.add(stream, source)
        if merged is None:
            raise DataError(f"{target}: expected files to merge, found none")
        merged.close()
        file.sync()
