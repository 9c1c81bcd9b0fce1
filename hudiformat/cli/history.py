"""``hudiformat history``: what each commit of a table did."""

from __future__ import annotations

import click

from hudiformat.api.table import open_table
from hudiformat.cli.printing import Column, Table, print_json
from hudiformat.cli.source import json_option

_COLUMNS = (
    Column("instant", 17),
    Column("action", 13),
    Column("operation", 22),
    Column("inserted", 10, right=True),
    Column("updated", 10, right=True),
    Column("deleted", 10, right=True),
    Column("files", 6, right=True),
    Column("bytes", 14, right=True, is_bytes=True),
    Column("seconds", 8, right=True),
)
_NUMBERS = ("inserted", "updated", "deleted", "files", "bytes")


@click.command()
@click.argument("table", type=click.Path())
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="At most so many commits.")
@json_option
def history(table: str, *, limit: int | None, as_json: bool) -> int:
    """List the commits on the active timeline of a TABLE, the newest first: rows, files and bytes of each."""
    printed = None if as_json else Table(*_COLUMNS)
    for commit in open_table(table).history().to_pylist()[:limit]:
        if printed is None:
            print_json(commit)
            continue
        seconds = "" if commit["seconds"] is None else f"{commit['seconds']:.1f}"
        printed.row(*(commit[name] for name in ("instant", "action", "operation", *_NUMBERS)), seconds)
    return 0
