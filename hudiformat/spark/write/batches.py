"""Settings of the session for how Spark sends rows to Python and shuffles them, changed while a write runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain
from threading import Lock
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

_LIMIT = "spark.sql.execution.arrow.maxBytesPerBatch"
_NO_LIMIT = str(2**31 - 1)

_LISTING_TASKS = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
_TASKS_PER_CORE, _ROWS_OF_A_TASK = 4, 250_000
GATHERED_AT_ONCE = 4 * 1024 * 1024
"""Bytes of rows that one call works on; larger batches need fewer calls."""


@dataclass
class _Loan:
    """A setting of a session that one or more writes have changed; it is restored when the last of them ends."""

    session: Any
    key: str
    before: str | None
    value: str
    users: int = 1


class _Loans:
    """The settings of sessions that writes have changed.

    A session is identified by its object in the JVM, or with Spark Connect by its id: Python has several objects for
    one session, such as the one of a data frame and the one of each batch of a stream.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._loans: list[_Loan] = []

    def acquire(self, spark: SparkSession, key: str, value: str, *, only_unset: bool) -> bool:
        """Change a setting and return whether it must be restored; with several writes, the first sets the value."""
        session = _identity(spark)
        with self._lock:
            if (loan := self._find(session, key)) is not None:
                loan.users += 1
                return True
            before = spark.conf.get(key, None)
            if only_unset and before is not None:
                return False
            spark.conf.set(key, value)
            self._loans.append(_Loan(session, key, before, value))
            return True

    def release(self, spark: SparkSession, key: str) -> None:
        """Restore a setting after its last use, unless somebody else has changed it in the meantime."""
        with self._lock:
            loan = self._find(_identity(spark), key)
            if loan is None:
                return
            loan.users -= 1
            if loan.users:
                return
            self._loans.remove(loan)
            if spark.conf.get(key, None) != loan.value:
                return
            if loan.before is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, loan.before)

    def _find(self, session: Any, key: str) -> _Loan | None:
        return next((loan for loan in self._loans if loan.key == key and loan.session == session), None)


def _identity(spark: SparkSession) -> Any:
    """Return a value that is equal for all Python objects of one session; it keeps the session alive."""
    session = getattr(spark, "_jsparkSession", None)
    return getattr(spark, "session_id", spark) if session is None else session


_LOANS = _Loans()


@contextmanager
def _change_settings(spark: SparkSession, settings: Mapping[str, str], *, only_unset: bool = False) -> Iterator[None]:
    """Change settings of the session while the block runs."""
    with ExitStack() as stack:
        for key, value in settings.items():
            if _LOANS.acquire(spark, key, value, only_unset=only_unset):
                stack.callback(_LOANS.release, spark, key)
        yield


@contextmanager
def limit_batches_by_rows(spark: SparkSession) -> Iterator[None]:
    """Make Spark limit batches by their number of rows only, unless the session sets a limit of bytes.

    From 4.1 on, Spark computes the bytes of a batch after each row, which takes as long as adding the row.
    """
    with _change_settings(spark, {_LIMIT: _NO_LIMIT}, only_unset=True):
        yield


@contextmanager
def plan_shuffles_once(spark: SparkSession, rows: int) -> Iterator[None]:
    """Make Spark plan shuffles of about *rows* rows before it runs them: one job, instead of one for each shuffle.

    Writes of several threads may share a session; the first of them sets the values.
    """
    most = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    tasks = max(_TASKS_PER_CORE * tasks_at_once(spark), min(most, rows // _ROWS_OF_A_TASK))
    with _change_settings(spark, {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": str(tasks)}):
        yield


@contextmanager
def list_files_by_few_tasks(spark: SparkSession) -> Iterator[None]:
    """Make Spark look at the files of a data frame by some tasks for each core; without this, by a task for each file.

    Source: org.apache.spark.util.HadoopFSUtils.parallelListLeafFiles, which runs a job for more than 32 paths.
    """
    tasks = min(int(spark.conf.get(_LISTING_TASKS) or 1), _TASKS_PER_CORE * tasks_at_once(spark))
    with _change_settings(spark, {_LISTING_TASKS: str(tasks)}):
        yield


def regroup_batches(batches: Iterable[pa.RecordBatch], *, at_once: int = GATHERED_AT_ONCE) -> Iterator[pa.RecordBatch]:
    """Yield *batches*, joined or cut to batches of about *at_once* bytes; none is empty."""
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in chain.from_iterable(_cut(batch, at_once) for batch in batches):
        waiting.append(batch)
        size += batch.nbytes
        if size >= at_once:
            yield from concat_batches(waiting)
            waiting, size = [], 0
    if waiting:
        yield from concat_batches(waiting)


def _cut(batch: pa.RecordBatch, at_once: int) -> Iterator[pa.RecordBatch]:
    rows = max(batch.num_rows * at_once // max(batch.nbytes, 1), 1)
    return (batch.slice(start, rows) for start in range(0, batch.num_rows, rows))


def concat_batches(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield *batches* joined into one batch; yield nothing if there are no rows."""
    if not batches:
        return
    yield from (batch for batch in pa.Table.from_batches(batches).combine_chunks().to_batches() if batch.num_rows)


def tasks_at_once(spark: SparkSession) -> int:
    """Return how many tasks Spark runs at a time.

    With Spark Connect, which does not tell this, return the number of tasks of a shuffle.
    """
    context = getattr(spark, "sparkContext", None)
    if context is not None:
        return int(context.defaultParallelism)
    return int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
