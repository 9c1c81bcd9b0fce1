"""The writer of a stream into plain files (PySpark 4.1)."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from hudiformat.spark.files.sink import Share, write_share
from hudiformat.spark.files.source import Written, batch_of_task, rows_of, sink_of
from hudiformat.spark.source.messages import results_of


class FilesWriter(DataSourceStreamArrowWriter):
    """Writes the batches of a stream: a batch that comes again finds that it was written."""

    def __init__(self, share: Share, schema: pa.Schema) -> None:
        self._share = share
        self._schema = schema

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        rows = rows_of(iterator, self._schema)
        return Written(write_share(self._share, self._schema, rows, batch=batch_of_task()))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        commits = [one.commit for one in results_of(messages, Written)]
        sink_of(self._share).commit(commits, batch=batchId)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Leave all files: the batch may be decided, and is finished when it comes again; others go with it then."""
