"""What commands print: tables, values as JSON, rows, commits, findings, and a progress bar."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any

import click
import pyarrow as pa
import pyarrow.types as pat
from rich.cells import cell_len, set_cell_size

from hudiformat.codec.log.verify import LogFinding
from hudiformat.errors import HudiFormatWarning
from hudiformat.naming.file_names import base_name
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.write.commit.transaction import Commit

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


Row = dict[str, Any]
_STEP = 1000  # rows that are converted at a time


def rows_of(batch: pa.RecordBatch) -> Iterator[Row]:
    """Yield the rows of *batch* as dictionaries by column name."""
    names = batch.schema.names
    converters = [_converter(kind) for kind in batch.schema.types]
    text_types = [_with_strings(kind) for kind in batch.schema.types]
    for start in range(0, batch.num_rows, _STEP):
        arrays = [column.slice(start, _STEP).cast(kind) for column, kind in zip(batch.columns, text_types, strict=True)]
        columns = [map(convert, array.to_pylist()) for convert, array in zip(converters, arrays, strict=True)]
        if not columns:
            yield from ({} for _ in range(min(_STEP, batch.num_rows - start)))
        for values in zip(*columns, strict=True):
            yield dict(zip(names, values, strict=True))


def _with_strings(kind: pa.DataType) -> pa.DataType:
    """Return *kind* with strings for types that Arrow formats better: Python has no year 10000 and no nanoseconds."""
    if pat.is_temporal(kind) or pat.is_decimal(kind):
        return pa.string()
    if pat.is_list(kind):
        return pa.list_(_with_strings_field(kind.value_field))
    if pat.is_map(kind):
        return pa.map_(kind.key_field, _with_strings_field(kind.item_field))
    if pat.is_struct(kind):
        return pa.struct([_with_strings_field(field) for field in kind])
    return kind


def _with_strings_field(field: pa.Field) -> pa.Field:
    return pa.field(field.name, _with_strings(field.type))  # nullable, because all fields of a null struct are null


def _converter(kind: pa.DataType) -> Callable[[Any], Any]:
    """Return the function that converts a Python value of this Arrow type to a JSON value."""
    convert: Callable[[Any], Any]
    if pat.is_floating(kind):
        convert = _number
    elif pat.is_binary(kind) or pat.is_large_binary(kind) or pat.is_fixed_size_binary(kind):
        convert = bytes.hex
    elif pat.is_list(kind):
        convert = _list_of(_converter(kind.value_type))
    elif pat.is_map(kind):
        convert = _map_of(_converter(kind.item_type))
    elif pat.is_struct(kind):
        convert = _struct_of({field.name: _converter(field.type) for field in kind})
    else:
        return lambda value: value
    return lambda value: None if value is None else convert(value)


def _number(value: float) -> float | str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def _list_of(item: Callable[[Any], Any]) -> Callable[[list[Any]], list[Any]]:
    return lambda values: [item(value) for value in values]


def _map_of(item: Callable[[Any], Any]) -> Callable[[list[tuple[str, Any]]], Row]:
    return lambda pairs: {key: item(value) for key, value in pairs}


def _struct_of(items: dict[str, Callable[[Any], Any]]) -> Callable[[Row], Row]:
    return lambda values: {name: items[name](value) for name, value in values.items()}


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


_MAX_WIDTH = 40
_META = "_hoodie_"
_MEASURED = 100  # rows that determine the widths of the columns


def print_rows(rows: Iterator[Row], *, mark: str | None = None, indent: str = "") -> int:
    """Print *rows* one by one, with long values truncated, and return their number.

    A *mark* is printed in front of each row, and the row is in colour.
    """
    head = list(islice(rows, _MEASURED))
    if not head:
        return 0
    marks = [] if mark is None else [mark]
    hidden = _columns_to_hide(head[0])
    head = [_without(row, hidden) for row in head]
    widths = [max(cell_len(text) for text in (name, *(_cell(row[name]) for row in head))) for name in head[0]]
    named = [Column(printable(name), width) for name, width in zip(head[0], widths, strict=True)]
    table = Table(*(Column("", len(text)) for text in marks), *named, indent=indent)
    count = 0
    rest = (_without(row, hidden) for row in rows)
    for count, row in enumerate(chain(head, rest), 1):  # noqa: B007 - the last one is the number
        table.row(*marks, *map(_cell, row.values()), colour="yellow" if marks else None)
    return count


def _columns_to_hide(row: Row) -> frozenset[str]:
    """Return the columns to hide: the meta fields, on a terminal without --wide, if there are other columns."""
    meta = frozenset(name for name in row if name.startswith(_META))
    return meta if terminal_width() is not None and len(meta) < len(row) else frozenset()


def _without(row: Row, hidden: frozenset[str]) -> Row:
    return {name: value for name, value in row.items() if name not in hidden} if hidden else row


def _cell(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return truncate(printable(text), _MAX_WIDTH)


_FILES = (Column("partition", 16), Column("file", 76), Column("records", 9, right=True), Column("size", 12, right=True))


def print_commit(commit: Commit, *, as_json: bool) -> None:
    """Print a commit and the files that it wrote."""
    if as_json:
        instant = {"instant": commit.instant, "action": commit.action}
        counts = {"writes": commit.num_writes, "deletes": commit.num_deletes}
        print_json({**instant, **counts, "files": [_as_json(stat) for stat in commit.stats]})
        return
    print_line(f"{commit.instant} {commit.action}: {commit.num_writes} written, {commit.num_deletes} deleted")
    table = Table(*_FILES)
    for stat in commit.stats:
        name = base_name(stat.path or "")
        table.row(stat.partition_path, name, stat.num_writes, stat.file_size_in_bytes)


def _as_json(stat: WriteStat) -> dict[str, Any]:
    return {"path": stat.path, "records": stat.num_writes, "size": stat.file_size_in_bytes}


_COLUMNS = (
    Column("kind", 13),
    Column("offset", 12, right=True),
    Column("length", 11, right=True),
    Column("type", 12),
    Column("instants", 17),
    Column("message"),
)


class FindingTable:
    """A table of findings, whose heading is printed with the first finding."""

    def __init__(self) -> None:
        self._table: Table | None = None

    def row(self, finding: LogFinding) -> None:
        """Print a finding."""
        self._table = self._table or Table(*_COLUMNS)
        kind = finding.type.name if finding.type is not None else None
        instants = ",".join(finding.instants) or None
        self._table.row(finding.kind.value, finding.offset, finding.length, kind, instants, finding.message)


def finding_as_json(finding: LogFinding) -> dict[str, Any]:
    """Return a finding as a JSON object."""
    return {
        "kind": finding.kind.name,
        "offset": finding.offset,
        "length": finding.length,
        "type": finding.type.name if finding.type is not None else None,
        "instants": list(finding.instants),
        "message": finding.message,
    }
