"""A progress bar on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_LARGE = 64 << 20  # bytes


@contextmanager
def progress_bar(title: str, size: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that takes the bytes done so far; the bar is shown for large files, on a terminal."""
    if size < _LARGE or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415 - it takes a tenth of a second
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    # Rows are redirected above the bar only if they are printed on a terminal.
    bar = Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=sys.stdout.isatty())
    with bar:
        task = bar.add_task(title, total=size)
        yield lambda done: bar.update(task, completed=done)
