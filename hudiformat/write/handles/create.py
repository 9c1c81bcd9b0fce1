"""The create handle: new rows of a partition -> base files of new file groups."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from hudiformat.basefile import INSERTED, RECORD_KEY, add_file_name, add_origin
from hudiformat.index import KeyedRows
from hudiformat.timeline import WriteStat
from hudiformat.transaction import GroupTarget, base_file_stat
from hudiformat.write.handles.base_file import OpenBaseFile

_ROWS_AT_ONCE = 65_536
"""Rows that get their meta fields at once."""


class CreateHandle:
    """Writes the rows of a new file group; where they are too many for a file, its next ones are further groups.

    Their ids count up from ``-0``.  A planned group is one file, unless its rows are larger than planned: a file takes
    rows up to ``SizingOptions.largest_new_file`` bytes, a tenth more than the maximum that groups are planned for.
    Memory is bounded by a row group.

    Source: HoodieCreateHandle, CreateHandleFactory, CopyOnWriteInsertHandler, Hudi 1.2.0.
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
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            part = KeyedRows(rows.rows.slice(start, _ROWS_AT_ONCE), rows.keys.slice(start, _ROWS_AT_ONCE))
            self._fill(self._stored(part, first_counter + start))

    def _stored(self, rows: KeyedRows, first_counter: int) -> pa.Table:
        """*rows* with the meta fields but the file's name."""
        stored = add_origin(
            rows.rows,
            rows.keys,
            pa.array(np.arange(first_counter, first_counter + len(rows))),
            instant=self._plan.instant,
            partition_path=self._target.partition_path,
            task_partition=self._target.token.partition,
            operation=INSERTED if self._plan.schema.keeps_operations else None,
        )
        return pa.Table.from_batches([stored])

    def _fill(self, rows: pa.Table) -> None:
        """Write *rows* to the open file and to as many others as it takes."""
        while rows.num_rows:
            file = self._file()
            part = rows.slice(0, file.rows_before(self._largest, rows))
            rows = rows.slice(part.num_rows)
            named = add_file_name(part, file.name)
            file.write(named)
            file.add_keys(part[RECORD_KEY])
            file.add_values(named)

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
        if self._open and self._open.is_full(self._largest):
            self._open.flush()  # what is waiting had an estimated size
            if self._open.is_full(self._largest):
                self._finish(self._open)
        if self._open is None:
            group = self._target.file_id.rpartition("-")[0]
            self._open = OpenBaseFile(self._target.of_group(f"{group}-{len(self._stats)}"))
        return self._open

    @property
    def _largest(self) -> int:
        return self._plan.options.sizing.largest_new_file

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
