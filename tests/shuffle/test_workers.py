"""Spark's Python workers, whose imported code is kept from the garbage collector."""

from __future__ import annotations

import ast
import gc
import itertools
import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import hudiformat
from hudiformat.shuffle import in_task, settle, workers

pytest.importorskip("pyspark.sql")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(hudiformat.__file__).parent
MODULES = [path for path in sorted(ROOT.rglob("*.py")) if ".mapInArrow(" in path.read_text()]


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
        settle()
    assert [looked_at(things) for things in kept] == [False, False, True, True]


def test_elsewhere_nothing_is_put_aside() -> None:
    kept: list[object] = [[]]
    settle()
    assert looked_at(kept)


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
