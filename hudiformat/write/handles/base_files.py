"""Write base files: one; several, each begun when the one before is full; and those of the create handle."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from hudiformat.file_group.base_file.file_indexes import FileKeys
from hudiformat.file_group.base_file.format import format_named
from hudiformat.file_group.base_file.parquet_writer import CopyingWriter, encode_few_rows
from hudiformat.file_group.base_file.row_groups import NewFile
from hudiformat.naming.file_names import BaseFileName
from hudiformat.schema.meta_fields import (
    FILE_NAME,
    INSERTED,
    RECORD_KEY,
    add_file_name,
    add_meta_columns,
    add_origin,
    blank_meta_fields,
)
from hudiformat.storage.threads import WorkThreads
from hudiformat.timeline.commit_metadata import IndexedFile, WriteStat
from hudiformat.write.commit.files import GroupTarget, base_file_stat
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.handles.copied_groups import CopiedGroups
from hudiformat.write.rows import LocatedRows, column_of_keys

_ROW_GROUPS = 8
"""Row groups of a full file: after each, the estimate of how many rows still fit improves."""


def base_file_name(target: GroupTarget) -> str:
    """Return the name of the base file that a write creates in a file group."""
    extension = format_named(target.plan.config.base_file_format).extension
    return str(BaseFileName(target.file_id, str(target.token), target.plan.instant, extension))


def row_group_size(plan: WritePlan) -> int:
    """Return the bytes of a row group of the files that a write creates."""
    return max(plan.options.sizing.max_file_size // _ROW_GROUPS, 1)


def _new_file(plan: WritePlan, row_size: int, threads: WorkThreads) -> NewFile:
    return NewFile(
        schema=plan.schema.arrow_with_meta,
        avro_schema=plan.schema.avro_with_meta,
        compression=plan.options.codec_of(plan.config.base_file_format),
        bloom_filter=plan.options.bloom_filter,
        has_keys=plan.config.populate_meta_fields,
        row_size=row_size,
        row_group_size=row_group_size(plan),
        threads=threads,
    )


class OpenBaseFile:
    """A new base file of a file group; it is visible once the write is committed.

    *row_size* is the estimated bytes of a row until it is measured; if None, recent commits supply it.  If there are
    *copied* row groups, it is a Parquet file, and :meth:`copy` takes them over.
    """

    def __init__(self, target: GroupTarget, *, row_size: int | None = None, copied: CopiedGroups | None = None) -> None:
        storage, plan = target.storage, target.plan
        self.name = base_file_name(target)
        self.partition_path = target.partition_path
        self.file_id = target.file_id
        self.path = target.path(self.name)
        self._target = target
        self._indexer = plan.indexer()
        target.create_marker(self.path)
        self._file = storage.open_new(self.path)
        new = _new_file(plan, plan.row_size if row_size is None else row_size, target.threads)
        self._copying: CopyingWriter | None = None
        if copied is not None:
            constants = {FILE_NAME: self.name}
            self._copying = CopyingWriter(self._file, new, copied.source, constants=constants, kept=copied.kept)
        self._writer = self._copying or format_named(plan.config.base_file_format).writer(self._file, new)

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

    def write(self, rows: pa.Table, *, size: int | None = None) -> None:
        """Add *rows*, which have the meta fields; *size* is that of ``BaseFileWriter.write``."""
        if not self._target.plan.config.populate_meta_fields:
            rows = blank_meta_fields(rows)
        self._writer.write(rows, size=size)
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

    def copy(self, group: int) -> None:
        """Take over a row group of the file that rows are copied from, after the rows so far."""
        assert self._copying is not None  # noqa: S101 - whoever names a row group has opened the file with them
        self._copying.copy(group)

    def replace(self, group: int) -> None:
        """Write the rows since the last row group in place of a row group of the file that rows are copied from."""
        assert self._copying is not None  # noqa: S101 - as in :meth:`copy`
        self._copying.replace(group)

    def flush(self) -> None:
        """Write the rows that are waiting."""
        self._writer.flush()

    def close(
        self, *, own: FileKeys | None = None, known: FileKeys | None = None, added: pa.Array | None = None
    ) -> int:
        """Finish the file, and return its size in bytes; the arguments are those of ``BaseFileWriter.close``."""
        size = self._writer.close(own=own, known=known, added=added)
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

    def close_with(self, rows: pa.Table, keys: FileKeys, *, size: int) -> list[WriteStat]:
        """Write *rows*, of about *size* bytes, with all meta fields and the record keys of *keys*, to the only file."""
        self._open = OpenBaseFile(self._target_of(0))
        self._open.write(rows, size=size)
        self._open.add_keys(rows[RECORD_KEY])
        self._open.add_values(rows)
        self._finish(self._open, keys)
        return self._stats

    def _finish(self, file: OpenBaseFile, own: FileKeys | None = None) -> None:
        size = file.close(own=own)
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


_ROWS_AT_ONCE, _BYTES_AT_ONCE = 65_536, 8 * 1024 * 1024
"""Rows that get their meta fields together; parts of fewer rows are joined for it, up to so many bytes."""


def _shares(parts: Sequence[tuple[LocatedRows, int]]) -> Iterator[list[tuple[LocatedRows, int]]]:
    """Yield *parts*, those whose rows get their meta fields together as one list.

    A write into a hundred partitions has a hundred parts of each of its batches: a call for each column of each part
    would take longer than writing its rows.
    """
    share: list[tuple[LocatedRows, int]] = []
    count = size = 0
    for part, first in parts:
        if share and (count + len(part) > _ROWS_AT_ONCE or size + part.nbytes > _BYTES_AT_ONCE):
            yield share
            share, count, size = [], 0, 0
        share.append((part, first))
        count, size = count + len(part), size + part.nbytes
    if share:
        yield share


_SMALL_FILE, _META_BYTES = 1024 * 1024, 256
"""Files of one row group and at most so many bytes are written together; a row has about so many of meta fields."""
_FEW_BYTES, _LEAST_FILES = 6 * 1024, 8
"""Files of so few bytes of rows are encoded together, without compression, if they are as many: the first one takes as
long as six that Arrow writes, the others a tenth."""
_MOST_BYTES = 16 * 1024 * 1024
"""The bytes of rows of files that are written together."""


class CreateHandle:
    """Writes the rows of a new file group; if they are too many for one file, the next files are further groups.

    The file ids count up from ``-0``.  A planned group is one file, unless its rows are larger than planned: a file
    takes rows up to ``SizingOptions.largest_new_file`` bytes, a tenth more than the maximum that groups are planned
    for.  Rows wait in memory until :meth:`flush` or :meth:`close`, which another thread may call: it opens, encodes and
    compresses the files.

    Source: HoodieCreateHandle, CreateHandleFactory, CopyOnWriteInsertHandler, Hudi 1.2.0.
    """

    def __init__(self, target: GroupTarget) -> None:
        self._target = target
        self._plan = target.plan
        self._open: RollingBaseFiles | None = None
        self._waiting: list[tuple[LocatedRows, int]] = []
        self._waiting_bytes = 0

    @property
    def few_rows(self) -> Sequence[tuple[LocatedRows, int]] | None:
        """All rows of the handle with the number of their first; None if they are many, or might be two files."""
        if self._open is not None:
            return None
        count = self._waiting_rows
        is_small = self.size_with_meta <= min(_SMALL_FILE, row_group_size(self._plan))
        fit = is_small or count < format_named(self._plan.config.base_file_format).never_full
        return self._waiting if fit and count else None

    @property
    def size_with_meta(self) -> int:
        """The bytes of the rows that have no meta fields yet, when they have them."""
        return self._waiting_bytes + self._waiting_rows * _META_BYTES

    @property
    def _waiting_rows(self) -> int:
        return sum(len(rows) for rows, _ in self._waiting)

    @property
    def buffered_bytes(self) -> int:
        """The bytes of the rows that are still in memory."""
        return self._waiting_bytes + (0 if self._open is None else self._open.waiting_bytes)

    def insert(self, rows: LocatedRows, *, first_counter: int) -> None:
        """Add *rows*, which have the table's own columns."""
        self._waiting.append((rows, first_counter))
        self._waiting_bytes += rows.nbytes

    def flush(self) -> None:
        """Write the rows that are still in memory."""
        self._write_waiting()
        self._files.flush()

    def close(self) -> list[WriteStat]:
        """Finish the files, and return one statistic per base file."""
        self._write_waiting()
        return self._files.close()

    def _write_waiting(self) -> None:
        waiting, self._waiting, self._waiting_bytes = self._waiting, [], 0
        for parts in _shares(waiting):
            rows, keys = parts[0][0].rows, parts[0][0].keys
            if len(parts) > 1:  # Arrow would copy a single part, too, which may be large
                columns = {column_of_keys(part.rows, part.keys) for part, _ in parts}
                rows = pa.concat_batches([part.rows for part, _ in parts])
                column = columns.pop() if len(columns) == 1 else None
                keys = pa.concat_arrays([part.keys for part, _ in parts]) if column is None else rows.column(column)
            counters = pa.array(np.concatenate([np.arange(first, first + len(part)) for part, first in parts]))
            for start in range(0, len(keys), _ROWS_AT_ONCE):
                chosen = start, _ROWS_AT_ONCE
                self._files.write(
                    self._add_meta_fields(rows.slice(*chosen), keys.slice(*chosen), counters.slice(*chosen))
                )

    def _add_meta_fields(self, rows: pa.RecordBatch, keys: pa.Array, counters: pa.Array) -> pa.Table:
        """Return *rows* with all meta fields except the file's name."""
        stored = add_origin(
            rows,
            keys,
            counters,
            instant=self._plan.instant,
            partition_path=self._target.partition_path,
            task_partition=self._target.token.partition,
            operation=INSERTED if self._plan.schema.keeps_operations else None,
            joins_others=False,
        )
        return pa.Table.from_batches([stored])

    def close_with(self, rows: pa.Table, keys: FileKeys, *, size: int) -> list[WriteStat]:
        """Write the only file of the handle: *rows*, of about *size* bytes, with all meta fields and *keys*."""
        return self._files.close_with(rows, keys, size=size)

    def abandon(self) -> None:
        """Stop writing; the rollback of the write deletes the files."""
        if self._open is not None:
            self._open.abandon()

    @property
    def file_name(self) -> str:
        """The name of the first file."""
        return base_file_name(self._target)

    @property
    def target(self) -> GroupTarget:
        """The file group, and the write."""
        return self._target

    @property
    def _files(self) -> RollingBaseFiles:
        if self._open is None:
            limit = self._plan.options.sizing.largest_new_file
            # They do not refer to the handle: many handles in cycles would wait for the garbage collector.
            self._open = RollingBaseFiles(partial(_numbered, self._target), lambda _: limit)
        return self._open


