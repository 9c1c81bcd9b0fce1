"""``hudiformat show``: the plan and the metadata of one instant, whatever its action."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from hudiformat.cli.printing import Column, Table, print_json, print_line, printable
from hudiformat.cli.source import json_option
from hudiformat.errors import ArgumentError
from hudiformat.storage.opening import open_storage
from hudiformat.storage.protocol import Storage
from hudiformat.timeline.archive.archiving import read_archived
from hudiformat.timeline.config_files import load_table_config
from hudiformat.timeline.contents import content_record, read_content
from hudiformat.timeline.table_config import TableConfig
from hudiformat.timeline.timeline import Instant, Timeline, list_instants

_INDENT = "  "
_FEW = 6
"""So many texts are one cell of a table; more of them are a line each."""
_EPILOG = """\b
Examples:
  hudiformat show path/to/table 20261121060123455
  hudiformat show --json path/to/table 20261121060123455 | jq '.metadata.operationType'
  hudiformat show path/to/table/.hoodie/metadata 20261121060123455
"""


@click.command(epilog=_EPILOG)
@click.argument("table", type=click.Path())
@click.argument("instant")
@json_option
def show(table: str, instant: str, *, as_json: bool) -> int:
    """Show what the files of an INSTANT of a TABLE say: its plan, and what was done.

    INSTANT is the time at which it was requested or completed; archived ones are found, too.  Fields have Hudi's names;
    those that are null or empty are left out, but for --json.
    """
    storage = open_storage(table)
    config = load_table_config(storage)
    for found in _find(storage, config, instant):
        if as_json:
            print_json(found.as_json())
        else:
            found.print()
    return 0


@dataclass(frozen=True, slots=True)
class _Shown:
    """An instant in its newest state, with its plan and its metadata as records of JSON, None for empty files."""

    instant: Instant
    is_archived: bool
    plan: Mapping[str, Any] | None
    metadata: Mapping[str, Any] | None

    def as_json(self) -> dict[str, Any]:
        return {
            "instant": self.instant.time,
            "completion_time": self.instant.completion_time,
            "action": self.instant.action.value,
            "state": self.instant.state.name,
            "archived": self.is_archived,
            "plan": self.plan,
            "metadata": self.metadata,
        }

    def print(self) -> None:
        completed = f" at {self.instant.completion_time}" if self.instant.completion_time else ""
        archived = ", archived" if self.is_archived else ""
        state = f"{self.instant.state.name}{completed}{archived}"
        print_line(f"{self.instant.time}  {self.instant.action.value}  {state}", bold=True)
        for title, record in (("plan", self.plan), ("metadata", self.metadata)):
            if record:
                print_line(title, bold=True)
                _print_record(record, _INDENT)


def _find(storage: Storage, config: TableConfig, time: str) -> Sequence[_Shown]:
    """Return all instants that were requested or completed at *time*.

    Raises:
        ArgumentError: there is none.
    """
    files = list_instants(storage, config.timeline_folder, layout=config.layout_version)
    active = [one for one in Timeline.of_sorted(files).instants if time in (one.time, one.completion_time)]
    if active:
        return [_of_files(storage, config, one, [file for file in files if _is_of(file, one)]) for one in active]
    entries = read_archived(storage, config)
    archived = [
        _Shown(
            entry.instant,
            is_archived=True,
            plan=None if entry.plan is None else content_record(entry.plan),
            metadata=None if entry.metadata is None else content_record(entry.metadata),
        )
        for entry in entries
        if time in (entry.instant.time, entry.instant.completion_time)
    ]
    if archived:
        return archived
    times = sorted(one.time for one in (*files, *(entry.instant for entry in entries)))
    near = times[max(bisect_right(times, time) - 1, 0) :]
    raise ArgumentError(
        f"expected an instant of the table {config.name!r}, found {time!r}"
        + (f"; {near[0]} is one, and hudiformat timeline --archived lists all" if near else "; it has none yet")
    )


def _is_of(file: Instant, instant: Instant) -> bool:
    return file.sort_key[:2] == instant.sort_key[:2]


def _of_files(storage: Storage, config: TableConfig, instant: Instant, files: Sequence[Instant]) -> _Shown:
    """Read the oldest and the newest file of an instant: a requested one holds the plan, the last one the metadata."""
    contents = [read_content(storage, config, file) for file in (files[0], instant)]
    plan, metadata = [None if content is None else content_record(content) for content in contents]
    if len(files) == 1 and instant.is_completed:  # as savepoints, which have no plan
        plan = None
    elif len(files) == 1:
        metadata = None
    return _Shown(instant, is_archived=False, plan=plan, metadata=metadata)


def _print_record(record: Mapping[str, Any], indent: str) -> None:
    """Print the fields of a record that have a value."""
    for name, value in record.items():
        if _is_empty(value):
            continue
        if not isinstance(value, Mapping | list):
            print_line(f"{indent}{name}: {printable(str(value))}")
            continue
        print_line(f"{indent}{printable(name)}:")
        if rows := list(_rows_of(value)):
            _print_rows(rows, indent + _INDENT)
        elif isinstance(value, Mapping):
            _print_record(value, indent + _INDENT)
        else:
            _print_items(value, indent + _INDENT)


def _print_items(items: Sequence[Any], indent: str) -> None:
    for number, item in enumerate(items, 1):
        if isinstance(item, Mapping):
            print_line(f"{indent}{number}:")
            _print_record(item, indent + _INDENT)
        else:
            print_line(f"{indent}{printable(str(item))}")


def _is_empty(value: object) -> bool:
    return value is None or (isinstance(value, str | Mapping | list) and not value)


def _rows_of(value: Mapping[str, Any] | list[Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table: the records of a list, or those of a mapping, with their key in front.

    Nothing is yielded if the values are no records of one kind, or if a field of them takes more than a cell.
    """
    by_key = value if isinstance(value, Mapping) else {"": value}
    if not all(isinstance(items, list) for items in by_key.values()):
        by_key = {key: [items] for key, items in by_key.items()}
    records = [(key, record) for key, items in by_key.items() for record in items]
    if not all(isinstance(record, Mapping) and all(map(_is_cell, record.values())) for _, record in records):
        return
    if len({tuple(record) for _, record in records}) > 1 and not isinstance(value, list):
        return
    for key, record in records:
        yield {"": key, **{name: _cell(item) for name, item in record.items()}}


def _is_cell(value: object) -> bool:
    """Return whether *value* is a text, a number, or a few of them."""
    if not isinstance(value, Mapping | list):
        return True
    inner = value.values() if isinstance(value, Mapping) else value
    return len(value) <= _FEW and not any(isinstance(item, Mapping | list) for item in inner)


def _cell(value: Any) -> Any:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={item}" for key, item in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else value


def _print_rows(rows: Sequence[Mapping[str, Any]], indent: str) -> None:
    """Print a table of the columns that have a value other than 0 in some row."""
    names = [name for name in dict.fromkeys(name for row in rows for name in row) if any(row.get(name) for row in rows)]
    columns = []
    for name in names:
        values = [row.get(name) for row in rows]
        width = max(len(name), *(len(str(value)) for value in values))
        columns.append(Column(name, width, right=all(isinstance(value, int | None) for value in values)))
    printed = Table(*columns, indent=indent)
    for row in rows:
        printed.row(*("" if row.get(name) is None else row[name] for name in names))
