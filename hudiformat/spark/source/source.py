"""The data source ``hudiformat`` (PySpark 4).

Spark makes the writer in one process, runs ``write`` in worker processes and ``commit`` in a third process, and sends
the plan and the messages between them.  Rows are not shuffled to tasks by file group.  With a bucket index and log
files this does no harm: several tasks may add log files to the same file group.  Nor with a bulk insert, whose tasks
open their own file groups.  In all other writes, two tasks could open two file groups for one new key, or rewrite the
same base file: there the tasks stage their rows, and the commit writes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyspark
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from hudiformat.api.reading import context_of
from hudiformat.catalogs.inline import after_write
from hudiformat.errors import UnsupportedFeatureError
from hudiformat.schema.table_schema import RowKeys, TableSchema
from hudiformat.services.inline import before_write
from hudiformat.spark.errors import hide_frames, hide_iterator_frames
from hudiformat.spark.options import SourceOptions
from hudiformat.spark.read.pieces import Piece, output_schema, pieces, read_pieces
from hudiformat.spark.read.tasks import UNKNOWN_TASKS, share_out
from hudiformat.spark.source.messages import fit_batches, results_of
from hudiformat.spark.source.partition_deleter import PartitionDeleter
from hudiformat.spark.write.by_driver import key_cache
from hudiformat.spark.write.lookup.tagging import check_has_paths
from hudiformat.spark.write.modes import table_for
from hudiformat.spark.write.schema import arrow_schema, as_table_has, spark_schema
from hudiformat.spark.write.staging import read_staged, stage
from hudiformat.spark.write.tasks import write_token
from hudiformat.spark.write.workers import PreparesWorker
from hudiformat.storage.opening import open_storage
from hudiformat.table.options.values import REPLACING, Operation, SortMode
from hudiformat.table.state import TableContext, TableState
from hudiformat.timeline.table_config import TableType
from hudiformat.write.commit.files import decode_write_stats, encode_write_stats
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.commit.transaction import Transaction, begin_write
from hudiformat.write.made_keys import keeps_keys, with_key_fields
from hudiformat.write.rows import KeyedRows
from hudiformat.write.write import WriteTask, check_rows, write_keyed


class HudiDataSource(DataSource):
    """Hudi tables, read and written by hudiformat, in batches and as streams.

    Options for reading: ``hudiformat.columns`` (``"id, name"``) and ``hudiformat.filter`` (``"p = 'x' and v > 0"``),
    ``as.of.instant``, ``hoodie.datasource.query.type`` (snapshot, read_optimized, incremental or cdc) with
    ``hoodie.datasource.read.begin.instanttime`` and ``end.instanttime``; for streams
    ``hoodie.datasource.streaming.startOffset`` and ``maxCommitsPerTrigger``.  Options for writing: ``operation``
    (insert, upsert, bulk_insert, delete, delete_partition, insert_overwrite or insert_overwrite_table) and Hudi's keys.
    Mode overwrite replaces all rows, or with ``insert_overwrite`` the rows of each partition that occurs in the data.
    """

    @classmethod
    def name(cls) -> str:
        return "hudiformat"

    @hide_frames
    def schema(self) -> StructType:
        return spark_schema(output_schema(self._options))

    @hide_frames
    def reader(self, schema: StructType) -> DataSourceReader:
        target = arrow_schema(schema)
        return HudiReader(pieces(self._options, target.names), target)

    @hide_frames
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:  # noqa: FBT001 - Spark's signature
        operation = self._options.batch_operation(overwrite=overwrite)
        context = context_of(table_for(self._options, arrow_schema(schema)))
        if operation is Operation.DELETE_PARTITION:
            if self._options.partitions_to_delete is None:
                check_has_paths(context.config, arrow_schema(schema))
            return PartitionDeleter(self._options, context.config, context.state().schema)
        operation = self._options.operation_for(operation, context.config, schema.names)
        keeps = keeps_keys(context.config, operation, schema.names)
        state = before_write(context)
        checked = check_rows(state, operation, _as_written(schema, state))
        write = begin_write(context, operation, state, change=checked.change)
        write.hand_over()  # Spark sends the writer to its tasks and then to the commit, in other processes
        return HudiWriter(write, checked.schema, context, keeps_keys=keeps)

    @hide_frames
    def streamReader(self, schema: StructType) -> Any:  # noqa: N802 - Spark's name
        try:
            from hudiformat.spark.source.stream_reader import HudiStreamReader  # noqa: PLC0415 - PySpark 4.2
        except ImportError as error:
            raise _needs("4.2", "reading a stream") from error
        return HudiStreamReader(self._options, arrow_schema(schema))

    @hide_frames
    def streamWriter(self, schema: StructType, overwrite: bool) -> Any:  # noqa: FBT001, N802 - Spark's name
        try:
            from hudiformat.spark.source.stream_writer import HudiStreamWriter  # noqa: PLC0415 - PySpark 4.1
        except ImportError as error:
            raise _needs("4.1", "writing a stream") from error
        if overwrite:
            raise UnsupportedFeatureError(
                "output mode: expected append, found complete; use outputMode('append')", feature="output mode complete"
            )
        options = self._options
        state = context_of(table_for(options, arrow_schema(schema))).state()
        keeps = keeps_keys(state.config, options.operation, schema.names)
        checked = check_rows(state, options.operation, _as_written(schema, state))
        return HudiStreamWriter(options, checked.schema, keeps_keys=keeps)

    @property
    def _options(self) -> SourceOptions:
        return SourceOptions(dict(self.options))


def _as_written(schema: StructType, state: TableState) -> pa.Schema:
    """Return the columns of the rows; columns that are new to the table become nullable.

    Spark passes the schema of its optimized plan, in which a constant column is not nullable, even if the user's is.
    """
    table = state.schema.arrow
    every = as_table_has(arrow_schema(schema), table)
    own = pa.schema([one if table.get_field_index(one.name) >= 0 else one.with_nullable(True) for one in every])
    return with_key_fields(state.config, own)


def _needs(version: str, feature: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"expected PySpark {version} or later for {feature}, found {pyspark.__version__}; "
        "use hudiformat.spark.upsert in foreachBatch to write a stream, and "
        "hudiformat.spark.incremental to read what was written since",
        feature=f"{feature} on PySpark {pyspark.__version__}",
    )


class HudiReader(PreparesWorker, DataSourceReader):
    """The reader of a table; a task reads a large piece of the query, or several small ones.

    The pieces are planned before Spark calls ``partitions``: if that raises a NotImplementedError, and our
    UnsupportedFeatureError is one, Spark hides the error and reads one empty partition.
    """

    def __init__(self, found: Sequence[Piece], target: pa.Schema) -> None:
        self._pieces = found
        self._target = target

    def __getstate__(self) -> dict[str, Any]:
        """Return the state that is sent to every task: without the pieces, of which each task gets its own."""
        return {"_target": self._target}

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(one) for one in share_out(self._pieces, UNKNOWN_TASKS)]

    @hide_iterator_frames
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # A query without pieces has one task, whose partition Spark makes, with None as its value.
        return read_pieces(partition.value or [], self._target)


@dataclass
class TaskResult(WriterCommitMessage):
    """The message of a task: the statistics of its files, or the path of its staged rows."""

    stats: bytes | None = None
    staged: str | None = None


class HudiWriter(DataSourceArrowWriter):
    """The writer of a table: tasks write or stage their rows, and the commit publishes them."""

    def __init__(self, write: Transaction, schema: TableSchema, context: TableContext, *, keeps_keys: bool) -> None:
        self._write = write
        self._schema = schema
        self._context = context
        self._keeps_keys = keeps_keys

    @hide_frames
    def write(  # type: ignore[override]  # a writer of Arrow is given batches
        self, iterator: Iterator[pa.RecordBatch]
    ) -> WriterCommitMessage:
        with self._write.keep_alive():
            return self._write_rows(iterator)

    def _write_rows(self, iterator: Iterator[pa.RecordBatch]) -> TaskResult:
        plan, token = self._write.plan, write_token()
        rows = fit_batches(iterator, self._schema, plan.instant, keeps_keys=self._keeps_keys)
        if not _tasks_write(plan):
            storage = open_storage(plan.root)
            return TaskResult(staged=stage(storage, plan.instant, token, self._schema.arrow, rows))
        with WriteTask(plan, token) as task:
            for batch in rows:
                task.write_batch(batch)
            return TaskResult(stats=encode_write_stats(task.finish_apart()))

    @hide_frames
    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        with self._write.keep_alive():
            self._publish(messages)
        after_write(self._write.result)

    def _publish(self, messages: list[WriterCommitMessage | None]) -> None:
        plan = self._write.plan
        results = results_of(messages, TaskResult)
        stats = [stat for result in results if result.stats for stat in decode_write_stats(result.stats)]
        staged = [result.staged for result in results if result.staged]
        if staged:
            rows = read_staged(self._context.storage, self._schema.arrow, staged)
            stats += write_keyed(plan, KeyedRows.of(RowKeys.of(plan.config), rows), cache=key_cache(plan.root))
        self._write.commit(stats)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:  # noqa: ARG002 - files are found by the instant
        self._write.abandon()


def _tasks_write(plan: WritePlan) -> bool:
    """Return whether tasks can write their rows although other tasks may have rows with the same keys."""
    is_replacing = plan.operation in REPLACING
    if plan.uses_buckets:  # several tasks may have rows of a bucket: each can add a log file to it, none can rewrite it
        return plan.config.table_type is TableType.MERGE_ON_READ and not is_replacing
    is_bulk_insert = plan.operation is Operation.BULK_INSERT and plan.options.bulk_insert_sort is SortMode.NONE
    return (is_bulk_insert or is_replacing) and not plan.options.combine_before_insert
