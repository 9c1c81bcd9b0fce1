"""The data source ``hudiformat`` (PySpark 4).

Spark makes the writer in one process, runs ``write`` in others and ``commit`` in a third: what travels is the plan and
the messages.  A task has no say in which rows it gets.  With a bucket index that does not matter: several tasks may add
log files to one file group.  With an index that looks keys up it does, since two tasks could open a file group each
for one new key: there the tasks stage their rows, and the commit writes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from hudiformat.api import open_table
from hudiformat.errors import DataError, OptionError, UnsupportedFeatureError
from hudiformat.spark.schema import arrow_schema, spark_schema
from hudiformat.spark.tasks import write_token
from hudiformat.storage import open_storage
from hudiformat.table import (
    Operation,
    SliceReader,
    TableSchema,
    WriteTask,
    decode_write_stats,
    encode_write_stats,
)
from hudiformat.table.begin import OpenWrite, check_rows, start_write
from hudiformat.table.staging import read_staged, stage
from hudiformat.table.write import write_prepared
from hudiformat.view import FileSlice

_OPERATION_KEYS = ("operation", "hoodie.datasource.write.operation")
_AS_OF = "as.of.instant"
_QUERY = "hoodie.datasource.query.type"
_QUERIES = ("snapshot", "read_optimized")


class HudiDataSource(DataSource):
    """Hudi tables, read and written by hudiformat.

    Options for reading: ``as.of.instant``, ``hoodie.datasource.query.type`` (snapshot or read_optimized).  Options for
    writing: ``operation`` (insert, upsert, bulk_insert or delete) and Hudi's keys.
    """

    @classmethod
    def name(cls) -> str:
        return "hudiformat"

    def schema(self) -> StructType:
        return spark_schema(self._table().slice_reader(as_of=self.options.get(_AS_OF)).output_schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        query = self.options.get(_QUERY, "snapshot")
        if query not in _QUERIES:
            raise OptionError(f"{_QUERY}: expected one of {', '.join(_QUERIES)}, found {query!r}", option=_QUERY)
        table = self._table()
        reader = table.slice_reader(as_of=self.options.get(_AS_OF))
        target = arrow_schema(schema)
        reader.project(target.names)
        slices = table.file_slices(as_of=self.options.get(_AS_OF))
        return HudiReader(table.path, reader, slices, target, with_logs=query == "snapshot")

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:  # noqa: FBT001 - Spark's signature
        if overwrite:
            raise UnsupportedFeatureError("mode overwrite; use append", feature="mode overwrite")
        operation = self._operation()
        context = self._table().context
        fitted = check_rows(context, operation, arrow_schema(schema))
        return HudiWriter(start_write(context, operation), fitted)

    def _table(self) -> Any:
        options = dict(self.options)
        if (path := options.pop("path", None)) is None:
            raise OptionError("no path; name the table with load(path) or save(path)", option="path")
        for key in (*_OPERATION_KEYS, _AS_OF, _QUERY):
            options.pop(key, None)
        return open_table(path, options=options)

    def _operation(self) -> Operation:
        text = next((self.options[key] for key in _OPERATION_KEYS if key in self.options), "upsert")
        try:
            return Operation(text.upper())
        except ValueError:
            known = ", ".join(operation.value.lower() for operation in Operation)
            raise OptionError(f"operation: expected one of {known}, found {text!r}", option="operation") from None


@dataclass
class SlicePartition(InputPartition):
    """One file slice to read."""

    file_slice: FileSlice


class HudiReader(DataSourceReader):
    """Reads a table, a task per file slice."""

    def __init__(
        self, path: str, reader: SliceReader, slices: list[FileSlice], target: pa.Schema, *, with_logs: bool
    ) -> None:
        self._path = path
        self._reader = reader
        self._slices = slices
        self._target = target
        self._with_logs = with_logs

    def partitions(self) -> list[SlicePartition]:
        return [SlicePartition(file_slice) for file_slice in self._slices]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, SlicePartition):
            return  # where there is nothing to read, Spark makes up one task, with a partition of its own
        storage = open_storage(self._path)
        columns = self._target.names
        for batch in self._reader.scan(storage, partition.file_slice, columns=columns, with_logs=self._with_logs):
            yield batch.cast(self._target)


@dataclass
class TaskResult(WriterCommitMessage):
    """What a task made: files, whose statistics these are, or staged rows."""

    stats: bytes | None = None
    staged: str | None = None


class HudiWriter(DataSourceArrowWriter):
    """Writes a table: tasks write or stage, the commit publishes."""

    def __init__(self, write: OpenWrite, schema: TableSchema) -> None:
        self._write = write
        self._schema = schema

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        plan, token = self._write.plan, write_token()
        names = self._schema.arrow.names
        fitted = (
            self._schema.fit(batch.select([name for name in batch.schema.names if name in names])) for batch in iterator
        )
        if not plan.uses_buckets:
            return TaskResult(staged=stage(plan, token, self._schema.arrow, fitted))
        with WriteTask(plan, token) as task:
            for batch in fitted:
                task.write(batch)
            return TaskResult(stats=encode_write_stats(task.finish()))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        results = [message for message in messages if isinstance(message, TaskResult)]
        if len(results) != len(messages):
            raise DataError(f"{len(messages) - len(results)} of {len(messages)} tasks wrote nothing")
        stats = [stat for result in results if result.stats for stat in decode_write_stats(result.stats)]
        staged = [result.staged for result in results if result.staged]
        if staged:
            stats += write_prepared(self._write.plan, read_staged(self._write.plan, self._schema.arrow, staged))
        self._write.commit(stats)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:  # noqa: ARG002 - by instant, not by message
        self._write.transaction.abandon()
