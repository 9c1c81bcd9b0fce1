"""One task of a write: rows that are located -> files of their partitions and file groups, and statistics.

A write has one task in this process, or many on a cluster; they share the plan, and differ in their write token.
"""

from __future__ import annotations

import pyarrow as pa

from hudiformat.errors import StorageError
from hudiformat.index.partition import Tagger
from hudiformat.index.rows import KeyedRows, LocatedRows
from hudiformat.naming import WriteToken
from hudiformat.storage import Storage, open_storage
from hudiformat.table.schema import RowKeys
from hudiformat.timeline import WriteStat
from hudiformat.transaction.plan import WritePlan
from hudiformat.view import PARTITION_METADATA_FILE
from hudiformat.write.handles.target import GroupTarget
from hudiformat.write.partition import PartitionWriter

_MAX_BUFFERED = 256 * 1024 * 1024
"""Bytes of rows that a task gathers over all its partitions before the fullest are written out.

What rewrites a base file, and keys of deletes, stay in memory to the end.
"""


class WriteTask:
    """Writes rows where they belong.  Use as a context manager; :meth:`finish` gives the statistics.

    ``plan`` is the write's, and ``tagger`` finds where rows belong.
    """

    def __init__(self, plan: WritePlan, token: WriteToken, *, storage: Storage | None = None) -> None:
        self.plan = plan
        self._token = token
        self._storage = open_storage(plan.root) if storage is None else storage
        self.tagger = Tagger(self._storage, plan)
        self._keys = RowKeys.of(plan.config)
        self._partitions: dict[str, PartitionWriter] = {}
        self._stats: list[WriteStat] = []
        self._counter = 1

    def write(self, located: LocatedRows) -> None:
        """Take rows with the table's own columns; for a delete, with the columns that keys are made of.

        Raises:
            UnsupportedFeatureError: an update of a file group in a pending clustering.
        """
        self._partition(located.path).write(located)
        self._relieve()

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """As :meth:`write`, for rows whose keys have not been looked up.

        Raises:
            DataError: a record key is null or empty, or exists where it must not.
            UnsupportedFeatureError: as for :meth:`write`.
        """
        keyed = KeyedRows(batch, self._keys.record_keys(batch))
        for located in self.tagger.locate(keyed, self._keys.partition_paths(batch)):
            self.write(located)

    def remove(self, path: str, file_id: str, record_keys: pa.Array) -> None:
        """Delete rows from a file group, as they move to another partition.

        Raises:
            UnsupportedFeatureError: the file group is in a pending clustering.
        """
        self._partition(path).remove(file_id, record_keys)

    def end_groups(self, path: str) -> None:
        """Finish the file groups of a partition that have got rows: no more will come.  None of them stay in memory."""
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
            target = GroupTarget(self._storage, self.plan, self._token, path)
            self._partitions[path] = PartitionWriter(target, self.tagger.partition(path), self._count)
        return self._partitions[path]

    def _enter_partition(self, path: str) -> None:
        """Make the folder a partition: without its metadata file Hudi reads no rows from it."""
        if self.tagger.partition(path).is_listed_as_partition:
            return
        target = f"{path}/{PARTITION_METADATA_FILE}" if path else PARTITION_METADATA_FILE
        if self._storage.exists(target):
            return
        try:
            self._storage.create(target, partition_metadata(path, self.plan.instant), sync=self.plan.options.sync)
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
