"""The create handle: new rows of a partition -> base files of new file groups."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from hudiformat.basefile import INSERTED, add_file_name, add_origin
from hudiformat.index import KeyedRows
from hudiformat.timeline import WriteStat
from hudiformat.transaction import GroupTarget, base_file_stat
from hudiformat.write.handles.base_file import OpenBaseFile

_LEAST_SHARE = 50
"""A file that has room for less than a fiftieth of its rows is closed: what fits is no row group worth having."""


class CreateHandle:
    """Writes the rows of a new file group; where they are too many for a file, its next ones are further groups.

    Their ids count up from ``-0``.  Memory is bounded by a row group.

    Source: HoodieCreateHandle, CreateHandleFactory.
    """

    def __init__(self, target: GroupTarget) -> None:
        self._target = target
        self._plan = target.plan
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
                partition_path=self._target.partition_path,
                task_partition=self._target.token.partition,
                operation=INSERTED if self._plan.schema.keeps_operations else None,
            )
            named = pa.Table.from_batches([add_file_name(stored, file.name)])
            file.write(named)
            file.add_keys(part.keys)
            file.add_values(named)
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
        """Leave everything for the write's rollback to delete."""
        if self._open:
            self._open.abandon()

    def _file(self) -> OpenBaseFile:
        """The file that takes the next rows."""
        if self._open and self._open.rows and not self._has_room(self._open):
            self._open.flush()  # what is waiting had an estimated size
            if not self._has_room(self._open):
                self._finish(self._open)
        if self._open is None:
            group = self._target.file_id.rpartition("-")[0]
            self._open = OpenBaseFile(self._target.of_group(f"{group}-{len(self._stats)}"))
        return self._open

    def _has_room(self, file: OpenBaseFile) -> bool:
        return file.rows_before(self._plan.options.sizing.max_file_size) >= max(file.rows // _LEAST_SHARE, 1)

    def _finish(self, file: OpenBaseFile) -> None:
        size = file.close()
        self._open = None
        self._stats.append(
            base_file_stat(
                partition_path=self._target.partition_path,
                file_id=file.file_id,
                path=file.path,
                rows=file.rows,
                size=size,
                indexed=file.indexed,
            )
        )
