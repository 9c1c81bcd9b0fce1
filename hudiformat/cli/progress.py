"""A bar on standard error for what takes a while."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_LARGE = 64 << 20  # bytes


@contextmanager
def progress_bar(title: str, size: int) -> Iterator[Callable[[int], None]]:
    """What to call with the bytes that are done of *size*; shown for large files, on a terminal."""
    if size < _LARGE or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415 - a tenth of a second that only large files have
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    # Rows on the same terminal go above the bar; those that go elsewhere have to go there.
    bar = Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=sys.stdout.isatty())
    with bar:
        task = bar.add_task(title, total=size)
        yield lambda done: bar.update(task, completed=done)
