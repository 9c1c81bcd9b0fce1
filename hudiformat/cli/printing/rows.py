"""Print rows as a table, whose column widths are determined by the first rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

from rich.cells import cell_len

from hudiformat.cli.printing.output import Column, Table, printable, terminal_width, truncate
from hudiformat.cli.printing.values import Row

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
