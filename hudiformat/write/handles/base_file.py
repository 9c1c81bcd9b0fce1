"""A base file that is being written."""

from __future__ import annotations

import pyarrow as pa

from hudiformat.file_group.base_file.file_keys import FileKeys
from hudiformat.file_group.base_file.format import format_named
from hudiformat.naming.file_names import BaseFileName
from hudiformat.timeline.indexed_file import IndexedFile
from hudiformat.write.commit.files import GroupTarget, create_marker

_ROW_GROUPS = 8
"""Row groups of a full file: after each, the estimate of how many rows still fit improves."""


class OpenBaseFile:
    """A new base file of a file group; it is visible once the write is committed.

    *row_size* is the estimated bytes of a row until it is measured; if None, recent commits supply it.
    """

    def __init__(self, target: GroupTarget, *, row_size: int | None = None) -> None:
        storage, plan = target.storage, target.plan
        file_format = format_named(plan.config.base_file_format)
        self.name = str(BaseFileName(target.file_id, str(target.token), plan.instant, file_format.extension))
        self.partition_path = target.partition_path
        self.file_id = target.file_id
        self.path = target.path(self.name)
        self._target = target
        self._indexer = plan.indexer()
        create_marker(storage, plan.instant, self.path)
        self._file = storage.open_new(self.path)
        self._writer = file_format.writer(
            self._file,
            plan.schema.arrow_with_meta,
            plan.schema.avro_with_meta,
            compression=plan.options.parquet_codec,
            bloom_filter=plan.options.bloom_filter,
            row_size=plan.row_size if row_size is None else row_size,
            row_group_size=max(plan.options.sizing.max_file_size // _ROW_GROUPS, 1),
        )

    @property
    def rows(self) -> int:
        """The number of rows so far."""
        return self._writer.rows

    @property
    def waiting_bytes(self) -> int:
        """The bytes of the rows that are still in memory."""
        return self._writer.waiting_bytes

    def is_full(self, size: int) -> bool:
        """Return whether a file that is to have *size* bytes of rows takes no more."""
        return self._writer.is_full(size)

    def rows_before(self, size: int, rows: pa.Table) -> int:
        """Return how many of the first *rows* to write before :meth:`is_full` has to be asked again."""
        return self._writer.rows_before(size, rows)

    def write(self, rows: pa.Table) -> None:
        """Add *rows*, which have the meta fields."""
        self._writer.write(rows)
        if self._indexer is not None:
            self._indexer.add(rows)

    def add_keys(self, keys: pa.Array | pa.ChunkedArray) -> None:
        """Record for the record index that these keys are now in the file group."""
        if self._indexer is not None:
            self._indexer.add_keys(keys)

    def drop_keys(self, keys: pa.Array | pa.ChunkedArray) -> None:
        """Record for the record index that these keys are no longer in the file group."""
        if self._indexer is not None:
            self._indexer.drop_keys(keys)

    def add_values(self, rows: pa.Table) -> None:
        """Record for the secondary indexes that these rows are now in the file group."""
        if self._indexer is not None:
            self._indexer.add_values(rows)

    def drop_values(self, rows: pa.Table, at: pa.Array) -> None:
        """Record for the secondary indexes that the rows at the indices *at* are no longer in the file group."""
        if self._indexer is not None:
            self._indexer.drop_values(rows, at)

    def flush(self) -> None:
        """Write the rows that are waiting."""
        self._writer.flush()

    def close(self, *, same_keys: FileKeys | None = None) -> int:
        """Finish the file, and return its size in bytes; *same_keys* is as in ``BaseFileWriter.close``."""
        size = self._writer.close(same_keys=same_keys)
        self._target.close(self._file)
        return size

    @property
    def indexed(self) -> IndexedFile | None:
        """What the metadata table keeps of the closed file."""
        if self._indexer is None:
            return None
        writer = self._writer
        return self._indexer.finish(sizes=writer.column_sizes, bloom_filter=writer.bloom_filter)

    def abandon(self) -> None:
        """Leave the file as it is; the rollback of the write deletes it."""
        self._writer.abandon()
        self._file.abandon()
