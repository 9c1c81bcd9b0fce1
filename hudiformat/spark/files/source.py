"""The file sink as a data source for streams, ``hudiformat-files`` (PySpark 4.1).

Tasks write hidden files, whose names have the number of the batch.  The commit, which Spark runs in a process without a
session, merges them and commits partitions.  Rules: spec/sink.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyspark
from pyspark import TaskContext
from pyspark.sql.datasource import DataSource, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from hudiformat.errors import OptionError, UnsupportedFeatureError
from hudiformat.sink.layout import Layout, TaskCommit
from hudiformat.sink.options import Policy, parse_sink_options
from hudiformat.spark.errors import hide_frames
from hudiformat.spark.files.sink import Share, write_share
from hudiformat.spark.source.messages import results_of
from hudiformat.spark.write.schema import arrow_schema

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

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Keep all files: the batch may be committed already; when Spark repeats it, unused files are deleted."""


def _batch_of_task() -> int | None:
    """Return the number of the batch that this task writes; None if Spark does not tell it."""
    context = TaskContext.get()
    text = None if context is None else context.getLocalProperty(BATCH_ID)
    return int(text) if text is not None and text.isdecimal() else None


PARTITION_BY = "hudiformat.sink.partition.columns"
NAME = "hudiformat.sink.name"
EVENT_TIME = "hudiformat.sink.event.time"
LATENESS = "hudiformat.sink.lateness"

_OURS = (PARTITION_BY, NAME, EVENT_TIME, LATENESS)
_SPARKS_OWN = ("path", "checkpointlocation", "queryname", "outputmode")
_IN_DRIVER = (Policy.METASTORE, Policy.CUSTOM)


class HudiFilesSource(DataSource):
    """The data source ``hudiformat-files``: streams into plain Parquet or Avro files, with Flink's keys.

    Further options: ``hudiformat.sink.partition.columns`` (``"day, hour"``), ``hudiformat.sink.name``,
    ``hudiformat.sink.event.time`` with ``hudiformat.sink.lateness`` (milliseconds).  Policies that need a session or a
    Python object work only with ``hudiformat.spark.file_sink``.
    """

    @classmethod
    def name(cls) -> str:
        return "hudiformat-files"

    @hide_frames
    def streamWriter(self, schema: StructType, overwrite: bool) -> Any:  # noqa: FBT001, N802 - Spark's
        if overwrite:
            raise UnsupportedFeatureError(
                "output mode: expected append, found complete; use outputMode('append')", feature="output mode complete"
            )
        try:
            from hudiformat.spark.files.source import FilesWriter  # noqa: PLC0415 - PySpark 4.1
        except ImportError as error:
            raise UnsupportedFeatureError(
                f"expected PySpark 4.1 or later for hudiformat-files, found {pyspark.__version__}; "
                "use hudiformat.spark.file_sink in foreachBatch",
                feature=f"hudiformat-files on PySpark {pyspark.__version__}",
            ) from error
        share, rows = share_of(dict(self.options)), arrow_schema(schema)
        share.check(rows)
        return FilesWriter(share, rows)


def share_of(given: Mapping[str, str]) -> Share:
    """Parse the options of a query.

    Raises:
        OptionError: there is no path, or an option is unknown or has a bad value.
        UnsupportedFeatureError: a policy needs a session, or a Python object.
    """
    path, lateness = given.get("path"), given.get(LATENESS) or "0"
    if path is None:
        raise OptionError("path: expected the path of a folder, found none; name it with start(path)", option="path")
    if not lateness.isdecimal():
        raise OptionError(f"{LATENESS}: expected milliseconds, found {lateness!r}", option=LATENESS)
    columns = tuple(name.strip() for name in (given.get(PARTITION_BY) or "").split(",") if name.strip())
    own = {key: value for key, value in given.items() if key not in (*_OURS, *_SPARKS_OWN)}
    options = parse_sink_options(own)
    for policy in _IN_DRIVER:
        if policy in options.policies:
            raise UnsupportedFeatureError(
                "expected a policy that needs no session in the data source hudiformat-files, "
                f"found {policy.value}; use foreachBatch(hudiformat.spark.file_sink(path, "
                f"options=..., {policy.value}=...))",
                feature=f"policy {policy.value} of the data source hudiformat-files",
            )
    layout = Layout(given.get(NAME) or "default")
    share = Share(path, columns, options, layout, given.get(EVENT_TIME), int(lateness))
    share.coordinator()  # raises an OptionError if options contradict each other
    return share
