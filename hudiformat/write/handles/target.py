"""The file group that a handle writes, and a base file that is being written."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from hudiformat.basefile import BaseFileWriter, FileKeys
from hudiformat.logfile import LogWriter
from hudiformat.naming import BaseFileName, LogFileName, WriteToken
from hudiformat.storage import Storage
from hudiformat.transaction.files import create_marker
from hudiformat.transaction.plan import WritePlan

_ROW_GROUPS = 8
"""Row groups of a full file: after each, the number of rows that still fit is known better."""


@dataclass(frozen=True, slots=True)
class GroupTarget:
    """The file group *file_id* of a partition, as one task of a write writes it."""

    storage: Storage
    plan: WritePlan
    token: WriteToken
    partition_path: str
    file_id: str = ""

    def of_group(self, file_id: str) -> GroupTarget:
        """The same for another file group of the partition."""
        return replace(self, file_id=file_id)

    def path(self, name: str) -> str:
        """The path of a file of the partition, below the table."""
        return f"{self.partition_path}/{name}" if self.partition_path else name

    def log_writer(self, name: LogFileName) -> LogWriter:
        """A writer of log files of the group, the first of them *name*; it leaves a marker for each file."""
        plan = self.plan
        return LogWriter(
            self.partition_path,
            name,
            max_size=plan.options.log_max_size,
            sync=plan.options.sync,
            storage=self.storage,
            on_create=lambda path: create_marker(self.storage, plan.instant, path, appends=plan.logs_name_slices),
            is_own_name=not plan.logs_name_slices,  # from table version 8 on, the instant makes the name unique
        )


class OpenBaseFile:
    """A new base file of a file group; it is visible once the write is committed."""

    def __init__(self, target: GroupTarget) -> None:
        storage, plan = target.storage, target.plan
        self.name = str(BaseFileName(target.file_id, str(target.token), plan.instant, "parquet"))
        self.file_id = target.file_id
        self.path = target.path(self.name)
        self._sync = plan.options.sync
        create_marker(storage, plan.instant, self.path)
        self._file = storage.open_new(self.path)
        self._writer = BaseFileWriter(
            self._file,
            plan.schema.arrow_with_meta,
            plan.schema.avro_with_meta,
            compression=plan.options.parquet_codec,
            bloom_filter=plan.options.bloom_filter,
            row_size=plan.row_size,
            row_group_size=max(plan.options.sizing.max_file_size // _ROW_GROUPS, 1),
        )

    @property
    def rows(self) -> int:
        """Rows so far."""
        return self._writer.rows

    @property
    def waiting_bytes(self) -> int:
        """Bytes of rows that are still in memory."""
        return self._writer.waiting_bytes

    def rows_before(self, size: int) -> int:
        """How many more rows the file takes until it has about *size* bytes; at most a row group of them."""
        return self._writer.rows_before(size)

    def write(self, rows: pa.Table) -> None:
        """Add *rows*, which have the meta fields."""
        self._writer.write(rows)

    def flush(self) -> None:
        """Write the rows that are waiting."""
        self._writer.flush()

    def close(self, *, same_keys: FileKeys | None = None) -> int:
        """Finish the file; its size in bytes.  *same_keys* as in ``BaseFileWriter.close``."""
        size = self._writer.close(same_keys=same_keys)
        if self._sync:
            self._file.sync()
        self._file.close()
        return size

    def abandon(self) -> None:
        """Leave the file as it is, for the write's rollback to delete."""
        self._writer.abandon()
        self._file.close()
