"""The create handle: write new rows of a partition into base files of new file groups."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from hudiformat.schema.meta_fields import INSERTED, add_origin
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.write.commit.files import GroupTarget
from hudiformat.write.handles.rolling_base_files import RollingBaseFiles
from hudiformat.write.rows import LocatedRows

_ROWS_AT_ONCE = 65_536
"""Rows that get their meta fields together."""


class CreateHandle:
    """Writes the rows of a new file group; if they are too many for one file, the next files are further groups.

    The file ids count up from ``-0``.  A planned group is one file, unless its rows are larger than planned: a file
    takes rows up to ``SizingOptions.largest_new_file`` bytes, a tenth more than the maximum that groups are planned
    for.  Memory is bounded by a row group.

    Source: HoodieCreateHandle, CreateHandleFactory, CopyOnWriteInsertHandler, Hudi 1.2.0.
    """

    def __init__(self, target: GroupTarget) -> None:
        self._target = target
        self._plan = target.plan
        self._files = RollingBaseFiles(self._target_of, lambda _: target.plan.options.sizing.largest_new_file)

    @property
    def buffered_bytes(self) -> int:
        """The bytes of the rows that are still in memory."""
        return self._files.waiting_bytes

    def insert(self, rows: LocatedRows, *, first_counter: int) -> None:
        """Write *rows*, which have the table's own columns."""
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            self._files.write(self._add_meta_fields(rows.slice(start, _ROWS_AT_ONCE), first_counter + start))

    def _add_meta_fields(self, rows: LocatedRows, first_counter: int) -> pa.Table:
        """Return *rows* with all meta fields except the file's name."""
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

    def flush(self) -> None:
        """Write the rows that are still in memory."""
        self._files.flush()

    def close(self) -> list[WriteStat]:
        """Finish the files, and return one statistic per base file."""
        return self._files.close()

    def abandon(self) -> None:
        """Stop writing; the rollback of the write deletes the files."""
        self._files.abandon()

    def _target_of(self, number: int) -> GroupTarget:
        group = self._target.file_id.rpartition("-")[0]
        return self._target.of_group(f"{group}-{number}")
