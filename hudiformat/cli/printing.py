"""What all commands print with: tables, JSON, lines, warnings, and a progress bar on standard error."""

from __future__ import annotations

import json
import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import click
from rich.cells import cell_len, set_cell_size

from hudiformat.errors import HudiFormatWarning

_LARGE = 64 << 20  # bytes


@contextmanager
def progress_bar(title: str, size: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that takes the bytes done so far; the bar is shown for large files, on a terminal."""
    if size < _LARGE or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415 - it takes a tenth of a second
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415 - only for a bar

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    # Rows are redirected above the bar only if they are printed on a terminal.
    bar = Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=sys.stdout.isatty())
    with bar:
        task = bar.add_task(title, total=size)
        yield lambda done: bar.update(task, completed=done)


WIDE = "hudiformat.wide"
"""The key of the option --wide in the metadata of click's context."""
_BETWEEN = "  "
_NARROWEST = 6
_STEP, _TENTHS_BELOW = 1000, 9.95
_UNITS = ("", "KB", "MB", "GB", "TB", "PB")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, *width* characters wide; a longer value shifts the rest of its row."""

    name: str
    width: int = 0
    right: bool = False
    is_bytes: bool = False
    """Whether the values are bytes, which a terminal shows as 1.2 MB unless the table is wide."""

    def fit(self, text: str) -> str:
        """Return *text*, padded to the width."""
        missing = max(self.width - cell_len(text), 0)
        return " " * missing + text if self.right else text + " " * missing


class Table:
    """A table that prints its heading when it is made and each row when it is added."""

    def __init__(self, *columns: Column, indent: str = "") -> None:
        width = terminal_width()
        self._is_fitted = width is not None
        self._columns = columns if width is None else narrow_columns(columns, width - len(indent))
        self._indent = indent
        self._print([self._text(column, column.name) for column in self._columns], bold=True)

    def row(self, *cells: object, colour: str | None = None, bold: bool = False) -> None:
        """Print a row; None is printed as "-"."""
        texts = [self._text(column, cell) for column, cell in zip(self._columns, cells, strict=False)]
        self._print(texts, colour=colour, bold=bold)

    def _text(self, column: Column, cell: object) -> str:
        if cell is None:
            return "-"
        if not self._is_fitted:
            return printable(str(cell))
        text = format_size(cell) if column.is_bytes and isinstance(cell, int) else printable(str(cell))
        return truncate(text, column.width) if column.width else text

    def _print(self, texts: list[str], *, colour: str | None = None, bold: bool = False) -> None:
        cells = [column.fit(text) for column, text in zip(self._columns, texts, strict=False)]
        print_line(self._indent + _BETWEEN.join(cells).rstrip(), colour=colour, bold=bold)


def narrow_columns(columns: Sequence[Column], width: int) -> tuple[Column, ...]:
    """Narrow the widest columns until all fit into *width* characters; if that is not enough, drop the last ones."""
    found, space = list(columns), len(_BETWEEN)
    while sum(column.width + space for column in found) - space > width:
        widest = max(range(len(found)), key=lambda number: found[number].width)
        if found[widest].width <= _NARROWEST:
            if len(found) == 1:
                break
            found.pop()
            continue
        found[widest] = replace(found[widest], width=found[widest].width - 1)
    return tuple(found)


def terminal_width() -> int | None:
    """Return the number of characters in a line of the terminal; None without a terminal, or with --wide."""
    context = click.get_current_context(silent=True)
    if not sys.stdout.isatty() or (context is not None and context.meta.get(WIDE)):
        return None
    return shutil.get_terminal_size().columns


def format_size(size: int) -> str:
    """Format a number of bytes for people: 999, 1.2 KB, 34 MB."""
    value, unit = float(size), 0
    while abs(value) >= _STEP - 0.5 and unit < len(_UNITS) - 1:
        value, unit = value / _STEP, unit + 1
    if not unit:
        return str(size)
    return f"{value:.1f} {_UNITS[unit]}" if value < _TENTHS_BELOW else f"{value:.0f} {_UNITS[unit]}"


def print_line(text: str, *, colour: str | None = None, bold: bool = False) -> None:
    """Print a line at once; in colour on a terminal, unless NO_COLOR is set."""
    styled = click.style(text, fg=colour, bold=bold) if (colour or bold) and _uses_colour() else text
    sys.stdout.write(f"{styled}\n")
    sys.stdout.flush()


def print_json(value: Mapping[str, Any]) -> None:
    """Print a line of JSON at once, in ASCII, so that it does not depend on the encoding of the output."""
    print_line(json.dumps(value, allow_nan=False))


def warn(message: str) -> None:
    """Print an error on standard error, in one line."""
    sys.stderr.write(f"hudiformat: {printable(' '.join(message.split()))}\n")


@contextmanager
def print_warnings() -> Iterator[None]:
    """Print hudiformat's own warnings that occur in the block, in the form of errors."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", HudiFormatWarning)
        yield
    for warning in caught:
        warn(str(warning.message))


def printable(text: str) -> str:
    """Return *text* in one line without control characters: the content of a file may be anything."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def truncate(text: str, width: int) -> str:
    """Return *text*, truncated if it is wider than *width* characters."""
    return text if cell_len(text) <= width else set_cell_size(text, width - 1) + "…"


def _uses_colour() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
