"""How Spark hands rows to Python and shuffles them: settings of the session, while a write needs them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from threading import Lock

import pyarrow as pa
from pyspark.sql import SparkSession

_LIMIT = "spark.sql.execution.arrow.maxBytesPerBatch"
_NO_LIMIT = str(2**31 - 1)

_TASKS_PER_CORE, _ROWS_OF_A_TASK = 4, 250_000
_GATHERED_AT_ONCE = 4 * 1024 * 1024
"""Bytes of rows that are worked on at once: the more, the fewer calls."""


@contextmanager
def cut_by_rows(spark: SparkSession) -> Iterator[None]:
    """Have Spark cut batches by the number of their rows alone, unless the session limits their bytes.

    From Spark 4.1 on it asks after each row how many bytes the batch has by now, which takes as long as adding the row.
    """
    is_ours = spark.conf.get(_LIMIT, None) is None
    if is_ours:
        spark.conf.set(_LIMIT, _NO_LIMIT)
    try:
        yield
    finally:
        if is_ours:
            spark.conf.unset(_LIMIT)


class _Borrowed:
    """Settings of sessions that writes have changed, and how many writes at the moment; the last one restores them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._users: dict[int, tuple[int, dict[str, str | None]]] = {}

    def take(self, spark: SparkSession, settings: Mapping[str, str]) -> None:
        with self._lock:
            users, before = self._users.get(id(spark), (0, {}))
            if not users:
                before = {key: spark.conf.get(key, None) for key in settings}
                for key, value in settings.items():
                    spark.conf.set(key, value)
            self._users[id(spark)] = users + 1, before

    def give_back(self, spark: SparkSession) -> None:
        with self._lock:
            users, before = self._users.pop(id(spark))
            if users > 1:
                self._users[id(spark)] = users - 1, before
                return
            for key, value in before.items():
                if value is None:
                    spark.conf.unset(key)
                else:
                    spark.conf.set(key, value)


_BORROWED = _Borrowed()


@contextmanager
def planned_once(spark: SparkSession, rows: int) -> Iterator[None]:
    """Have Spark plan the shuffles of about so many *rows* beforehand: one job then, and not one for each shuffle.

    Writes of several threads share a session, and the first of them decides.
    """
    most = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    tasks = max(_TASKS_PER_CORE * tasks_at_once(spark), min(most, rows // _ROWS_OF_A_TASK))
    _BORROWED.take(spark, {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": str(tasks)})
    try:
        yield
    finally:
        _BORROWED.give_back(spark)


def gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """*batches*, joined or cut to those of about ``_GATHERED_AT_ONCE`` bytes; none is empty."""
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in chain.from_iterable(map(_cut, batches)):
        waiting.append(batch)
        size += batch.nbytes
        if size >= _GATHERED_AT_ONCE:
            yield from joined(waiting)
            waiting, size = [], 0
    if waiting:
        yield from joined(waiting)


def _cut(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    rows = max(batch.num_rows * _GATHERED_AT_ONCE // max(batch.nbytes, 1), 1)
    return (batch.slice(start, rows) for start in range(0, batch.num_rows, rows))


def joined(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """*batches* as one, or none where there are no rows."""
    if not batches:
        return
    yield from (batch for batch in pa.Table.from_batches(batches).combine_chunks().to_batches() if batch.num_rows)


def tasks_at_once(spark: SparkSession) -> int:
    """How many tasks Spark has at a time; with Spark Connect, where nobody says, how many a shuffle has."""
    context = getattr(spark, "sparkContext", None)
    if context is not None:
        return int(context.defaultParallelism)
    return int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
