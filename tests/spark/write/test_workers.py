"""Spark's Python workers, whose imported code is kept from the garbage collector."""

from __future__ import annotations

import ast
import copy
import gc
import itertools
import os
import re
import socket
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import hudiformat
from hudiformat.spark.write import workers
from hudiformat.spark.write.workers import PreparesWorker, in_task, prepare_worker

pytest.importorskip("pyspark.sql")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(hudiformat.__file__).parent
MODULES = [path for path in sorted(ROOT.rglob("*.py")) if ".mapInArrow(" in path.read_text()]
SPARKS_READERS = {"DataSourceReader", "DataSourceStreamReader"}
READERS = [
    path
    for path in sorted(ROOT.rglob("*.py"))
    if re.search(r"^class .*\bDataSource(Stream)?Reader\b", path.read_text(), re.MULTILINE)
]


class Reader(PreparesWorker):
    """What it reads."""

    def __init__(self, what: str) -> None:
        self.what = what


@pytest.fixture
def in_worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This process seems to be a worker that has had no task yet."""
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", ModuleSpec("pyspark.daemon", None), raising=False)
    monkeypatch.setattr(workers, "_tasks", itertools.count())
    yield
    gc.unfreeze()


def looked_at(things: list[object]) -> bool:
    """Whether the garbage collector goes through *things*: it does so until they are put aside."""
    return any(each is things for each in gc.get_objects())


@pytest.mark.usefixtures("in_worker")
def test_what_is_there_as_the_first_two_tasks_begin_is_put_aside() -> None:
    kept: list[list[object]] = []
    for _ in range(4):
        kept.append([[]])
        prepare_worker()
    assert [looked_at(things) for things in kept] == [False, False, True, True]


def test_elsewhere_nothing_is_put_aside() -> None:
    kept: list[object] = [[]]
    prepare_worker()
    assert looked_at(kept)


def connected() -> tuple[socket.socket, socket.socket]:
    """The two ends of a connection, of which the first delays its acknowledgements, as after an answer."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        here = socket.create_connection(server.getsockname())
        there, _ = server.accept()
    here.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
    return here, there


def quick(connection: socket.socket) -> bool:
    return bool(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK))


LINUX = pytest.mark.skipif(not hasattr(socket, "TCP_QUICKACK"), reason="only Linux can be told to acknowledge at once")


@contextmanager
def accepted(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a connection that came in where the daemon listens.

    This process plays both parts: as the daemon it has nothing but the socket that listens, for the process of tests
    may have others that listen, as Py4J's.
    """
    of_process = workers._sockets
    workers._connection_to_spark.cache_clear()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def sockets(process: str) -> Iterator[tuple[int, str]]:
            is_daemon = process == str(os.getppid())
            return (one for one in of_process("self") if not is_daemon or one[0] == server.fileno())

        monkeypatch.setattr(workers, "_sockets", sockets)
        there = socket.create_connection(server.getsockname())
        here, _ = server.accept()
        with here, there:
            here.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
            there.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
            yield here, there
    workers._connection_to_spark.cache_clear()


@LINUX
@pytest.mark.usefixtures("in_worker")
def test_what_spark_sends_is_acknowledged_at_once_and_other_connections_stay_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of_somebody, far = connected()
    with accepted(monkeypatch) as (here, there), of_somebody, far:
        for _ in range(2):  # each task
            here.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
            prepare_worker()
            assert [quick(one) for one in (here, there, of_somebody)] == [True, False, False]
        there.sendall(b"rows")
        assert here.recv(4) == b"rows"


@LINUX
@pytest.mark.usefixtures("in_worker")
def test_a_worker_whose_daemon_listens_nowhere_is_left_alone() -> None:
    """As with a socket of the file system, or where the parent is of another user."""
    workers._connection_to_spark.cache_clear()
    here, there = connected()
    with here, there:
        prepare_worker()
        assert not quick(here)
    workers._connection_to_spark.cache_clear()


@LINUX
@pytest.mark.usefixtures("in_worker")
def test_a_reader_settles_the_worker_that_it_arrives_in(monkeypatch: pytest.MonkeyPatch) -> None:
    with accepted(monkeypatch) as (here, _):
        assert copy.copy(Reader("rows")).what == "rows"
        assert quick(here)


def seen_in_task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    list(batches)
    found = workers._connection_to_spark(os.getpid())
    there = [inode for _, inode in workers._sockets("self")]
    yield pa.record_batch({"found": [found in there]})


@LINUX
def test_a_task_knows_the_connection_of_its_worker_to_spark(spark: SparkSession) -> None:
    if spark.conf.get("spark.python.unix.domain.socket.enabled", "false") == "true":
        pytest.skip("the connection is not of TCP")
    assert spark.range(1).mapInArrow(in_task(seen_in_task), "found boolean").first() == (True,)


@pytest.mark.parametrize("path", READERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_reader_does(path: Path) -> None:
    classes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef)]
    bases = [[ast.unparse(base) for base in each.bases] for each in classes]
    found = [each for each in bases if set(each) & SPARKS_READERS]
    assert found
    assert all(each[0] == "PreparesWorker" for each in found)


@LINUX
def test_elsewhere_connections_stay_as_they_are() -> None:
    here, there = connected()
    with here, there:
        prepare_worker()
        assert not quick(here)


@pytest.mark.usefixtures("in_worker")
def test_systems_that_cannot_be_told_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(socket, "TCP_QUICKACK", raising=False)
    monkeypatch.setattr(workers, "_sockets", None)
    prepare_worker()
    assert next(workers._tasks) == 1  # the task was counted, and goes on


def frozen(name: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    list(batches)
    yield pa.record_batch({name: [gc.get_freeze_count()]})


def test_a_task_puts_aside_what_its_worker_has_imported(spark: SparkSession) -> None:
    rows = spark.range(0, 4, 1, 2).mapInArrow(in_task(frozen, "n"), "n long").collect()
    assert len(rows) == 2
    assert min(row[0] for row in rows) > 10_000


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_task_is_begun_so(path: Path) -> None:
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    given = [node.args[0] for node in calls if isinstance(node.func, ast.Attribute) and node.func.attr == "mapInArrow"]
    assert given
    for one in given:
        made = isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id == "in_task"
        assert made or (isinstance(one, ast.Name) and f"{one.id} = in_task(" in path.read_text())
