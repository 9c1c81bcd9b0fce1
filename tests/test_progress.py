"""Bars in notebooks: when they are shown, what they look like, and what calls show them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hudiformat as hf
from hudiformat import progress
from hudiformat.progress import BarOfEach, NotebookBar, notebook_bar
from tests.tables import new_table, rows


@dataclass
class Cell:
    """What a notebook shows: the looks of its one output, each in place of the one before."""

    looks: list[str] = field(default_factory=list)

    def display(self, value: Any, *, display_id: bool) -> Cell:
        assert display_id
        assert self.looks == []
        self.update(value)
        return self

    def update(self, value: Any) -> None:
        self.looks.append(repr(value))
        assert ("<div" in value._repr_html_()) == bool(repr(value))


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> Cell:
    """The output of the cell that runs, as in a notebook; bars are shown at once."""
    shown = Cell()
    ipython, display = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    display.display = shown.display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setattr(progress, "_HIDDEN", -1.0)
    monkeypatch.setattr(progress, "_BETWEEN", -1.0)
    monkeypatch.delenv("HUDIFORMAT_PROGRESS", raising=False)
    return shown


def test_a_bar_waits_a_second_changes_five_times_a_second_and_goes() -> None:
    shown, now = Cell(), [0.0]
    bar = NotebookBar("reading", 200, shown.display, clock=lambda: now[0])
    for second in (0.5, 1.0, 1.1, 1.25, 9.0):
        now[0] = second
        bar.show(round(second * 20))
    assert shown.looks == ["reading: 10%", "reading: 12%", "reading: 90%"]
    bar.show(500)
    now[0] = 10.0
    bar.show(500)
    bar.clear()
    assert shown.looks[3:] == ["reading: 100%", ""]
    quick = Cell()
    NotebookBar("reading", 200, quick.display).clear()
    assert quick.looks == []


@pytest.mark.parametrize("shell", [None, SimpleNamespace()])
def test_there_is_no_bar_outside_of_a_notebook(cell: Cell, monkeypatch: pytest.MonkeyPatch, shell: object) -> None:
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: shell, raising=False)
    with notebook_bar("reading", 2) as done:
        done(1)
    assert cell.looks == []


def test_a_variable_of_the_environment_turns_bars_off(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUDIFORMAT_PROGRESS", "0")
    with notebook_bar("reading", 2) as done:
        done(1)
    assert cell.looks == []


def test_a_bar_goes_when_the_call_fails(cell: Cell) -> None:
    def call() -> None:
        with notebook_bar("reading", 2) as done:
            done(1)
            done(1 // 0)

    with pytest.raises(ZeroDivisionError):
        call()
    assert cell.looks == ["reading: 50%", ""]


def test_each_of_several_things_has_its_bar() -> None:
    cells: dict[str, Cell] = {}

    def bar(title: str, size: int) -> Any:
        cells[title] = Cell()
        return _shown(title, size, cells[title])

    with BarOfEach(bar, "building") as done:
        done("a", 1, 2)
        done("a", 2, 2)
        done("b", 1, 4)
    assert cells["building a"].looks == ["building a: 50%", "building a: 100%", ""]
    assert cells["building b"].looks == ["building b: 25%", ""]


class _shown:  # noqa: N801 - a context, written as a function's name is
    def __init__(self, title: str, size: int, cell: Cell) -> None:
        ticks = iter(range(2, 100))
        self._bar = NotebookBar(title, size, cell.display, clock=lambda: float(next(ticks)))

    def __enter__(self) -> Callable[[int], None]:
        return self._bar.show

    def __exit__(self, *_: object) -> None:
        self._bar.clear()


def test_verify_and_create_index_show_bars_in_a_notebook(cell: Cell, tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "y", 2)))
    assert table.verify() == []
    assert cell.looks[-2:] == ["verifying: 100%", ""]
    cell.looks.clear()
    table.report()
    assert cell.looks[-2:] == ["verifying: 100%", ""]
    cell.looks.clear()
    table.create_index("column_stats", columns="v")
    assert cell.looks[-2:] == ["building column_stats: 100%", ""]


def test_adoptions_log_files_and_simulations_show_bars_in_a_notebook(cell: Cell, tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options={"hoodie.index.type": "INMEMORY"})
    table.insert(rows(("a", 1, "x", 1)))
    [log] = [Path(table.path, name) for name in table.files() if ".log." in name]
    assert hf.verify_log(log) == []
    assert cell.looks == ["verifying: 100%", ""]
    cell.looks.clear()
    hf.adopt(_folder_of_parquet(tmp_path / "plain"), record_key="id")
    assert cell.looks[-2:] == ["adopting: 100%", ""]
    cell.looks.clear()
    hf.salvage(log, tmp_path / "intact.log")
    assert cell.looks == ["salvaging: 100%", ""]
    cell.looks.clear()
    hf.simulate(hf.Workload(commits=3))
    assert cell.looks[-2:] == ["simulating: 100%", ""]


def _folder_of_parquet(folder: Path) -> Path:
    folder.mkdir()
    pq.write_table(pa.table({"id": ["a", "b"]}), folder / "a.parquet")
    return folder
