"""Read what the indexes of the metadata table keep of existing files, in order to build an index.

Statistics come from the footers of base files.  A column is read if its footer says too little, and log files are read
block by block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from hudiformat.codec.log.block import LogBlock
from hudiformat.codec.log.damaged import add_log_file_to_errors
from hudiformat.codec.log.frame import BlockType
from hudiformat.codec.log.reader import LogReader
from hudiformat.codec.statistics import ColumnStatistics, StatisticsCollector, kind_of
from hudiformat.file_group.base_file.file_indexes import FileIndexer, Indexes
from hudiformat.file_group.base_file.footers import read_footer
from hudiformat.file_group.merging.candidates import read_records
from hudiformat.file_group.reader import SliceReader
from hudiformat.file_group.renamed_columns import block_of_query, scan_batches, stored_schema_of
from hudiformat.file_group.slices import FileSlice
from hudiformat.naming.file_names import join_path
from hudiformat.schema.meta_fields import META_FIELDS, RECORD_KEY
from hudiformat.storage.protocol import Storage
from hudiformat.table.schema_files import schema_history
from hudiformat.table.state import TableState
from hudiformat.timeline.commit_metadata import IndexedFile

_ROWS_OF_LOG = 64
"""The least bytes of a record in a log file, for estimating the number of records."""


@dataclass(frozen=True, slots=True)
class FileReader:
    """Reads what *indexes* keep of files, with the reader ``slices``.  It is sent to tasks: plain values only."""

    slices: SliceReader
    indexes: Indexes

    @classmethod
    def of(cls, state: TableState, indexes: Indexes) -> FileReader:
        """Return the reader of a table's files.

        Raises:
            CorruptTableError: the table's internal schemas cannot be read.
        """
        slices = SliceReader(
            state.config,
            state.schema_of_files,
            state.visibility,
            merger=state.context.merger,
            merge_memory=state.options.merge_memory,
            history=schema_history(state) if state.has_ids() else None,
            with_keys=True,
        )
        return cls(slices, indexes)

    def base_file(self, storage: Storage, folder: str, name: str) -> IndexedFile:
        """Return the statistics and the bloom filter of a base file.

        Raises:
            CorruptTableError: it is not a Parquet file.
            StorageError: it cannot be read.
        """
        path, schema = join_path(folder, name), self._schema
        renamed = stored_schema_of(storage, path, schema, self.slices.history) is not None
        footer = read_footer(storage, path, schema, () if renamed else self.indexes.columns)
        known = {
            **self._nulls(footer.rows),
            **self._read(storage, path, self.indexes.columns if renamed else footer.unknown),
            **footer.columns,
        }
        return IndexedFile(
            {
                column: replace(found, size=size, uncompressed=uncompressed)
                for column in self.indexes.columns
                if (found := known.get(column)) is not None
                for size, uncompressed in [footer.sizes.get(column, (0, 0))]
            },
            footer.keys.filter_text if self.indexes.filters else None,
            bloom_type=footer.keys.filter_type,
        )

    def log_file(self, storage: Storage, folder: str, name: str) -> IndexedFile:
        """Return the statistics of all records of a log file; one block is in memory at a time.

        Raises:
            DecodeError: a block is damaged.
            StorageError: it cannot be read.
        """
        schema = self._schema
        indexer = FileIndexer(replace(self.indexes, keys=False), schema)
        path, columns = join_path(folder, name), frozenset(self.indexes.columns)
        with add_log_file_to_errors(storage, [path]):
            for found in filter(_has_records, LogReader(path, storage=storage)):
                block = block_of_query(found, columns, self.slices.config, self.slices.history)
                for batch, written in read_records([block], schema):
                    indexer.add(batch if written is None else _select_written(batch, written))
        return indexer.finish()

    def keys(self, storage: Storage, file_slice: FileSlice) -> Iterator[pa.Array]:
        """Yield the record keys of the rows of a slice, in batches.

        Raises:
            CorruptTableError, DecodeError, StorageError: a file is missing or damaged.
        """
        for batch in self.slices.scan(storage, file_slice, columns=[RECORD_KEY]):
            yield batch.column(0).cast(pa.string())

    def estimated_rows(self, storage: Storage, file_slice: FileSlice) -> int:
        """Return an estimate of the number of rows of a slice, rather too high.

        Raises:
            CorruptTableError, StorageError: its base file cannot be read.
        """
        base, rows = file_slice.base_file, file_slice.log_bytes // _ROWS_OF_LOG
        if base is not None:
            rows += read_footer(storage, file_slice.base_path, self._schema, ()).rows
        return rows

    def _nulls(self, rows: int) -> dict[str, ColumnStatistics]:
        """Return the statistics of columns that a file lacks, which was written before they were added to the table.

        Hudi loses rows of a file that has records of other columns only.  The values of partition columns may be in the
        path, and a file may lack the meta fields: their values are not null.
        """
        others = {*META_FIELDS, *self.slices.config.partition_fields}
        kinds = {column: kind_of(self._schema, column) for column in self.indexes.columns if column not in others}
        return {
            column: ColumnStatistics(kind, values=rows, nulls=rows)
            for column, kind in kinds.items()
            if kind is not None
        }

    @property
    def _schema(self) -> pa.Schema:
        return self.slices.schema.arrow_with_meta

    def _read(self, storage: Storage, path: str, columns: Sequence[str]) -> dict[str, ColumnStatistics]:
        if not columns:
            return {}
        schema = self._schema
        roots = set(schema.names)
        needed = {name if name in roots else name.partition(".")[0] for name in columns}
        some = pa.schema([field for field in schema if field.name in needed], metadata=schema.metadata)
        collector = StatisticsCollector(columns, some)
        for batch in scan_batches(storage, path, some, history=self.slices.history):
            collector.add(batch)
        return collector.finish()


def _has_records(block: LogBlock) -> bool:
    return block.type in (BlockType.AVRO_DATA, BlockType.HFILE_DATA, BlockType.PARQUET_DATA)


def _select_written(batch: pa.RecordBatch, written: frozenset[str]) -> pa.RecordBatch:
    """Return the columns that partial records have: the other columns may have any value."""
    return batch.select([name for name in batch.schema.names if name in written])
