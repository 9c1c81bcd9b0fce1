"""The parts that values show themselves with in notebooks: HTML without scripts, dark where the notebook is dark.

A value has a method ``_repr_html_``, which JupyterLab, VS Code and others call.  It passes plain texts and numbers to
:func:`show`; everything is escaped here.  Colours go with a dark notebook as with a light one, and are written as plain
numbers: of a notebook that somebody else has run, JupyterLab takes out styles with ``var()`` or ``color-mix()``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from hudiformat.numbers import size_text

_MOST_ROWS = 20
_MOST_CHARACTERS = 300
_LINE = "1px solid rgba(128, 128, 128, 0.3)"
_CELL = f"padding:2px 12px 2px 0;border:0;border-bottom:{_LINE};vertical-align:top;background:none"
_COLOURS = ("#4c8bc9", "#d08a2e")
_WIDTH = 160
"""Pixels of the longest bar of sizes."""
_LONG = 300
"""Pixels of a bar of progress."""


@dataclass(frozen=True, slots=True)
class Size:
    """A number of bytes, shown as 1.2 MB."""

    count: int

    def __str__(self) -> str:
        return size_text(self.count)


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar with a part for each of ``sizes``, such as the bytes of base files and of log files, of ``of`` at most."""

    sizes: tuple[int, ...]
    of: int


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows below their ``columns``; the first twenty are shown, and the number of the others, which may be ``more``."""

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    title: str = ""
    more: int = 0


def show(title: str, facts: Mapping[str, object], *tables: Rows) -> str:
    """Return the HTML of a value: its *title*, *facts* about it by their names, and *tables*; None is left out."""
    known = {name: value for name, value in facts.items() if value is not None and value != ""}
    facts_html = "".join(f"<tr>{_cell(name, is_faint=True)}{_cell(_text(value))}</tr>" for name, value in known.items())
    parts = [f'<div style="font-weight:600;margin:4px 0">{escape(_text(title))}</div>']
    parts += [_table(facts_html)] if facts_html else []
    parts += [_rows(one) for one in tables if one.rows]
    return f'<div style="overflow-x:auto;line-height:1.5">{"".join(parts)}</div>'


def show_progress(title: str, part: float) -> str:
    """Return the HTML of a bar of which a *part*, from 0 to 1, is done."""
    full, left = round(_LONG * part), _LONG - round(_LONG * part)
    spans = "".join(
        f'<span style="display:inline-block;height:10px;width:{width}px;background-color:{colour}"></span>'
        for width, colour in ((full, _COLOURS[0]), (left, "rgba(128, 128, 128, 0.3)"))
    )
    return f'<div style="white-space:nowrap">{escape(title)} {spans} {part:.0%}</div>'


def show_error(title: str, error: Exception) -> str:
    """Return the HTML of a value that cannot be looked at: a notebook would show the whole traceback."""
    return show(title, {"error": error})


def _rows(table: Rows) -> str:
    shown = table.rows[:_MOST_ROWS]
    left = len(table.rows) - len(shown) + table.more
    heads = "".join(
        f'<th style="{_CELL};font-weight:600;text-align:{_side(shown[0][number])}">{escape(name)}</th>'
        for number, name in enumerate(table.columns)
    )
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in shown)
    title = f'<div style="margin:8px 0 2px;opacity:.7">{escape(table.title)}</div>' if table.title else ""
    more = f'<div style="opacity:.7">… and {left:,} more</div>' if left else ""
    return title + _table(f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody>") + more


def _table(content: str) -> str:
    return f'<table style="border-collapse:collapse;margin:0 0 6px;border:0;font-size:inherit">{content}</table>'


def _side(value: object) -> str:
    return "right" if isinstance(value, int | float | Size) else "left"


def _cell(value: object, *, is_faint: bool = False) -> str:
    side = _side(value)
    style = f"{_CELL};text-align:{side}{';white-space:nowrap' * (side == 'right')}{';opacity:.7' * is_faint}"
    if isinstance(value, Bar):
        return f'<td style="{style}">{_bar(value)}</td>'
    return f'<td style="{style}">{escape(_text(value))}</td>'


def _text(value: object) -> str:
    text = "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
    return text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 1] + "…"


def _bar(bar: Bar) -> str:
    widths = [round(_WIDTH * size / max(bar.of, 1)) for size in bar.sizes]
    widths = [max(width, 1) if size else 0 for width, size in zip(widths, bar.sizes, strict=True)]
    parts = zip(widths, _COLOURS, strict=False)
    spans = "".join(
        f'<span style="display:inline-block;height:10px;width:{w}px;background-color:{c}"></span>' for w, c in parts
    )
    label = " + ".join(str(Size(size)) for size in bar.sizes)
    return f'<span title="{label}" style="white-space:nowrap">{spans}</span>'
