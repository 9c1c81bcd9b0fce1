"""Printing: JSON Lines, tables with fixed columns whose rows are printed at once, and warnings."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import click
from rich.cells import cell_len, set_cell_size

from hudiformat.errors import HudiFormatWarning


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, *width* characters wide; a longer value shifts the rest of its row."""

    name: str
    width: int = 0
    right: bool = False

    def fit(self, text: str) -> str:
        """Return *text*, padded to the width."""
        missing = max(self.width - cell_len(text), 0)
        return " " * missing + text if self.right else text + " " * missing


class Table:
    """A table that prints its heading at once and each row as it is added."""

    def __init__(self, *columns: Column, indent: str = "") -> None:
        self._columns = columns
        self._indent = indent
        self._print([column.name for column in columns], bold=True)

    def row(self, *cells: object, colour: str | None = None, bold: bool = False) -> None:
        """Print a row; None is printed as "-"."""
        self._print(["-" if cell is None else printable(str(cell)) for cell in cells], colour=colour, bold=bold)

    def _print(self, texts: list[str], *, colour: str | None = None, bold: bool = False) -> None:
        cells = [column.fit(text) for column, text in zip(self._columns, texts, strict=True)]
        print_line(self._indent + "  ".join(cells).rstrip(), colour=colour, bold=bold)


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
def printed_warnings() -> Iterator[None]:
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


def shortened(text: str, width: int) -> str:
    """Return *text*, truncated if it is wider than *width* characters."""
    return text if cell_len(text) <= width else set_cell_size(text, width - 1) + "…"


def _uses_colour() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