def _numbered(target: GroupTarget, number: int) -> GroupTarget:
    """Return the target of the file with a *number*: *target* is that of file 0, as is every new file id."""
    return target.of_group(f"{target.file_id.rpartition('-')[0]}-{number}") if number else target


def close_together(handles: Sequence[CreateHandle]) -> Iterator[list[WriteStat]]:
    """Close handles of one write that have ``few_rows``, and yield the statistics of each.

    Meta fields, key ranges and bloom filters are computed once for all of them: a call for each column of each file
    would take most of the time.  Three rows in two files::

        _hoodie_commit_seqno    t_0_1   t_0_2 | t_0_3
        _hoodie_partition_path  x       x     | y
        _hoodie_file_name       f1      f1    | f2
    """
    some: list[CreateHandle] = []
    size = 0
    for handle in handles:
        some.append(handle)
        size += handle.size_with_meta
        if size >= _MOST_BYTES:
            yield from _close_together(some)
            some, size = [], 0
    if some:
        yield from _close_together(some)


def _close_together(handles: Sequence[CreateHandle]) -> Iterator[list[WriteStat]]:
    plan, token = handles[0].target.plan, handles[0].target.token
    given = [(handle, part, first) for handle in handles for part, first in handle.few_rows or ()]
    lengths = [len(part) for _, part, _ in given]
    rows, keys = given[0][1].rows, given[0][1].keys
    if len(given) > 1:  # Arrow would copy a single part, too
        rows = pa.concat_batches([part.rows for _, part, _ in given])
        keys = pa.concat_arrays([part.keys for _, part, _ in given])
    counters = np.concatenate([np.arange(first, first + len(part)) for _, part, first in given])
    repeated = pa.array(np.repeat(np.arange(len(given)), lengths))
    stored = add_meta_columns(
        rows,
        keys,
        counters=pa.array(counters),
        instant=plan.instant,
        partition_path=pa.array([part.path for _, part, _ in given]).take(repeated),
        file_name=pa.array([handle.file_name for handle, _, _ in given]).take(repeated),
        task_partition=token.partition,
        operation=INSERTED if plan.schema.keeps_operations else None,
    )
    counts = [sum(len(part) for part, _ in handle.few_rows or ()) for handle in handles]
    known = FileKeys.of_each(keys, counts, bloom_filter=plan.options.bloom_filter)
    row_size = stored.nbytes / stored.num_rows
    ends = np.cumsum(counts).tolist()
    parts = [stored.slice(end - count, count) for end, count in zip(ends, counts, strict=True)]
    encoded = _encode_few_rows(handles, stored, parts, known)
    for handle, part, own, data in zip(handles, parts, known, encoded, strict=True):
        if data is not None:
            yield [_write_encoded(handle.target, data, part.num_rows)]
        else:
            yield handle.close_with(pa.Table.from_batches([part]), own, size=int(part.num_rows * row_size))


