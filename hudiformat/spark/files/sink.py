"""Write a stream into plain files: the file sink on Structured Streaming, by ``foreachBatch``.

Tasks write hidden files and send a message each to the driver.  The driver runs tasks that merge the files of the
batch, makes the files visible, and commits partitions.  Rules: spec/sink.md.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

from hudiformat.arguments import as_name_list, check_arguments
from hudiformat.errors import SchemaError
from hudiformat.sink.coordinator import BatchCommit, Compactor, FileSink
from hudiformat.sink.formats import rows_writer
from hudiformat.sink.layout import Layout, TaskCommit
from hudiformat.sink.options import SinkOptions, parse_sink_options
from hudiformat.sink.partition_commit import CommitPolicy, Extractor, Metastore
from hudiformat.sink.rolling import TaskWriter, file_schema
from hudiformat.spark.errors import reraise_task_errors
from hudiformat.spark.write.batches import limit_batches_by_rows
from hudiformat.spark.write.schema import arrow_schema
from hudiformat.spark.write.workers import in_task
from hudiformat.storage.opening import open_storage


@dataclass(frozen=True, slots=True)
class Share:
    """The settings that every task of a batch needs, beside the schema of the rows."""

    path: str
    partition_by: tuple[str, ...]
    options: SinkOptions
    layout: Layout
    event_time: str | None
    lateness: int

    def coordinator(self) -> FileSink:
        """Return the coordinator of a query without a session, a metastore or a custom policy.

        Raises:
            OptionError: options contradict each other.
        """
        return FileSink(open_storage(self.path), self.options, layout=self.layout)

    def check(self, schema: pa.Schema) -> None:
        """Check that rows of *schema* can be written.

        Raises:
            SchemaError: no file can hold the type of a column, or a column that the options name is missing.
        """
        rows_writer(file_schema(schema, self.partition_by), self.options)
        column = self.event_time
        kind = schema.field(column).type if column is not None and schema.get_field_index(column) >= 0 else None
        if column is not None and (kind is None or not pa.types.is_timestamp(kind)):
            raise SchemaError(
                f"event_time: expected a column of timestamps, found {column!r} of type {kind}", column=column
            )


class FileBatches:
    """A function for ``foreachBatch`` that writes the batches of one query; :func:`file_sink` returns it."""

    def __init__(self, share: Share, make_sink: Callable[..., FileSink]) -> None:
        self._share = share
        self._make_sink = make_sink
        self._newest: int | None = None  # known after the files of an earlier process were committed or deleted

    def __call__(self, df: DataFrame, batch_id: int) -> BatchCommit | None:
        """Write a batch; return None if it was written before, and the query stopped before Spark recorded that.

        Raises:
            SchemaError: no file can hold the type of a column of *df*, or a column that the options name is missing.
            HudiFormatError: another reason stops the batch; when Spark repeats the batch, it is continued.
        """
        schema = arrow_schema(df.schema)
        self._share.check(schema)
        sink = self._make_sink(run=partial(_run_in_tasks, df.sparkSession))
        if self._newest is None:
            self._newest = sink.recover()
        if batch_id <= self._newest:
            return None
        with reraise_task_errors(), limit_batches_by_rows(df.sparkSession):
            found = df.mapInArrow(in_task(_write_share, self._share, schema), "message binary").collect()
            messages = [pickle.loads(bytes(row["message"])) for row in found]  # noqa: S301 - pickled by our own tasks
            # An empty batch may have no tasks; it is committed all the same.
            commit = sink.commit(messages or [TaskCommit(None, 0, None, ())], batch=batch_id)
        self._newest = batch_id
        return commit

    def end(self) -> list[str]:
        """Commit the partitions that still wait, after the last batch, and return them."""
        return self._make_sink().end()


@check_arguments
def file_sink(
    path: str,
    *,
    partition_by: str | Sequence[str] = (),
    options: Mapping[str, str] | None = None,
    name: str = "default",
    event_time: str | None = None,
    lateness: int = 0,
    metastore: Metastore | None = None,
    custom: CommitPolicy | None = None,
    extractor: Extractor | None = None,
) -> FileBatches:
    """Return a sink into Parquet or Avro files under *path*, for ``df.writeStream.foreachBatch``.

    The values of the columns *partition_by* name the folders.  *options* are Flink's keys: spec/sink.md.  *name*
    distinguishes queries that write into the same folder.  *event_time* is the column of the watermark for the trigger
    partition-time: the watermark of a task is the latest value in its batch minus *lateness* milliseconds.
    *metastore*, *custom* and *extractor* are used by the options of these names.

    Raises:
        OptionError: an option is unknown (the error names the closest known one) or has a bad value, or options and
            arguments contradict each other.

    Source: StreamingSink, CompactFileWriter, CompactCoordinator and CompactOperator, Flink 1.20.0.
    """
    columns = tuple(as_name_list(partition_by))
    share = Share(path, columns, parse_sink_options(options), Layout(name), event_time, lateness)
    make_sink = partial(
        FileSink,
        open_storage(path),
        share.options,
        layout=share.layout,
        metastore=metastore,
        custom=custom,
        extractor=extractor,
    )
    make_sink()  # raises an OptionError if options contradict each other
    return FileBatches(share, make_sink)


def _write_share(share: Share, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Write the rows of a task to files, and yield its message to the driver."""
    message = write_share(share, schema, batches)
    yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(message)], pa.binary())], names=["message"])


def write_share(
    share: Share, schema: pa.Schema, batches: Iterable[pa.RecordBatch], *, batch: int | None = None
) -> TaskCommit:
    """Write the rows of a task to files; with *batch*, the file names contain its number."""
    context = TaskContext.get()
    assert context is not None  # noqa: S101 - Spark runs this in a task
    latest: list[int] = []
    with TaskWriter(
        open_storage(share.path),
        schema,
        task=context.partitionId(),
        batch=batch,
        partition_by=share.partition_by,
        options=share.options,
        layout=share.layout,
    ) as writer:
        for part in batches:
            rows = part.cast(schema)
            writer.write(rows)
            latest += _latest(rows, share.event_time)
        return writer.finish(max(latest) - share.lateness if latest else None)


def _latest(rows: pa.RecordBatch, column: str | None) -> list[int]:
    """Return the latest moment of *column*, in milliseconds since 1970, in a list; an empty list if there is none."""
    if column is None:
        return []
    found = pc.max(rows.column(column)).cast(pa.timestamp("us")).cast(pa.int64()).as_py()
    return [] if found is None else [found // 1000]


def _run_in_tasks(spark: SparkSession, compactors: Sequence[Compactor]) -> None:
    numbers = spark.range(0, len(compactors), 1, max(len(compactors), 1))
    numbers.mapInArrow(in_task(_compact, compactors), "number long").collect()


def _compact(compactors: Sequence[Compactor], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for number in batch.column(0).to_pylist():
            compactors[number]()
        yield pa.RecordBatch.from_arrays([batch.column(0)], names=["number"])
