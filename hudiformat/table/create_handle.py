"""The create handle: new rows of a partition -> base files of new file groups."""

from __future__ import annotations

import uuid

import numpy as np
import pyarrow as pa

from hudiformat.basefile.meta_fields import add_file_name, add_origin
from hudiformat.naming import WriteToken, new_file_id
from hudiformat.storage import Storage
from hudiformat.table.keyed_rows import KeyedRows
from hudiformat.table.open_file import OpenBaseFile
from hudiformat.table.plan import WritePlan
from hudiformat.table.stats import base_file_stat
from hudiformat.timeline import WriteStat

_IDS = uuid.UUID("6a2d0b1c-9a0e-5d53-8c4e-0d6c1f5f7a11")
"""The name space of file ids: they follow from the write, so that the same write gives the same names."""

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


def new_group_uuid(instant: str, partition_path: str, task_partition: int, number: int) -> uuid.UUID:
    """The UUID of a new file group, the task's *number*-th in its partition."""
    return uuid.uuid5(_IDS, f"{instant}/{partition_path}/{task_partition}/{number}")


def new_bucket_uuid(instant: str, partition_path: str, bucket: int) -> uuid.UUID:
    """The random part of a new bucket's file id.

    It follows from the write, so that several tasks that meet the same new bucket agree on its name.
    """
    return uuid.uuid5(_IDS, f"{instant}/{partition_path}/{bucket}")
