"""``hudiformat timeline``: the instants of a table, on request with the archived ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

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
