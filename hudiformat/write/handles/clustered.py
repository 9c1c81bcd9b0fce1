"""The rows of file slices that a clustering rewrites -> base files of new file groups."""

from __future__ import annotations

import sys

import pyarrow as pa

from hudiformat.basefile import RECORD_KEY, add_file_name
from hudiformat.naming import new_file_id, new_group_uuid
from hudiformat.timeline import WriteStat
from hudiformat.transaction import GroupTarget, base_file_stat
from hudiformat.write.handles.base_file import OpenBaseFile

_ROWS_AT_ONCE = 65_536


class ClusteredFiles:
    """Writes rows that have their own meta fields, but the file's name, into *count* files of one partition.

    The rows are expected to take *expected_size* bytes, and each file but the last one takes its share of that.  A file
    takes at most *target_size* bytes; where the rows are more, there are more files.  Memory is bounded by a row group.

    Source: HoodieCreateHandle with preserveMetadata, SparkSortAndSizeExecutionStrategy, Hudi 1.2.0, which shuffles the
    rows to *count* tasks.
    """

    def __init__(
        self, target: GroupTarget, *, count: int, expected_size: int, target_size: int, file_id: str | None = None
    ) -> None:
        self._target = target
        self._file_id = file_id
        self._count = count
        self._share = min(-(-expected_size // count), target_size)
        self._most = target_size
        self._open: OpenBaseFile | None = None
        self._stats: list[WriteStat] = []

    @classmethod
    def of_group(cls, target: GroupTarget, file_id: str) -> ClusteredFiles:
        """What writes one file of any size, to a file group that has its id already."""
        return cls(target, count=1, expected_size=sys.maxsize, target_size=sys.maxsize, file_id=file_id)

    def write(self, rows: pa.Table) -> None:
        """Write *rows* after those that came before."""
        for start in range(0, rows.num_rows, _ROWS_AT_ONCE):
            self._fill(rows.slice(start, _ROWS_AT_ONCE))

    def _fill(self, rows: pa.Table) -> None:
        while rows.num_rows:
            file = self._file()
            part = rows.slice(0, file.rows_before(self._limit, rows))
            rows = rows.slice(part.num_rows)
            named = add_file_name(part, file.name)
            file.write(named)
            file.add_keys(part[RECORD_KEY])
            file.add_values(named)

    def close(self) -> list[WriteStat]:
        """Finish; one statistic per file."""
        if self._open:
            self._finish(self._open)
        return self._stats

    def abandon(self) -> None:
        """Leave everything for whoever runs the clustering again to delete."""
        if self._open:
            self._open.abandon()

    @property
    def _limit(self) -> int:
        return self._share if len(self._stats) < self._count - 1 else self._most

    def _file(self) -> OpenBaseFile:
        """The file that takes the next rows."""
        if self._open and self._open.is_full(self._limit):
            self._open.flush()  # what is waiting had an estimated size
            if self._open.is_full(self._limit):
                self._finish(self._open)
        if self._open is None:
            target = self._target
            self._open = OpenBaseFile(target.of_group(self._file_id or self._new_id()))
        return self._open

    def _new_id(self) -> str:
        target, number = self._target, len(self._stats)
        return new_file_id(new_group_uuid(target.plan.instant, target.partition_path, target.token.partition, number))

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
