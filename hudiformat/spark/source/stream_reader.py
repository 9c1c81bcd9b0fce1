"""A table as a stream: the rows that were written, or the changes, after one completion time and up to another.

An offset is the completion time of a commit.  So a stream stops and continues between commits, and does not miss a
commit that began early and completed late.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxFiles, SupportsTriggerAvailableNow

from hudiformat.api.reading import context_of
from hudiformat.errors import OptionError
from hudiformat.read.incremental import Span, completion_times
from hudiformat.spark.errors import hide_frames, hide_iterator_frames
from hudiformat.spark.options import QUERY, START, SourceOptions
from hudiformat.spark.read.pieces import pieces_within, read_pieces
from hudiformat.spark.read.tasks import UNKNOWN_TASKS, share_out
from hudiformat.spark.write.workers import PreparesWorker

_STREAMED = ("incremental", "cdc")
_OFFSET = "completed"
_EARLIEST, _LATEST = "earliest", "latest"
_BEFORE_ALL = "000"


class HudiStreamReader(PreparesWorker, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The reader of a table as a stream; a batch has at most ``maxCommitsPerTrigger`` commits."""

    def __init__(self, options: SourceOptions, target: pa.Schema) -> None:
        if options.get(QUERY) is not None and options.query not in _STREAMED:
            raise OptionError(
                f"{QUERY}: expected {' or '.join(_STREAMED)} for a stream, found {options.query}", option=QUERY
            )
        self._options = options
        self._target = target
        self._last: str | None = None

    @hide_frames
    def initialOffset(self) -> dict[str, str]:  # noqa: N802 - Spark's names
        start = self._options.get(START) or _EARLIEST
        if start == _EARLIEST:
            return {_OFFSET: _BEFORE_ALL}
        if start == _LATEST:
            return {_OFFSET: self._newest() or _BEFORE_ALL}
        return {_OFFSET: Span.of(self._options.table().config, start, None).begin}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        # Spark has no limit for commits; the limit for files is used, and counts commits here.
        limit = self._options.commits_per_batch
        return ReadAllAvailable() if limit is None else ReadMaxFiles(limit)

    @hide_frames
    def latestOffset(self, start: dict[str, str], limit: ReadLimit) -> dict[str, str]:  # noqa: N802 - Spark's name
        times = completion_times(context_of(self._options.table()).state(), after=start[_OFFSET])
        if self._last is not None:
            times = [time for time in times if time <= self._last]
        if isinstance(limit, ReadMaxFiles):
            times = times[: limit.max_files]
        return {_OFFSET: times[-1]} if times else start

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        self._last = self._newest() or _BEFORE_ALL

    def reportLatestOffset(self) -> dict[str, str] | None:  # noqa: N802 - Spark's name
        newest = self._newest()
        return None if newest is None else {_OFFSET: newest}

    @hide_frames
    def partitions(self, start: dict[str, str], end: dict[str, str]) -> Sequence[InputPartition]:
        if start == end:
            return []
        found = pieces_within(self._options, Span(start[_OFFSET], end[_OFFSET]), self._target.names)
        return [InputPartition(one) for one in share_out(found, UNKNOWN_TASKS)]

    @hide_iterator_frames
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_pieces(partition.value or [], self._target)

    def _newest(self) -> str | None:
        return max(completion_times(context_of(self._options.table()).state(), after=_BEFORE_ALL), default=None)
