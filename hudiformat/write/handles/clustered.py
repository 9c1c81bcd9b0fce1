"""Write the rows of file slices that a clustering rewrites into base files of new file groups."""

from __future__ import annotations

import sys

import pyarrow as pa

from hudiformat.naming.file_names import new_file_id, new_group_uuid
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.write.commit.files import GroupTarget
from hudiformat.write.handles.rolling_base_files import RollingBaseFiles

_ROWS_AT_ONCE = 65_536


class ClusteredFiles:
    """Writes rows that have all of their meta fields except the file's name into *count* files of one partition.

    The rows are expected to take *expected_size* bytes, and each file except the last takes an equal share of that.  A
    file takes at most *target_size* bytes; if there are more rows, there are more files.  Memory is bounded by a row
    group.

    Source: HoodieCreateHandle with preserveMetadata, SparkSortAndSizeExecutionStrategy, Hudi 1.2.0, which shuffles the
    rows to *count* tasks.
    """

    def __init__(
        self, target: GroupTarget, *, count: int, expected_size: int, target_size: int, file_id: str | None = None
    ) -> None:
        self._target = target
        self._file_id = file_id
        share = min(-(-expected_size // count), target_size)
        self._files = RollingBaseFiles(self._target_of, lambda number: share if number < count - 1 else target_size)

    @classmethod
    def of_group(cls, target: GroupTarget, file_id: str) -> ClusteredFiles:
        """Return a writer of one file of any size, for a file group whose id is given."""
        return cls(target, count=1, expected_size=sys.maxsize, target_size=sys.maxsize, file_id=file_id)

    def write(self, rows: pa.Table) -> None:
        """Write *rows* after the rows before them."""
        for start in range(0, rows.num_rows, _ROWS_AT_ONCE):
            self._files.write(rows.slice(start, _ROWS_AT_ONCE))

    def close(self) -> list[WriteStat]:
        """Finish the files, and return one statistic per file."""
        return self._files.close()

    def abandon(self) -> None:
        """Stop writing; the next run of the clustering deletes the files."""
        self._files.abandon()

    def _target_of(self, number: int) -> GroupTarget:
        target = self._target
        uuid = new_group_uuid(target.plan.instant, target.partition_path, target.token.partition, number)
        return target.of_group(self._file_id or new_file_id(uuid))
