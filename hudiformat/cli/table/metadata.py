"""``hudiformat metadata``: what the metadata table of a table has."""

from __future__ import annotations

from collections.abc import Iterator

import click

from hudiformat.api.reading import context_of
from hudiformat.api.table import open_table
from hudiformat.cli.printing import Column, Table, print_json
from hudiformat.cli.source import json_option
from hudiformat.errors import OptionError, TableError, suggest_names
from hudiformat.file_group.slices import SliceTotals
from hudiformat.metadata_table.kinds.files import FILES
from hudiformat.metadata_table.listing import listing
from hudiformat.table.state import TableState
from hudiformat.timeline.config_files import METADATA_FOLDER

_STATS = (
    Column("partition", 24),
    Column("base files", 10, right=True),
    Column("bytes", 15, right=True, is_bytes=True),
    Column("log files", 9, right=True),
    Column("bytes", 15, right=True, is_bytes=True),
)
_FILES = (Column("partition", 16), Column("file", 76), Column("size", 12, right=True, is_bytes=True))
_table = click.argument("table", type=click.Path())


@click.group(epilog="\b\nExamples:\n  hudiformat metadata stats TABLE\n  hudiformat metadata list-files TABLE")
def metadata() -> None:
    """Look into the metadata table of a table: its own files, and the files that it lists."""


@metadata.command()
@_table
@json_option
def stats(table: str, *, as_json: bool) -> int:
    """Add up the files of the metadata table of a TABLE: a line for each of its partitions.

    With --json the numbers have Hudi's names.
    """
    state = _state(table)
    printed = None if as_json else Table(*_STATS)
    own = open_table(f"{table.rstrip('/')}/{METADATA_FOLDER}")
    for name in sorted(state.config.metadata_partitions):
        totals = SliceTotals.of(own.file_slices(name), small_file_limit=0)
        if printed is not None:
            printed.row(name, totals.base_files, totals.base_bytes, totals.log_files, totals.log_bytes)
            continue
        print_json(
            {
                "partition": name,
                "totalBaseFileSizeInBytes": totals.base_bytes,
                "totalLogFileSizeInBytes": totals.log_bytes,
                "baseFileCount": totals.base_files,
                "logFileCount": totals.log_files,
            }
        )
    return 0


@metadata.command("list-files")
@_table
@click.option("--partition", metavar="PATH", help='Only this partition path; "" in a table without partitions.')
@json_option
def list_files(table: str, *, partition: str | None, as_json: bool) -> int:
    """List the files that the metadata table of a TABLE knows, also those of writes that are not committed."""
    printed = None if as_json else Table(*_FILES)
    for path, name, size in _listed(_state(table), partition):
        if printed is None:
            print_json({"partition": path, "file": name, "size": size})
        else:
            printed.row(path, name, size)
    return 0


def _state(table: str) -> TableState:
    """Return the state of a table that has a metadata table.

    Raises:
        TableError: it has none.
    """
    state = context_of(open_table(table)).state()
    if FILES not in state.config.metadata_partitions:
        raise TableError(f"{table}: the table has no metadata table; hudiformat index TABLE --create files builds it")
    return state


def _listed(state: TableState, partition: str | None) -> Iterator[tuple[str, str, int]]:
    found = listing(state.storage, state.config, state.timeline)
    paths = found.partitions()
    if partition is not None and partition not in paths:
        hint = suggest_names(partition, paths)
        raise OptionError(f"--partition: expected a partition that the metadata table lists, found {partition!r}{hint}")
    for path in paths if partition is None else [partition]:
        yield from ((path, file.name, file.size) for file in found.files(path))
