"""Write rows of a batch, in a task, to hidden files, which roll over by size and by time."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType

import numpy as np
import pyarrow as pa

from hudiformat.arguments import as_name_list
from hudiformat.errors import SchemaError
from hudiformat.naming.keys import partition_paths
from hudiformat.sink.formats import file_kind, rows_writer, without_views
from hudiformat.sink.gathering import BufferedRowWriter
from hudiformat.sink.layout import Layout, StagedFile, TaskCommit
from hudiformat.sink.options import SinkOptions
from hudiformat.storage.protocol import OutputFile, Storage

MAX_BYTES_IN_MEMORY = 256 << 20
"""The limit of the bytes that the rows of all open files of a task have in Arrow's memory together."""
PIECE_ROWS = 10_000
"""The number of rows after which the size of a file is checked."""
_MEASURED = 100_000
"""The compression ratio is measured once a file has this many bytes of rows: a smaller file is mostly footer."""

Clock = Callable[[], int]


def now_milliseconds() -> int:
    """Return the time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


@dataclass(slots=True)
class _OpenFile:
    name: str
    path: str
    file: OutputFile
    rows: BufferedRowWriter
    opened: int
    last_write: int


class TaskWriter:
    """Writes the part of one task of one batch.

    As a context manager it deletes its files unless :meth:`finish` was called.  *schema* is the schema of the
    rows.  The columns *partition_by* become the folder, in Hive's style, and are not in the files.  *batch* and the
    number of *tasks* may be passed to the commit instead.  *attempt* is a text in the names of the files that no other
    attempt at this task has; by default it is random.

    Raises:
        SchemaError: a partition column does not exist, or the format does not support the type of a column.

    Source: TableRollingPolicy of FileSystemTableSink, Flink 1.20.0; files of both formats end with their batch.
    """

    def __init__(
        self,
        storage: Storage,
        schema: pa.Schema,
        *,
        task: int,
        batch: int | None = None,
        tasks: int | None = None,
        partition_by: str | Sequence[str] = (),
        options: SinkOptions | None = None,
        layout: Layout | None = None,
        attempt: str | None = None,
        clock: Clock = now_milliseconds,
    ) -> None:
        self._storage = storage
        self._options = options or SinkOptions()
        self._layout = layout or Layout()
        self._schema = schema
        self._partition_by = as_name_list(partition_by)
        self._file_schema = file_schema(schema, self._partition_by)
        self._begin = rows_writer(self._file_schema, self._options)
        self._kind = file_kind(self._file_schema, self._options)
        self._batch, self._task, self._tasks = batch, task, tasks
        self._attempt = attempt or uuid.uuid4().hex
        self._clock = clock
        self._checked = clock()
        self._open: dict[str, _OpenFile] = {}
        self._staged: list[StagedFile] = []
        self._count = 0
        self._ratio = 1.0  # bytes in the file per byte in Arrow, of the last row group or block

    def write(self, batch: pa.RecordBatch) -> None:
        """Add the rows of *batch*.

        Raises:
            SchemaError: the batch has another schema, or the type of a partition column cannot be a folder's name.
            DataError: a value cannot be the name of a folder.
        """
        if not batch.schema.equals(self._schema):
            raise SchemaError(f"expected rows of the schema\n{self._schema}\nfound\n{batch.schema}")
        for partition, rows in self._by_partition(batch):
            for start in range(0, rows.num_rows, PIECE_ROWS):
                self._append(partition, rows.slice(start, PIECE_ROWS))
        self._roll_by_time()

    def finish(self, watermark: int | None = None) -> TaskCommit:
        """Close all files, and return the message for the coordinator."""
        for partition in list(self._open):
            self._close(partition)
        files = tuple(sorted(self._staged, key=lambda file: (file.partition, file.name)))
        self._staged = []
        return TaskCommit(self._batch, self._task, self._tasks, files, watermark)

    def abort(self) -> None:
        """Delete the files that :meth:`finish` has not reported."""
        paths = [open_file.path for open_file in self._open.values()] + [file.path for file in self._staged]
        for open_file in self._open.values():
            open_file.file.close()
        self._open, self._staged = {}, []
        for path in paths:
            self._storage.delete(path)

    def __enter__(self) -> TaskWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.abort()

    def _by_partition(self, batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield the rows of each partition, in their order, without the partition columns.

        The partitions "b", "a", "b" of three rows::

            dictionary = ["b", "a"]   codes = [0, 1, 0]
            order      = [0, 2, 1]    rows by code
            bounds     = [0, 2, 3]    "b" has order[0:2] = rows 0 and 2; "a" has order[2:3] = row 1
        """
        given = ((batch.column(field.name), field.type) for field in self._file_schema)
        own = [column if column.type.equals(kind) else column.cast(kind) for column, kind in given]
        rows = pa.RecordBatch.from_arrays(own, schema=self._file_schema)
        if not self._partition_by:
            yield "", rows
            return
        columns = [batch.column(name) for name in self._partition_by]
        encoded = partition_paths(columns, self._partition_by, hive_style=True, url_encode=True).dictionary_encode()
        codes = encoded.indices.to_numpy()
        order = np.argsort(codes, kind="stable")
        bounds = np.searchsorted(codes[order], np.arange(len(encoded.dictionary) + 1))
        for code, partition in enumerate(encoded.dictionary.to_pylist()):
            yield partition, rows.take(pa.array(order[bounds[code] : bounds[code + 1]]))

    def _append(self, partition: str, rows: pa.RecordBatch) -> None:
        if partition not in self._open:
            self._open[partition] = self._new_file()
        open_file = self._open[partition]
        open_file.rows.write(rows)
        open_file.last_write = self._clock()
        self._measure(open_file.rows)
        if open_file.rows.written + open_file.rows.waiting * self._ratio > self._options.file_size:
            self._close(partition)
        elif sum(other.rows.waiting for other in self._open.values()) > MAX_BYTES_IN_MEMORY:
            max(self._open.values(), key=lambda other: other.rows.waiting).rows.flush()

    def _measure(self, rows: BufferedRowWriter) -> None:
        if rows.flushed >= _MEASURED:
            self._ratio = rows.written / rows.flushed

    def _new_file(self) -> _OpenFile:
        number = f"{self._task:05d}-{self._count:05d}"
        name = f"{number}-{self._attempt}.{self._options.format.value}"
        self._count += 1
        path = self._layout.staged(name, self._batch)
        file = self._storage.open_new(path)
        now = self._clock()
        return _OpenFile(name, path, file, self._begin(file, f"{self._batch}-{number}"), now, now)

    def _roll_by_time(self) -> None:
        now = self._clock()
        if now - self._checked < self._options.check_interval:
            return
        self._checked = now
        for partition, open_file in list(self._open.items()):
            open_for, idle_for = now - open_file.opened, now - open_file.last_write
            if open_for >= self._options.rollover_interval or idle_for >= self._options.inactivity_interval:
                self._close(partition)

    def _close(self, partition: str) -> None:
        open_file = self._open[partition]
        open_file.rows.flush()
        self._measure(open_file.rows)
        size = open_file.rows.close()
        open_file.file.sync()
        open_file.file.close()
        del self._open[partition]
        self._staged.append(
            StagedFile(partition, open_file.name, open_file.path, size, open_file.rows.rows, self._kind)
        )


def file_schema(schema: pa.Schema, partition_by: Sequence[str]) -> pa.Schema:
    """Return the columns of *schema* that are in the files: all but the partition columns.  Views become plain types.

    Raises:
        SchemaError: a partition column is not in the schema exactly once, or there is no other column.
    """
    for name in partition_by:
        if len(indices := schema.get_all_field_indices(name)) != 1:
            raise SchemaError(
                f"partition column {name}: expected once in the rows, found {len(indices)} times", column=name
            )
    fields = [field.with_type(without_views(field.type)) for field in schema if field.name not in partition_by]
    if not fields:
        raise SchemaError(f"expected columns beside the partition columns {', '.join(partition_by)}, found none")
    return pa.schema(fields, metadata=schema.metadata)
