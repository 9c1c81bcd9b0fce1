"""A stream into plain files: the file sink on Structured Streaming, by ``foreachBatch``.

Tasks write hidden files, and send the driver a message each; the driver has the batch merged, again by tasks, shows
it, and commits partitions.  Rules: spec/sink.md.
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

from hudiformat.arguments import checks_arguments, one_or_more
from hudiformat.errors import SchemaError
from hudiformat.sink.coordinator import BatchCommit, Compactor, FileSink
from hudiformat.sink.formats import rows_writer
from hudiformat.sink.layout import Layout, TaskCommit
from hudiformat.sink.options import SinkOptions, parse_sink_options
from hudiformat.sink.partition_commit import CommitPolicy, Extractor, Metastore
from hudiformat.sink.rolling import TaskWriter, file_schema
from hudiformat.spark.errors import reraised
from hudiformat.spark.write.batches import cut_by_rows
from hudiformat.spark.write.schema import arrow_schema
from hudiformat.spark.write.workers import in_task
from hudiformat.storage.opening import open_storage


@dataclass(frozen=True, slots=True)
class Share:
    """What every task of a batch has to know, beside the schema of the rows."""

    path: str
    partition_by: tuple[str, ...]
    options: SinkOptions
    layout: Layout
    event_time: str | None
    lateness: int

    def coordinator(self) -> FileSink:
        """The coordinator of a query that has no session and no objects of its own.

        Raises:
            OptionError: options that contradict each other.
        """
        return FileSink(open_storage(self.path), self.options, layout=self.layout)

    def check(self, schema: pa.Schema) -> None:
        """Raise where rows of *schema* do not fit.

        Raises:
            SchemaError: a column that no file can hold, or one that is asked for is missing.
        """
        rows_writer(file_schema(schema, self.partition_by), self.options)
        column = self.event_time
        is_there = column is not None and schema.get_field_index(column) >= 0
        kind = schema.field(column).type if is_there else None
        if column is not None and (kind is None or not pa.types.is_timestamp(kind)):
            raise SchemaError(
                f"event_time: expected a column of timestamps, found {column!r} of type {kind}", column=column
            )


class FileBatches:
    """Writes the batches of one query; what ``foreachBatch`` takes.  Made by :func:`file_sink`."""

    def __init__(self, share: Share, make_sink: Callable[..., FileSink]) -> None:
        self._share = share
        self._make_sink = make_sink
        self._newest: int | None = None  # not known before what an earlier process left is finished or thrown away

    def __call__(self, df: DataFrame, batch_id: int) -> BatchCommit | None:
        """Write a batch; None where it was written before, and the query was stopped before Spark had recorded that.

        Raises:
            SchemaError: *df* has a column that no file can hold, or lacks one that is asked for.
            HudiFormatError: whatever else stops the batch; the same batch, when it comes again, continues.
        """
        schema = arrow_schema(df.schema)
        self._share.check(schema)
        sink = self._make_sink(run=partial(_run_in_tasks, df.sparkSession))
        if self._newest is None:
            self._newest = sink.recover()
        if batch_id <= self._newest:
            return None
        with reraised(), cut_by_rows(df.sparkSession):
            found = df.mapInArrow(in_task(_write_share, self._share, schema), "message binary").collect()
            messages = [pickle.loads(bytes(row["message"])) for row in found]  # noqa: S301 - of our own tasks
            # An empty batch may have no tasks; it is finished all the same.
            commit = sink.commit(messages or [TaskCommit(None, 0, None, ())], batch=batch_id)
        self._newest = batch_id
        return commit

    def end(self) -> list[str]:
        """Commit the partitions that still wait, when no more batches come; those partitions."""
        return self._make_sink().end()


@checks_arguments
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
    """A sink into Parquet or Avro files under *path*, for ``df.writeStream.foreachBatch``.

    The columns *partition_by* name the folders.  *options* are Flink's keys: spec/sink.md.  *name* identifies queries
    that write into one folder.  *event_time* is the column that gives the watermark of the trigger partition-time: a
    task's is the latest of its batch less *lateness* milliseconds.  *metastore*, *custom* and *extractor* go with the
    options that ask for them.

    Raises:
        OptionError: an unknown option, with the closest known one, a value that it does not take, or options and
            arguments that contradict each other.

    Source: StreamingSink, CompactFileWriter, CompactCoordinator and CompactOperator, Flink 1.20.0.
    """
    columns = tuple(one_or_more(partition_by))
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
    make_sink()  # raises for contradictions
    return FileBatches(share, make_sink)


def _write_share(share: Share, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A task's rows into files; its message."""
    message = write_share(share, schema, batches)
    yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(message)], pa.binary())], names=["message"])


def write_share(
    share: Share, schema: pa.Schema, batches: Iterable[pa.RecordBatch], *, batch: int | None = None
) -> TaskCommit:
    """A task's rows into files; with a *batch* their names say which it is."""
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
    """The latest moment of *column*, in milliseconds since 1970; none where there is none."""
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
