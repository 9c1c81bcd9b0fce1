"""A base file that a handle is writing: its name, its marker, and its statistic when it is done.

The create handle: new rows of a partition -> base files of new file groups.
"""

from __future__ import annotations

import uuid

import numpy as np
import pyarrow as pa

from hudiformat.basefile import BaseFileWriter, FileKeys
from hudiformat.basefile.meta_fields import add_file_name, add_origin
from hudiformat.naming import BaseFileName, WriteToken, new_file_id
from hudiformat.storage import Storage
from hudiformat.timeline import WriteStat
from hudiformat.transaction.files import base_file_stat, create_marker
from hudiformat.transaction.plan import WritePlan
from hudiformat.write.rows import KeyedRows

_ROW_GROUPS = 8
"""Row groups of a full file: each tells better how many rows are still to fit."""


class OpenBaseFile:
    """A new base file of the file group *file_id*; it counts once the write is committed."""

    def __init__(self, storage: Storage, plan: WritePlan, token: WriteToken, partition_path: str, file_id: str) -> None:
        self.name = str(BaseFileName(file_id, str(token), plan.instant, "parquet"))
        self.file_id = file_id
        self.path = f"{partition_path}/{self.name}" if partition_path else self.name
        self._sync = plan.options.sync
        create_marker(storage, plan.instant, self.path)
        self._file = storage.open_new(self.path)
        self._writer = BaseFileWriter(
            self._file,
            plan.schema.arrow_with_meta,
            plan.schema.avro_with_meta,
            compression=plan.options.parquet_codec,
            bloom_filter=plan.options.bloom_filter,
            row_size=plan.row_size,
            row_group_size=max(plan.options.sizing.max_file_size // _ROW_GROUPS, 1),
        )

    @property
    def rows(self) -> int:
        """Rows so far."""
        return self._writer.rows

    @property
    def waiting_bytes(self) -> int:
        """Bytes of rows that are still in memory."""
        return self._writer.waiting_bytes

    def rows_before(self, size: int) -> int:
        """How many more rows the file takes until it has about *size* bytes; at most a row group of them."""
        return self._writer.rows_before(size)

    def write(self, rows: pa.Table) -> None:
        """Add *rows*, which have the meta fields."""
        self._writer.write(rows)

    def flush(self) -> None:
        """Write the rows that are waiting."""
        self._writer.flush()

    def close(self, *, same_keys: FileKeys | None = None) -> int:
        """Finish the file; its size in bytes.  *same_keys* as in ``BaseFileWriter.close``."""
        size = self._writer.close(same_keys=same_keys)
        if self._sync:
            self._file.sync()
        self._file.close()
        return size

    def abandon(self) -> None:
        """Leave the file as it is, for the write's rollback to take away."""
        self._writer.abandon()
        self._file.close()


_LEAST_SHARE = 50
"""A file that has room for less than a fiftieth of its rows is closed: what fits is no row group worth having."""


class CreateHandle:
    """Writes the rows of a new file group; where they are too many for a file, its next ones are further groups.

    Their ids count up from ``-0``.  Memory is bounded by a row group.

    Source: HoodieCreateHandle, CreateHandleFactory.
    """

    def __init__(
        self, storage: Storage, plan: WritePlan, token: WriteToken, partition_path: str, group: uuid.UUID
    ) -> None:
        self._storage = storage
        self._plan = plan
        self._token = token
        self._partition_path = partition_path
        self._group = group
        self._open: OpenBaseFile | None = None
        self._stats: list[WriteStat] = []

    @property
    def buffered_bytes(self) -> int:
        """Bytes of rows that are still in memory."""
        return self._open.waiting_bytes if self._open else 0

    def insert(self, rows: KeyedRows, *, first_counter: int) -> None:
        """Write *rows*, which have the table's own columns."""
        start = 0
        while start < len(rows):
            file = self._file()
            count = max(file.rows_before(self._plan.options.sizing.max_file_size), 1)
            part = KeyedRows(rows.rows.slice(start, count), rows.keys.slice(start, count))
            stored = add_origin(
                part.rows,
                part.keys,
                pa.array(np.arange(first_counter + start, first_counter + start + len(part))),
                instant=self._plan.instant,
                partition_path=self._partition_path,
                task_partition=self._token.partition,
            )
            file.write(pa.Table.from_batches([add_file_name(stored, file.name)]))
            start += count

    def flush(self) -> None:
        """Write the rows that are still in memory."""
        if self._open:
            self._open.flush()

    def close(self) -> list[WriteStat]:
        """Finish; one statistic per base file."""
        if self._open:
            self._finish(self._open)
        return self._stats

    def abandon(self) -> None:
        """Leave everything for the write's rollback to take away."""
        if self._open:
            self._open.abandon()

    def _file(self) -> OpenBaseFile:
        """The file that takes the next rows."""
        if self._open and self._open.rows and not self._has_room(self._open):
            self._open.flush()  # what is waiting had an estimated size
            if not self._has_room(self._open):
                self._finish(self._open)
        if self._open is None:
            file_id = new_file_id(self._group, len(self._stats))
            self._open = OpenBaseFile(self._storage, self._plan, self._token, self._partition_path, file_id)
        return self._open

    def _has_room(self, file: OpenBaseFile) -> bool:
        return file.rows_before(self._plan.options.sizing.max_file_size) >= max(file.rows // _LEAST_SHARE, 1)

    def _finish(self, file: OpenBaseFile) -> None:
        size = file.close()
        self._open = None
        self._stats.append(
            base_file_stat(
                partition_path=self._partition_path, file_id=file.file_id, path=file.path, rows=file.rows, size=size
            )
        )
