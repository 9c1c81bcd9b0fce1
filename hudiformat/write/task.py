"""One task of a write: batches of rows -> files of their partitions and file groups, and statistics.

A write has one task in this process, or many on a cluster; they share the plan, and differ in their write token.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.errors import StorageError
from hudiformat.naming import WriteToken
from hudiformat.storage import Storage, open_storage
from hudiformat.table.schema import RowKeys
from hudiformat.timeline import WriteStat
from hudiformat.transaction.plan import WritePlan
from hudiformat.view import PARTITION_METADATA_FILE
from hudiformat.write.partition import PartitionWriter
from hudiformat.write.rows import Booleans, Integers, KeyedRows, groups_of_codes

_MAX_BUFFERED = 256 * 1024 * 1024
"""Bytes of rows that a task gathers over all its partitions before the fullest are written out.

What rewrites a base file, and keys of deletes, stay in memory to the end.
"""


_NOWHERE = ""  # a file group without a name


class WriteTask:
    """Writes rows where they belong.  Use as a context manager; :meth:`finish` gives the statistics."""

    def __init__(self, plan: WritePlan, token: WriteToken, *, storage: Storage | None = None) -> None:
        self._plan = plan
        self._token = token
        self._storage = open_storage(plan.root) if storage is None else storage
        self._keys = RowKeys.of(plan.config)
        self._partitions: dict[str, PartitionWriter] = {}
        self._stats: list[WriteStat] = []
        self._counter = 1

    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows with the table's own columns; for a delete, the columns that keys are made of.

        Raises:
            DataError: a record key is null or empty, or there already where it must not be.
            UnsupportedFeatureError: an update of a file group in a pending clustering.
        """
        record_keys = self._keys.record_keys(batch)
        for path, rows in _groups(self._keys.partition_paths(batch)):
            self._partition(path).write(KeyedRows(batch, record_keys).at(rows))
        self._relieve()

    def write_placed(self, path: str, group: str, rows: KeyedRows, *, is_new: Booleans) -> None:
        """As :meth:`write`, for rows of a partition whose file group, and whether they are new there, are known.

        Raises:
            UnsupportedFeatureError: as for :meth:`write`.
        """
        for kind in (False, True):
            chosen = rows.where(is_new == kind)
            if len(chosen):
                self._partition(path).write_placed(group, chosen, is_new=kind)
        self._relieve()

    def write_bucket(self, path: str, bucket: int, rows: KeyedRows) -> None:
        """As :meth:`write`, for rows of a partition of which the bucket is known.

        Raises:
            OptionError: the table's buckets contradict the options.
            UnsupportedFeatureError: as for :meth:`write`.
        """
        self._partition(path).write_bucket(bucket, rows)
        self._relieve()

    def write_found(self, batch: pa.RecordBatch, paths: pa.Array, groups: pa.Array) -> None:
        """As :meth:`write`, for rows of which partition and file group have been looked up; null for new ones.

        Raises:
            UnsupportedFeatureError: an update of a file group in a pending clustering.
        """
        record_keys = self._keys.record_keys(batch)
        for path, in_path in _groups(paths):
            for group, in_group in _groups(groups.take(pa.array(in_path)).fill_null(_NOWHERE)):
                rows = KeyedRows(batch, record_keys).at(in_path[in_group])
                self._partition(path).write_found(None if group == _NOWHERE else group, rows)
        self._relieve()

    def take_out(self, path: str, file_id: str, record_keys: pa.Array) -> None:
        """Delete rows from a file group, as they move to another partition.

        Raises:
            UnsupportedFeatureError: the file group is in a pending clustering.
        """
        self._partition(path).take_out(file_id, record_keys)

    def end_groups(self, path: str) -> None:
        """Finish the file groups of a partition that rows have come for: no more will.  None of them stay in memory."""
        partition = self._partitions.get(path)
        if partition is not None and not partition.is_empty:
            self._enter_partition(path)
            self._stats += partition.close()

    def finish(self) -> list[WriteStat]:
        """Write what is left; a statistic for every file that was made."""
        for path in self._partitions:
            self.end_groups(path)
        self._partitions = {}
        return self._stats

    def __enter__(self) -> WriteTask:
        return self

    def __exit__(self, *_error: object) -> None:
        for partition in self._partitions.values():
            partition.abandon()

    def _partition(self, path: str) -> PartitionWriter:
        if path not in self._partitions:
            self._partitions[path] = PartitionWriter(self._storage, self._plan, self._token, path, self._count)
        return self._partitions[path]

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
        sizes = {path: partition.buffered_bytes for path, partition in self._partitions.items()}
        buffered = sum(sizes.values())
        for path in sorted(sizes, key=sizes.__getitem__, reverse=True):
            if buffered <= _MAX_BUFFERED:
                return
            self._enter_partition(path)
            self._partitions[path].flush()
            buffered -= sizes[path]


def partition_metadata(path: str, instant: str) -> bytes:
    """The content of a partition metadata file.

    Source: HoodiePartitionMetadata.
    """
    depth = path.count("/") + 1 if path else 0
    return f"#partition metadata\ncommitTime={instant}\npartitionDepth={depth}\n".encode()


def _groups(values: pa.Array) -> Iterator[tuple[str, Integers]]:
    """Each distinct value and the rows that have it, in order."""
    if len(values) and pc.all(pc.equal(values, values[0])).as_py():
        yield values[0].as_py(), np.arange(len(values))
        return
    encoded = values.dictionary_encode()
    for code, rows in groups_of_codes(np.asarray(encoded.indices).astype(np.int64)):
        yield encoded.dictionary[code].as_py(), rows
