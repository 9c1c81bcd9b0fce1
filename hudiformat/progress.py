"""How far a long call is: what it tells, and the bar that a notebook shows of it.

A call that takes long tells a function how much is done.  Who shows that is the caller's choice: the command line has
bars of its own on a terminal, and what users call from Python shows a bar in notebooks alone, once it has taken a
second.  ``HUDIFORMAT_PROGRESS=0`` in the environment turns bars of notebooks off.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias, cast

from hudiformat.notebook import show_progress

Progress: TypeAlias = Callable[[int], None]
"""A function that is told how much is done, in bytes or in whatever the size is in."""
Bar: TypeAlias = Callable[[int], AbstractContextManager[Progress]]
"""A function of the size of all there is to do; its context gives the function that is told what is done."""

_HIDDEN = 1.0
"""Seconds for which no bar is shown."""
_BETWEEN = 0.2
"""Seconds between two looks of a bar: each is a message to the browser."""


@contextmanager
def no_bar(_size: int) -> Iterator[Progress]:
    """Yield a function that shows nothing."""
    yield lambda _: None


@contextmanager
def notebook_bar(title: str, size: int) -> Iterator[Progress]:
    """Yield a function that takes what is done of *size*; in a notebook a bar is shown, and goes at the end."""
    display = _display_of_notebook()
    if display is None or size <= 0 or os.environ.get("HUDIFORMAT_PROGRESS") == "0":
        yield lambda _: None
        return
    bar = NotebookBar(title, size, display)
    try:
        yield bar.show
    finally:
        bar.clear()


class NotebookBar:
    """A bar in the output of a notebook's cell; *display* is IPython's function, *clock* gives seconds."""

    def __init__(
        self, title: str, size: int, display: Callable[..., Any], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._title = title
        self._size = size
        self._display = display
        self._clock = clock
        self._next = clock() + _HIDDEN
        self._shown: Any = None

    def show(self, done: int) -> None:
        """Show that *done* is done, unless the bar was shown just before."""
        if (now := self._clock()) < self._next:
            return
        self._next = now + _BETWEEN
        look = _Look(self._title, min(done / self._size, 1.0))
        if self._shown is None:
            self._shown = self._display(look, display_id=True)
        else:
            self._shown.update(look)

    def clear(self) -> None:
        """Leave nothing of the bar."""
        if self._shown is not None:
            self._shown.update(_Look())


@dataclass(frozen=True, slots=True)
class _Look:
    """What a bar looks like at one moment; without a title, nothing."""

    title: str = ""
    part: float = 0.0

    def __repr__(self) -> str:
        return f"{self.title}: {self.part:.0%}" if self.title else ""

    def _repr_html_(self) -> str:
        return show_progress(self.title, self.part) if self.title else ""


class BarOfEach:
    """A bar for each of several things that are done one after the other; at the end of the block the last one goes."""

    def __init__(self, bar: Callable[[str, int], AbstractContextManager[Progress]], title: str) -> None:
        self._bar = bar
        self._title = title
        self._open = ExitStack()
        self._name = ""
        self._show: Progress = lambda _: None

    def __enter__(self) -> BarOfEach:
        return self

    def __exit__(self, *_exc_info: object) -> None:
        self._open.close()

    def __call__(self, name: str, done: int, total: int) -> None:
        """Show that *done* of *total* is done of the thing *name*."""
        if name != self._name:
            self._open.close()
            self._name, self._show = name, self._open.enter_context(self._bar(f"{self._title} {name}", total))
        self._show(done)


def _display_of_notebook() -> Callable[..., Any] | None:
    """Return IPython's function that displays values, if this is the process of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or getattr(shell, "kernel", None) is None:  # IPython on a terminal has none
        return None
    return cast("Callable[..., Any]", import_module("IPython.display").display)
