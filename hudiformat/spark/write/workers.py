"""Spark's Python workers, each of which runs one task after another."""

from __future__ import annotations

import gc
import itertools
import os
import re
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from hudiformat.spark.write.task_errors import mark_errors

_DAEMON = "pyspark.daemon"
_FIRST_TASKS = 2
"""Most of the code is imported before the first task; the second begins after a collection of the first's garbage."""

_tasks = itertools.count()

Task = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def in_task(function: Callable[..., Iterator[pa.RecordBatch]], *given: Any) -> Task:
    """Return a function for ``mapInArrow`` that calls *function* with *given* and the batches of a task.

    The worker is prepared first, see :func:`prepare_worker`, and errors are marked for the driver.
    """
    return partial(_run, partial(function, *given))


def _run(task: Task, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    prepare_worker()
    with mark_errors():
        yield from task(batches)


class PreparesWorker:
    """A base class for readers of a data source: unpickling one in a worker prepares the worker.

    The reader is unpickled before the partition arrives that it reads, and Spark calls its methods only after that.
    """

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        prepare_worker()


def prepare_worker() -> None:
    """Prepare a Spark worker when a task begins, so that it does not wait for the kernel or the garbage collector.

    After each task, PySpark's daemon collects garbage, which visits all objects: 50 to 100 ms with this package and its
    libraries, more than a small task takes, and the worker's next task waits for it.  So the objects that exist when
    the first tasks begin are frozen: the collector does not visit them again.  In other processes nothing is done.

    Source: pyspark/daemon.py, the loop of a worker.
    """
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    if main is None or main.name != _DAEMON:
        return
    _acknowledge_at_once()
    if next(_tasks) < _FIRST_TASKS:
        gc.freeze()


def _acknowledge_at_once() -> None:
    """Make Linux acknowledge TCP data from Spark without delay.

    The JVM sends a task's code and then its rows, with Nagle's algorithm: it sends few rows only after the code has
    been acknowledged, and the kernel delays the acknowledgement by 40 ms, as Python has no answer to send yet.  Linux
    resets this option after a while, so each task sets it.  With ``spark.python.unix.domain.socket.enabled``, Spark 4.1
    and later do not need it.

    Source: BasePythonRunner of Spark 4, whose sockets keep the default; SPARK-51667 fixes this for another connection.
    """
    if not hasattr(socket, "TCP_QUICKACK"):  # other systems wait less, or have no such option
        return
    with suppress(OSError):  # /proc may be missing or not readable
        found = _connection_to_spark(os.getpid())
        number = next((each for each, inode in _sockets("self") if inode == found), None)
        if number is not None:
            with socket.socket(fileno=os.dup(number)) as connection:  # the same connection, by another descriptor
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)


@cache
def _connection_to_spark(process: int) -> str | None:  # noqa: ARG001 - one entry per process, as workers are forked
    """Return the inode of this worker's connection to the JVM; None if it is no TCP connection.

    PySpark keeps the connection in local variables, out of reach.  The connection was accepted at a port where the
    daemon, the parent of this process, listens.  With a daemon that listens at port 4242 (hexadecimal 1092)::

        descriptors of the daemon                          5001
        descriptors of the worker                          6001, 6002
        /proc/self/net/tcp  local           state  inode
                            0100007F:1092   0A     5001    the daemon listens
                            0100007F:1092   01     6001    -> the connection to the JVM
                            0100007F:8F0C   01     6002    a connection of somebody's function

    Source: proc(5); pyspark/daemon.py.
    """
    of_daemon = {inode for _, inode in _sockets(str(os.getppid()))}
    own = {inode for _, inode in _sockets("self")}
    tables = (Path("/proc/self/net/tcp"), Path("/proc/self/net/tcp6"))
    lines = [line.split() for table in tables if table.exists() for line in table.read_text("ascii").splitlines()[1:]]
    rows = [(line[_LOCAL], line[_STATE], line[_INODE]) for line in lines]
    ports = {local for local, state, inode in rows if state == _LISTENS and inode in of_daemon}
    return next((inode for local, state, inode in rows if state != _LISTENS and local in ports and inode in own), None)


_LOCAL, _STATE, _INODE, _LISTENS = 1, 3, 9, "0A"
_SOCKET = re.compile(r"socket:\[(\d+)\]")


def _sockets(process: str) -> Iterator[tuple[int, str]]:
    """Yield the socket descriptors of a process with their inodes; the sockets are not touched."""
    for each in Path("/proc", process, "fd").iterdir():
        with suppress(OSError):  # the descriptor is closed by now
            if found := _SOCKET.fullmatch(str(each.readlink())):
                yield int(each.name), found[1]
