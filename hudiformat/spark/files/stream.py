"""The writer of a stream into plain files (PySpark 4.1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from hudiformat.sink.layout import TaskCommit
from hudiformat.spark.errors import brief
from hudiformat.spark.files.sink import Share, write_share
from hudiformat.spark.source.messages import results_of

BATCH_ID = "streaming.sql.batchId"
"""The local property of Spark's tasks that has the number of a stream's batch."""


@dataclass
class Written(WriterCommitMessage):
    """What a task has written."""

    commit: TaskCommit


class FilesWriter(DataSourceStreamArrowWriter):
    """Writes the batches of a stream: a batch that comes again finds that it was written."""

    def __init__(self, share: Share, schema: pa.Schema) -> None:
        self._share = share
        self._schema = schema

    @brief
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        rows = (batch.select(self._schema.names) for batch in iterator)
        return Written(write_share(self._share, self._schema, rows, batch=_batch_of_task()))

    @brief
    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        commits = [one.commit for one in results_of(messages, Written)]
        self._share.coordinator().commit(commits, batch=batchId)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Leave all files: the batch may be decided, and is finished when it comes again; others go with it then."""


def _batch_of_task() -> int | None:
    """The batch that this task writes."""
    context = TaskContext.get()
    text = None if context is None else context.getLocalProperty(BATCH_ID)
    return int(text) if text is not None and text.isdecimal() else None
