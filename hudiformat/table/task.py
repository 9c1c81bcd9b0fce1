"""One task of a write: batches of rows -> files of their partitions and file groups, and statistics.

A write has one task in this process, or many on a cluster; they share the plan, and differ in their write token.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.errors import StorageError
from hudiformat.index import NEW
from hudiformat.naming import WriteToken
from hudiformat.storage import Storage, open_storage
from hudiformat.table.append import AppendHandle
from hudiformat.table.create_handle import CreateHandle
from hudiformat.table.keys import RowKeys
from hudiformat.table.partition import PartitionIndex
from hudiformat.table.plan import Operation, WritePlan
from hudiformat.timeline import WriteStat
from hudiformat.view import PARTITION_METADATA_FILE

_MAX_BUFFERED = 256 * 1024 * 1024
"""Bytes of rows that a task holds over all its file groups before the fullest is written out."""

Integers = npt.NDArray[np.int64]


class WriteTask:
    """Writes rows where they belong.  Use as a context manager; :meth:`finish` gives the statistics."""

    def __init__(self, plan: WritePlan, token: WriteToken, *, storage: Storage | None = None) -> None:
        self._plan = plan
        self._token = token
        self._storage = open_storage(plan.root) if storage is None else storage
        self._keys = RowKeys.of(plan.config)
        self._delete_column = plan.schema.delete_column
        self._partitions: dict[str, PartitionIndex] = {}
        self._handles: dict[tuple[str, str | None], AppendHandle | CreateHandle] = {}
        self._counter = 1

    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows with the table's own columns; for a delete, the columns that keys are made of.

        Raises:
            DataError: a record key is null or empty.
        """
        record_keys = self._keys.record_keys(batch)
        for path, rows in _groups(self._keys.partition_paths(batch)):
            self._write_partition(path, batch.take(pa.array(rows)), record_keys.take(pa.array(rows)))
        self._relieve()

    def finish(self) -> list[WriteStat]:
        """Write what is left; a statistic for every file that was made."""
        stats = [stat for handle in self._handles.values() for stat in handle.close()]
        self._handles = {}
        return stats

    def __enter__(self) -> WriteTask:
        return self

    def __exit__(self, *_error: object) -> None:
        for handle in self._handles.values():
            handle.abandon()

    def _write_partition(self, path: str, rows: pa.RecordBatch, record_keys: pa.Array) -> None:
        plan = self._plan
        if plan.operation is Operation.INSERT and not plan.uses_buckets:
            self._create(path, rows, record_keys)
            return
        if path not in self._partitions:
            self._partitions[path] = PartitionIndex(self._storage, plan, path)
        tags = self._partitions[path].tag(record_keys)
        for code, chosen in _groups_of_codes(tags.codes):
            places = pa.array(tags.rows[chosen])
            part, keys = rows.take(places), record_keys.take(places)
            if code == NEW:
                self._create(path, part, keys)
            elif plan.operation is not Operation.DELETE or tags.existing[code]:
                self._append(path, tags.file_ids[code], part, keys, is_update=tags.existing[code])

    def _append(self, path: str, file_id: str, rows: pa.RecordBatch, keys: pa.Array, *, is_update: bool) -> None:
        handle = self._handles.get((path, file_id))
        if handle is None:
            self._enter_partition(path)
            handle = AppendHandle(self._storage, self._plan, self._token, path, file_id, is_update=is_update)
            self._handles[path, file_id] = handle
        assert isinstance(handle, AppendHandle)  # noqa: S101 - the key of the dict says so
        if self._plan.operation is Operation.DELETE:
            handle.delete(keys, None)
            return
        deleted = _deleted(rows, self._delete_column)
        if deleted is not None:
            handle.delete(keys.filter(deleted), self._ordering(rows.filter(deleted)))
            kept = pc.invert(deleted)
            rows, keys = rows.filter(kept), keys.filter(kept)
        if rows.num_rows:
            handle.write(rows, keys, first_counter=self._count(rows.num_rows))

    def _create(self, path: str, rows: pa.RecordBatch, keys: pa.Array) -> None:
        if self._plan.operation is Operation.DELETE:
            return  # there is nothing to delete
        deleted = _deleted(rows, self._delete_column)
        if deleted is not None:
            kept = pc.invert(deleted)
            rows, keys = rows.filter(kept), keys.filter(kept)
        if not rows.num_rows:
            return
        handle = self._handles.get((path, None))
        if handle is None:
            self._enter_partition(path)
            handle = self._handles[path, None] = CreateHandle(self._storage, self._plan, self._token, path)
        assert isinstance(handle, CreateHandle)  # noqa: S101 - the key of the dict says so
        handle.write(rows, keys, first_counter=self._count(rows.num_rows))

    def _ordering(self, rows: pa.RecordBatch) -> pa.Array | None:
        fields = self._plan.config.ordering_fields
        if not fields:
            return None
        values = [_as_spark_holds(rows[name]) for name in fields]
        return values[0] if len(fields) == 1 else pa.StructArray.from_arrays(values, names=list(fields))

    def _enter_partition(self, path: str) -> None:
        """Make the folder a partition: without its metadata file Hudi sees no rows in it."""
        target = f"{path}/{PARTITION_METADATA_FILE}" if path else PARTITION_METADATA_FILE
        if self._storage.exists(target):
            return
        try:
            self._storage.create(target, partition_metadata(path, self._plan.instant), sync=self._plan.options.sync)
        except StorageError:
            if not self._storage.exists(target):  # otherwise another task was faster
                raise

    def _count(self, rows: int) -> int:
        first, self._counter = self._counter, self._counter + rows
        return first

    def _relieve(self) -> None:
        handles = sorted(self._handles.values(), key=lambda handle: handle.buffered_bytes, reverse=True)
        buffered = sum(handle.buffered_bytes for handle in handles)
        for handle in handles:
            if buffered <= _MAX_BUFFERED:
                return
            buffered -= handle.buffered_bytes
            handle.flush()


def partition_metadata(path: str, instant: str) -> bytes:
    """The content of a partition metadata file.

    Source: HoodiePartitionMetadata.
    """
    depth = path.count("/") + 1 if path else 0
    return f"#partition metadata\ncommitTime={instant}\npartitionDepth={depth}\n".encode()


def _deleted(rows: pa.RecordBatch, column: str | None) -> pa.Array | None:
    """Which rows are deletes by their own column; None when none is."""
    if column is None:
        return None
    flags = pc.fill_null(rows[column], False)
    return flags if pc.any(flags).as_py() else None


def _as_spark_holds(values: pa.Array) -> pa.Array:
    """Ordering values of deletes: moments and dates as the numbers that Spark's rows hold.

    Hudi on Spark cannot compare a java.sql.Timestamp or Date with those, and lets the delete win.  It writes longs.
    """
    if pa.types.is_timestamp(values.type):
        return values.cast(pa.int64())
    return values.cast(pa.int32()) if pa.types.is_date32(values.type) else values


def _groups(values: pa.Array) -> Iterator[tuple[str, Integers]]:
    """Each distinct value and the rows that have it, in order."""
    encoded = values.dictionary_encode()
    for code, rows in _groups_of_codes(np.asarray(encoded.indices).astype(np.int64)):
        yield encoded.dictionary[code].as_py(), rows


def _groups_of_codes(codes: Integers) -> Iterator[tuple[int, Integers]]:
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=np.iinfo(np.int64).min))
    for group in np.split(order, starts[1:]) if len(order) else ():
        yield int(codes[group[0]]), group
