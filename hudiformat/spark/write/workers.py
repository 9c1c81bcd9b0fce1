"""Spark's Python workers, each of which does one task after the other."""

from __future__ import annotations

import gc
import itertools
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
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


class Settling:
    """A reader of a data source, which settles a worker as it arrives there.

    It arrives before what it is to read, for which Spark waits before it calls a method.
    """

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        settle()


def settle() -> None:
    """Make ready a worker of Spark's, as a task begins: nothing waits for the kernel or for the garbage collector.

    After each task of a worker, PySpark's daemon collects garbage, for which it goes through all objects: 50 to 100 ms
    with this package and its libraries, more than a small task takes, and the worker's next task waits for it.  So what
    is there when the first tasks begin is put aside for good.  Elsewhere this does nothing.

    Source: pyspark/daemon.py, the loop of a worker.
    """
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    if main is None or main.name != _DAEMON:
        return
    _acknowledge_at_once()
    if next(_tasks) < _FIRST_TASKS:
        gc.freeze()


def _acknowledge_at_once() -> None:
    """Have Linux acknowledge at once what has come from Spark by TCP.

    The JVM sends a task's code, then its rows, with Nagle's algorithm: it does not send few rows before the code is
    acknowledged, and the kernel delays that by 40 ms, as Python has nothing to answer yet.  PySpark does not say which
    socket is Spark's, so this tells all sockets of the process.

    Source: BasePythonRunner of Spark 4, whose sockets keep the default; SPARK-51667 is the same of another connection.
    """
    if not hasattr(socket, "TCP_QUICKACK"):  # other systems wait less, or cannot be told
        return
    descriptors = Path("/proc/self/fd")
    for each in descriptors.iterdir() if descriptors.exists() else ():
        with suppress(OSError):  # what is no socket, or none of TCP
            connection = socket.socket(fileno=int(each.name))
            try:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
            finally:
                connection.detach()