def _encode_few_rows(
    handles: Sequence[CreateHandle],
    stored: pa.RecordBatch,
    parts: Sequence[pa.RecordBatch],
    known: Sequence[FileKeys],
) -> list[pa.Buffer | None]:
    """Return files of those *handles* that have few bytes, and None for others.

    *parts* of the rows *stored* are theirs, and *known* are their keys.
    """
    target = handles[0].target
    few = [number for number, handle in enumerate(handles) if handle.size_with_meta <= _FEW_BYTES]
    encoded: list[pa.Buffer | None] = [None] * len(parts)
    if len(few) < _LEAST_FILES or not target.keeps_files_alone:
        return encoded
    rows = stored if len(few) == len(parts) else pa.concat_batches([parts[number] for number in few])
    new = _new_file(target.plan, 0, target.threads)
    files = encode_few_rows(new, rows, [len(parts[number]) for number in few], [known[number] for number in few])
    for number, data in zip(few, files or (), strict=False):
        encoded[number] = data
    return encoded


def _write_encoded(target: GroupTarget, data: pa.Buffer, rows: int) -> WriteStat:
    """Write the file *data*, which has so many *rows*, and return its statistic."""
    path = target.path(base_file_name(target))
    target.create_marker(path)
    file = target.storage.open_new(path)
    try:
        file.write(memoryview(data))
    except BaseException:
        file.abandon()
        raise
    target.close(file)
    return base_file_stat(
        partition_path=target.partition_path, file_id=target.file_id, path=path, rows=rows, size=data.size
    )
