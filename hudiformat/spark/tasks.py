"""What a task tells the driver, and what it calls itself."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
from pyspark import TaskContext

from hudiformat.naming import WriteToken
from hudiformat.table import decode_write_stats, encode_write_stats
from hudiformat.timeline import WriteStat

QUERY_ID = "sql.streaming.queryId"
"""The local property that has the id of a stream's query, which it keeps when it is started again."""


def write_token() -> WriteToken:
    """The write token of the task that this process runs: no two attempts share one."""
    task = TaskContext.get()
    if task is None:
        return WriteToken(0, 0, 0)
    return WriteToken(task.partitionId(), task.stageId(), task.taskAttemptId())


def encode_stats(stats: Iterable[WriteStat]) -> pa.RecordBatch:
    """One row, one column: the statistics of a task's files."""
    return pa.RecordBatch.from_arrays([pa.array([encode_write_stats(stats)], pa.binary())], names=["stats"])


def decode_stats(data: bytes) -> tuple[WriteStat, ...]:
    """The statistics out of :func:`encode_stats`."""
    return decode_write_stats(bytes(data))
