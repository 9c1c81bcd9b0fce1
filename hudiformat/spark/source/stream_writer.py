"""Write a stream into a table: one commit for each batch, exactly once.

Spark makes the writer twice for a batch, before its tasks and before its commit, so the two cannot share an instant:
tasks stage their rows, and the commit writes them.  The commit records the number of the batch.  If the query stops
between our commit and Spark's, Spark repeats the batch; it is found on the timeline and skipped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from hudiformat.api.reading import context_of
from hudiformat.catalogs.inline import after_write
from hudiformat.schema.table_schema import RowKeys, TableSchema
from hudiformat.services.inline import before_write
from hudiformat.spark.errors import hide_frames
from hudiformat.spark.options import WRITER, SourceOptions
from hudiformat.spark.source.messages import fit_batches, results_of
from hudiformat.spark.write.by_driver import key_cache
from hudiformat.spark.write.checkpoints import checkpoint, newest_batch
from hudiformat.spark.write.staging import delete_staged, read_staged, stage
from hudiformat.spark.write.tasks import QUERY_ID, write_token
from hudiformat.storage.opening import open_storage
from hudiformat.table.options.values import Operation
from hudiformat.table.state import TableContext
from hudiformat.write.commit.transaction import attempts
from hudiformat.write.rows import KeyedRows
from hudiformat.write.write import check_rows, write_keyed


@dataclass
class StagedRows(WriterCommitMessage):
    """The message of a task: the path of its staged rows, and the id of the query."""

    path: str
    query: str

    @property
    def folder(self) -> str:
        """The folder of the query's staged rows."""
        return _folder(self.query)


class HudiStreamWriter(DataSourceStreamArrowWriter):
    """The writer of a stream's batches.

    A query is identified by ``hoodie.datasource.write.streaming.checkpoint.identifier``, or by its id, which stays the
    same when the query is restarted from its checkpoint.
    """

    def __init__(self, options: SourceOptions, schema: TableSchema, *, keeps_keys: bool) -> None:
        self._options = options
        self._schema = schema
        self._keeps_keys = keeps_keys

    @hide_frames
    def write(  # type: ignore[override]  # a writer of Arrow is given batches
        self, iterator: Iterator[pa.RecordBatch]
    ) -> WriterCommitMessage:
        query = _query_id()
        storage = open_storage(self._options.path)
        rows = fit_batches(iterator, self._schema, query, keeps_keys=self._keeps_keys)
        return StagedRows(stage(storage, _folder(query), write_token(), self._schema.arrow, rows), query)

    @hide_frames
    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        staged = results_of(messages, StagedRows)
        context, operation = context_of(self._options.with_sizing_tasks(len(staged)).table()), self._options.operation
        writer = self._options.get(WRITER) or staged[0].query

        newest = newest_batch(context.state(), writer)
        if newest is None or newest < batchId:
            self._write_staged(context, operation, [one.path for one in staged], checkpoint(writer, batchId))
        delete_staged(context.storage, staged[0].folder)

    def _write_staged(
        self, context: TableContext, operation: Operation, paths: Sequence[str], extra: Mapping[str, str]
    ) -> None:
        state, storage = before_write(context), context.storage
        checked = check_rows(state, operation, self._schema.arrow)  # the schema may have changed since
        staged = read_staged(storage, self._schema.arrow, paths)
        rows = KeyedRows.of(RowKeys.of(state.config), checked.fit(staged))
        for write in attempts(state, operation, change=checked.change):
            with write:
                write.commit(write_keyed(write.plan, rows, storage=storage, cache=key_cache(storage.root)), extra)
        after_write(write.result)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803 - Spark's name
        for folder in {message.folder for message in messages if isinstance(message, StagedRows)}:
            delete_staged(open_storage(self._options.path), folder)


def _folder(query: str) -> str:
    return f"stream-{query}"


def _query_id() -> str:
    task = TaskContext.get()
    assert task is not None  # noqa: S101 - Spark runs this in a task
    found = task.getLocalProperty(QUERY_ID)
    assert found is not None  # noqa: S101 - a task of a stream has a query
    return found
