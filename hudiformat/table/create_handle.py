"""The create handle: new rows of a partition -> base files of new file groups."""

from __future__ import annotations

import uuid

import pyarrow as pa

from hudiformat.basefile import add_meta_columns, encode_base_file
from hudiformat.naming import BaseFileName, WriteToken, new_file_id
from hudiformat.storage import Storage
from hudiformat.table.markers import create_marker
from hudiformat.table.plan import WritePlan
from hudiformat.table.stats import base_file_stat
from hudiformat.timeline import WriteStat

_IDS = uuid.UUID("6a2d0b1c-9a0e-5d53-8c4e-0d6c1f5f7a11")
"""The name space of file ids: they follow from the write, so that the same write gives the same names."""


class CreateHandle:
    """Gathers the rows of a new file group, and writes its base file when enough have come.

    Source: HoodieCreateHandle.
    """

    def __init__(self, storage: Storage, plan: WritePlan, token: WriteToken, partition_path: str) -> None:
        self._storage = storage
        self._plan = plan
        self._token = token
        self._partition_path = partition_path
        self._rows: list[tuple[pa.RecordBatch, pa.Array, int]] = []
        self._stats: list[WriteStat] = []
        self.buffered_bytes = 0

    def write(self, rows: pa.RecordBatch, record_keys: pa.Array, *, first_counter: int) -> None:
        """Buffer *rows* (the table's own columns); a file's worth of them goes to disk."""
        self._rows.append((rows, record_keys, first_counter))
        self.buffered_bytes += rows.nbytes
        if self.buffered_bytes >= self._plan.options.sizing.max_file_size:
            self.flush()

    def flush(self) -> None:
        """Write the buffered rows into a base file of a new file group."""
        if not self._rows:
            return
        file_id = self._new_file_id()
        name = str(BaseFileName(file_id, str(self._token), self._plan.instant, "parquet"))
        table = pa.Table.from_batches(
            add_meta_columns(
                rows,
                keys,
                instant=self._plan.instant,
                partition_path=self._partition_path,
                file_name=name,
                task_partition=self._token.partition,
                first_counter=first_counter,
            )
            for rows, keys, first_counter in self._rows
        )
        options = self._plan.options
        data = encode_base_file(
            table,
            self._plan.schema.avro_with_meta,
            compression=options.parquet_codec,
            bloom_filter=options.bloom_filter,
        )
        path = f"{self._partition_path}/{name}" if self._partition_path else name
        create_marker(self._storage, self._plan.instant, path)
        with self._storage.open_new(path) as file:
            file.write(memoryview(data))
            if options.sync:
                file.sync()
        self._stats.append(
            base_file_stat(
                partition_path=self._partition_path, file_id=file_id, path=path, rows=table.num_rows, size=data.size
            )
        )
        self._rows, self.buffered_bytes = [], 0

    def close(self) -> list[WriteStat]:
        """Write what is left; one statistic per base file."""
        self.flush()
        return self._stats

    def abandon(self) -> None:
        """Forget what is left."""
        self._rows = []

    def _new_file_id(self) -> str:
        seed = f"{self._plan.instant}/{self._partition_path}/{self._token.partition}/{len(self._stats)}"
        return new_file_id(uuid.uuid5(_IDS, seed))


def new_bucket_uuid(instant: str, partition_path: str, bucket: int) -> uuid.UUID:
    """The random part of a new bucket's file id.

    It follows from the write, so that several tasks that meet the same new bucket agree on its name.
    """
    return uuid.uuid5(_IDS, f"{instant}/{partition_path}/{bucket}")
