"""``hudiformat timeline`` and ``history``: the instants of a table, and what each commit did."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from hudiformat.api.table import open_table
from hudiformat.cli.printing import Column, Table, print_json
from hudiformat.cli.source import json_option
from hudiformat.storage.opening import open_storage
from hudiformat.storage.protocol import Storage
from hudiformat.timeline.archive.archiving import read_archived
from hudiformat.timeline.config_files import load_table_config
from hudiformat.timeline.table_config import TableConfig
from hudiformat.timeline.timeline import Instant, load_timeline

_COLUMNS = (
    Column("instant", 17),
    Column("completed", 17),
    Column("action", 13),
    Column("state", 9),
    Column("archived"),
)
_COMMIT_COLUMNS = (
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
_HISTORY_EPILOG = """\b
Examples:
  hudiformat history TABLE
  hudiformat history TABLE --missing-in COPY
"""
_EPILOG = """\b
Examples:
  hudiformat timeline path/to/table
  hudiformat timeline --archived --json path/to/table | jq 'select(.state != "COMPLETED")'
"""


@click.command(epilog=_EPILOG)
@click.argument("table", type=click.Path())
@click.option("--archived", is_flag=True, help="Begin with the instants that have been archived.")
@json_option
def timeline(table: str, *, archived: bool, as_json: bool) -> int:
    """List the instants of a TABLE by the times at which they were requested, each in its newest state.

    Names in tables of version 6 do not say when an instant was completed.
    """
    storage = open_storage(table)
    config = load_table_config(storage)
    printed = None if as_json else Table(*_COLUMNS)
    for instant, is_archived in _instants(storage, config, archived=archived):
        if printed is None:
            print_json(_as_json(instant, is_archived=is_archived))
        else:
            cells = (instant.time, instant.completion_time, instant.action.value, instant.state.name)
            colour = None if instant.is_completed else "yellow"
            printed.row(*cells, "yes" if is_archived else "", colour=colour)
    return 0


def _instants(storage: Storage, config: TableConfig, *, archived: bool) -> Iterator[tuple[Instant, bool]]:
    """Yield the instants, and whether each is archived; an instant that is on both timelines counts as active."""
    active = load_timeline(storage, config).instants
    times = {(instant.time, instant.action) for instant in active}
    if archived:
        for entry in read_archived(storage, config, contents=False):
            if (entry.instant.time, entry.instant.action) not in times:
                yield entry.instant, True
    for instant in active:
        yield instant, False


def _as_json(instant: Instant, *, is_archived: bool) -> dict[str, Any]:
    return {
        "instant": instant.time,
        "completion_time": instant.completion_time,
        "action": instant.action.value,
        "state": instant.state.name,
        "archived": is_archived,
    }


@click.command(epilog=_HISTORY_EPILOG)
@click.argument("table", type=click.Path())
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="At most so many commits.")
@click.option("--missing-in", "other", metavar="OTHER", help="Only commits that the table OTHER, a copy, has not.")
@json_option
def history(table: str, *, limit: int | None, other: str | None, as_json: bool) -> int:
    """List the commits on the active timeline of a TABLE, the newest first: rows, files and bytes of each.

    With --missing-in, those that a copy of the table has to catch up with: none of them is on its timeline, and none
    is older than its timeline, whose older commits have been archived.
    """
    commits = open_table(table).history().to_pylist()
    if other is not None:
        known = set(open_table(other).history()["instant"].to_pylist())
        first = min(known, default="")
        commits = [one for one in commits if one["instant"] >= first and one["instant"] not in known]
    printed = None if as_json else Table(*_COMMIT_COLUMNS)
    for commit in commits[:limit]:
        if printed is None:
            print_json(commit)
            continue
        seconds = "" if commit["seconds"] is None else f"{commit['seconds']:.1f}"
        printed.row(*(commit[name] for name in ("instant", "action", "operation", *_NUMBERS)), seconds)
    return 0
