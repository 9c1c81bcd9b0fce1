"""``hudiformat diff``: the rows and files that two moments of a table differ in."""

from __future__ import annotations

from typing import Any

import click

from hudiformat.api.table import open_table
from hudiformat.cli.printing import format_size, print_json, print_line, print_warnings, printable
from hudiformat.cli.rows import rows_of
from hudiformat.cli.source import json_option

_EPILOG = """\b
Examples:
  hudiformat diff TABLE 20261121060123455
  hudiformat diff TABLE 20261121060123455 20261122060123455
  hudiformat diff --json TABLE 2026-11-21 | jq 'select(.op == "d") | .before'
"""
_SIGNS = {"i": ("+", "green"), "d": ("-", "red"), "u": ("~", "yellow")}


@click.command(epilog=_EPILOG)
@click.argument("table", type=click.Path())
@click.argument("first")
@click.argument("second", required=False)
@click.option(
    "--limit", type=click.IntRange(min=0), default=20, show_default=True, help="The most rows that are listed."
)
@json_option
def diff(table: str, first: str, second: str | None, *, limit: int, as_json: bool) -> int:
    """Show what a TABLE as of the SECOND instant, or now, has and had not as of the FIRST one.

    Rows are matched by partition path and record key: + new, - gone, ~ changed, with the columns that differ.  Files
    are those that queries read.  With --json all rows are printed, each with its columns before and after.
    """
    with print_warnings():
        found = open_table(table).diff(first, second)
    rows, files = found.rows, found.files
    if as_json:
        for one in (rows, files):
            for batch in one.to_batches():
                for row in rows_of(batch):
                    print_json(row)
        return 0
    ops = rows["op"].to_pylist()
    print_line(f"rows: {ops.count('i')} new, {ops.count('u')} changed, {ops.count('d')} gone", bold=True)
    for batch in rows.slice(0, limit).to_batches():
        for row in rows_of(batch):
            sign, colour = _SIGNS[row["op"]]
            print_line(f"{sign} {printable(_text(row))}", colour=colour)
    if rows.num_rows > limit:
        print_line(f"and {rows.num_rows - limit} more (--limit)")
    print_line(f"files: {files.num_rows}", bold=True)
    for file in files.to_pylist():
        sign, colour = _SIGNS["i" if file["change"] == "added" else "d"]
        print_line(f"{sign} {file['path']}  {format_size(file['size'])}", colour=colour)
    return 0


def _text(row: dict[str, Any]) -> str:
    before, after = row["before"], row["after"]
    if before is None or after is None:
        return ", ".join(f"{name}={value}" for name, value in (before or after).items())
    same = [f"{name}={value}" for name, value in after.items() if before.get(name) == value]
    changed = [f"{name}: {before.get(name)} -> {value}" for name, value in after.items() if before.get(name) != value]
    return f"{', '.join(same)}  {', '.join(changed)}"
