"""Spark's Python workers, each of which does one task after the other."""

from __future__ import annotations

import gc
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa

_DAEMON = "pyspark.daemon"
_FIRST_TASKS = 2
"""The first imports most of the code, before it begins; the second begins after a collection of what the first left."""

_tasks = itertools.count()

Task = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def in_task(function: Callable[..., Iterator[pa.RecordBatch]], *given: Any) -> Task:
    """What ``mapInArrow`` takes: *function*, called with *given* and the batches of a task; see :func:`settle`."""
    return partial(_run, partial(function, *given))


def _run(task: Task, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    settle()
    return task(batches)


def settle() -> None:
    """Keep Python's garbage collector away from imported code; to be called as a task begins.

    After each task of a worker, PySpark's daemon collects garbage, for which it goes through all objects: 50 to 100 ms
    with this package and its libraries, more than a small task takes, and the worker's next task waits for it.  So what
    is there when the first tasks begin is put aside for good.  Elsewhere this does nothing.

    Source: pyspark/daemon.py, the loop of a worker.
    """
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    if main is not None and main.name == _DAEMON and next(_tasks) < _FIRST_TASKS:
        gc.freeze()
