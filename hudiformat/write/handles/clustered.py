"""Write the rows of file slices that a clustering rewrites into base files of new file groups."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import pyarrow as pa

from hudiformat.file_group.base_file.copying import CopiedBaseFile, can_be_copied
from hudiformat.file_group.base_file.format import format_named
from hudiformat.file_group.base_file.parquet import PARQUET
from hudiformat.file_group.slices import FileSlice
from hudiformat.naming.file_names import BaseFileName, new_file_id, new_group_uuid
from hudiformat.timeline.commit_metadata import IndexedFile, WriteStat
from hudiformat.write.commit.files import GroupTarget, base_file_stat
from hudiformat.write.handles.base_files import RollingBaseFiles

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


def can_copy(target: GroupTarget, slices: Sequence[FileSlice]) -> bool:
    """Return whether the base files of *slices* can be combined without decoding their rows.

    They must have no log files, exactly the current columns of the table, and the codec that the table is written with,
    and no index may need values of the rows.

    Raises:
        CorruptTableError, DecodeError: a base file is damaged.
        StorageError: a base file cannot be read.
    """
    plan = target.plan
    needs_rows = plan.indexes is not None and bool(plan.indexes.values or plan.indexes.expressions)
    if not plan.config.populate_meta_fields:  # the keys of the files are not in the rows that are copied
        return False
    if needs_rows or plan.history is not None or plan.schema.keeps_operations:
        return False
    if format_named(plan.config.base_file_format) is not PARQUET:  # others have no row groups to copy byte for byte
        return False
    if any(one.base_file is None or one.log_files for one in slices):
        return False
    schema, codec = plan.schema.arrow_with_meta, plan.options.parquet_codec
    return can_be_copied(target.storage, [_path(one) for one in slices], schema, compression=codec)


class CopiedFiles:
    """Combines base files into *count* files of one partition; the arguments are as for ``ClusteredFiles``.

    Source: SparkStreamCopyClusteringExecutionStrategy, HoodieBinaryCopyHandle, Hudi 1.2.0.
    """

    def __init__(self, target: GroupTarget, *, count: int, expected_size: int, target_size: int) -> None:
        self._target = target
        self._share = min(-(-expected_size // count), target_size)
        self._open: _OpenCopy | None = None
        self._stats: list[WriteStat] = []

    def add(self, file_slice: FileSlice) -> None:
        """Copy the base file of a slice; if less than half of it would fit, it begins the next file."""
        if self._open and self._open.size + file_slice.size // 2 > self._share:
            self._finish(self._open)
        if self._open is None:
            plan, path, token = self._target.plan, self._target.partition_path, self._target.token
            group = new_group_uuid(plan.instant, path, token.partition, len(self._stats))
            self._open = _OpenCopy(self._target.of_group(new_file_id(group)))
        self._open.add(_path(file_slice))

    def close(self) -> list[WriteStat]:
        """Finish the files, and return one statistic per file."""
        if self._open:
            self._finish(self._open)
        return self._stats

    def abandon(self) -> None:
        """Stop writing; the next run of the clustering deletes the files."""
        if self._open:
            self._open.abandon()

    def _finish(self, opened: _OpenCopy) -> None:
        self._stats.append(opened.close())
        self._open = None


class _OpenCopy:
    """One file into which base files are being copied."""

    def __init__(self, target: GroupTarget) -> None:
        self._target = target
        plan = target.plan
        name = str(BaseFileName(target.file_id, str(target.token), plan.instant, PARQUET.extension))
        self._path = target.path(name)
        target.create_marker(self._path)
        self._file = target.storage.open_new(self._path)
        columns = () if plan.indexes is None else plan.indexes.columns
        self._copied = CopiedBaseFile(self._file, name, schema=plan.schema.arrow_with_meta, columns=columns)

    @property
    def size(self) -> int:
        return self._file.size

    def add(self, path: str) -> None:
        self._copied.add(self._target.storage, path)

    def abandon(self) -> None:
        self._file.abandon()

    def close(self) -> WriteStat:
        plan, copied = self._target.plan, self._copied
        size = copied.close(plan.schema.avro_with_meta, bloom_filter=plan.options.bloom_filter)
        self._target.close(self._file)
        return base_file_stat(
            partition_path=self._target.partition_path,
            file_id=self._target.file_id,
            path=self._path,
            rows=copied.rows,
            size=size,
            indexed=self._indexed(),
        )

    def _indexed(self) -> IndexedFile | None:
        indexes = self._target.plan.indexes
        if indexes is None:
            return None
        return IndexedFile(
            columns=self._copied.columns,
            bloom_filter=self._copied.bloom_filter if indexes.filters else None,
            keys=self._copied.keys.combine_chunks() if indexes.keys else None,
        )


def _path(file_slice: FileSlice) -> str:
    assert file_slice.base_file is not None  # noqa: S101 - whoever asks has looked
    return file_slice.base_path
