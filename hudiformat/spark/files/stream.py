"""The writer of a stream into plain files (PySpark 4.1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from hudiformat.sink.layout import TaskCommit
from hudiformat.spark.errors import hide_frames
from hudiformat.spark.files.sink import Share, write_share
from hudiformat.spark.source.messages import results_of

BATCH_ID = "streaming.sql.batchId"
"""The local property of Spark's tasks that holds the number of a stream's batch."""


@dataclass
class Written(WriterCommitMessage):
    """The message of a task: the files that it has written."""

    commit: TaskCommit


class FilesWriter(DataSourceStreamArrowWriter):
    """The writer of a stream's batches; a batch that Spark repeats is written once."""

    def __init__(self, share: Share, schema: pa.Schema) -> None:
        self._share = share
        self._schema = schema

    @hide_frames
    def write(  # type: ignore[override]  # a writer of Arrow is given batches
        self, iterator: Iterator[pa.RecordBatch]
    ) -> WriterCommitMessage:
        rows = (batch.select(self._schema.names) for batch in iterator)
        return Written(write_share(self._share, self._schema, rows, batch=_batch_of_task()))

    @hide_frames
    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        commits = [one.commit for one in results_of(messages, Written)]
        self._share.coordinator().commit(commits, batch=batchId)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Keep all files: the batch may be committed already; when Spark repeats it, unused files are deleted."""


def _batch_of_task() -> int | None:
    """Return the number of the batch that this task writes; None if Spark does not tell it."""
    context = TaskContext.get()
    text = None if context is None else context.getLocalProperty(BATCH_ID)
    return int(text) if text is not None and text.isdecimal() else None
