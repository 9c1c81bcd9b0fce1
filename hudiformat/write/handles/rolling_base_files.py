"""Base files of new file groups, one after the other: when one is full, the next begins."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from hudiformat.schema.meta_fields import RECORD_KEY, add_file_name
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.write.commit.files import GroupTarget, base_file_stat
from hudiformat.write.handles.base_file import OpenBaseFile


class RollingBaseFiles:
    """Writes rows that have all meta fields except the file's name.  Memory is bounded by a row group.

    *target_of* returns the file group of the file with a number, from 0 on, and *limit_of* how many bytes of rows that
    file takes.
    """

    def __init__(self, target_of: Callable[[int], GroupTarget], limit_of: Callable[[int], int]) -> None:
        self._target_of = target_of
        self._limit_of = limit_of
        self._open: OpenBaseFile | None = None
        self._stats: list[WriteStat] = []

    @property
    def waiting_bytes(self) -> int:
        """The bytes of the rows that are still in memory."""
        return self._open.waiting_bytes if self._open else 0

    def write(self, rows: pa.Table) -> None:
        """Write *rows* to the open file, and to as many further files as they need."""
        while rows.num_rows:
            file = self._file()
            part = rows.slice(0, file.rows_before(self._limit, rows))
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
        """Finish the files, and return one statistic per file."""
        if self._open:
            self._finish(self._open)
        return self._stats

    def abandon(self) -> None:
        """Leave the files as they are; a rollback, or the next attempt, deletes them."""
        if self._open:
            self._open.abandon()

    @property
    def _limit(self) -> int:
        return self._limit_of(len(self._stats))

    def _file(self) -> OpenBaseFile:
        """Return the file that takes the next rows."""
        if self._open and self._open.is_full(self._limit):
            self._open.flush()  # the size of waiting rows was estimated: check again with the real size
            if self._open.is_full(self._limit):
                self._finish(self._open)
        if self._open is None:
            self._open = OpenBaseFile(self._target_of(len(self._stats)))
        return self._open

    def _finish(self, file: OpenBaseFile) -> None:
        size = file.close()
        self._open = None
        self._stats.append(
            base_file_stat(
                partition_path=file.partition_path,
                file_id=file.file_id,
                path=file.path,
                rows=file.rows,
                size=size,
                indexed=file.indexed,
            )
        )
