"""Spark's Python workers, each of which does one task after the other."""

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

from hudiformat.spark.write.raised import marking_errors

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
    with marking_errors():
        yield from task(batches)


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
    acknowledged, and the kernel delays that by 40 ms, as Python has nothing to answer yet.  Linux forgets this option
    after a while, so each task sets it.  Spark 4.1 and later need none of this with
    ``spark.python.unix.domain.socket.enabled``.

    Source: BasePythonRunner of Spark 4, whose sockets keep the default; SPARK-51667 is the same of another connection.
    """
    if not hasattr(socket, "TCP_QUICKACK"):  # other systems wait less, or cannot be told
        return
    with suppress(OSError):  # where there is no /proc, or it is not for us
        found = _connection_to_spark(os.getpid())
        number = next((each for each, inode in _sockets("self") if inode == found), None)
        if number is not None:
            with socket.socket(fileno=os.dup(number)) as connection:  # the same connection by another number
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)


@cache
def _connection_to_spark(process: int) -> str | None:  # noqa: ARG001 - a process that is forked has its own
    """Return the inode of the connection of this worker to the JVM; None if it is not of TCP.

    PySpark keeps the connection in local variables.  It is the one that came in at a port where the daemon, which is
    the parent of this process, listens.  For a worker of a daemon that listens at port 4242 (in hexadecimal 1092)::

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
    """Yield the descriptors of sockets of a process, and their inodes; nothing is done to them."""
    for each in Path("/proc", process, "fd").iterdir():
        with suppress(OSError):  # it is closed by now
            if found := _SOCKET.fullmatch(str(each.readlink())):
                yield int(each.name), found[1]
