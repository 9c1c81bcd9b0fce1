"""``hudiformat slices``: the newest file slice of each file group of a table."""

from __future__ import annotations

from typing import Any

import click

from hudiformat.api.table import open_table
from hudiformat.cli.printing import Column, Table, print_json, print_warnings
from hudiformat.cli.source import json_option
from hudiformat.errors import OptionError, suggest_names
from hudiformat.file_group.slices import BaseFile, FileSlice, LogFile

_COLUMNS = (
    Column("partition", 16),
    Column("file id", 38),
    Column("instant", 17),
    Column("base file", 12, right=True, is_bytes=True),
    Column("log files", 9, right=True),
    Column("size", 12, right=True, is_bytes=True),
)
_EPILOG = """\b
Examples:
  hudiformat slices TABLE
  hudiformat slices --partition 2026/01 --as-of 20260101000000000 TABLE
  hudiformat slices --json TABLE | jq -r '.log_files[].name'
"""


@click.command(epilog=_EPILOG)
@click.argument("table", type=click.Path())
@click.option("--partition", metavar="PATH", help='Only this partition path; "" in a table without partitions.')
@click.option("--as-of", metavar="INSTANT", help="As of this instant instead of now.")
@json_option
def slices(table: str, *, partition: str | None, as_of: str | None, as_json: bool) -> int:
    """List the newest file slice of each file group of a TABLE, which is what a query reads.

    Sizes are bytes: of the base file, and of the whole slice.  Files are listed by the table's metadata table where it
    has one.
    """
    listed = newest_slices(table, partition=partition, as_of=as_of)
    rows = None if as_json else Table(*_COLUMNS)
    for file_slice in listed:
        if rows is None:
            print_json(_as_json(file_slice))
        else:
            base = file_slice.base_file.size if file_slice.base_file else None
            rows.row(
                file_slice.partition_path,
                file_slice.file_id,
                file_slice.base_instant,
                base,
                len(file_slice.log_files),
                file_slice.size,
            )
    return 0


def newest_slices(table: str, *, partition: str | None = None, as_of: str | None = None) -> list[FileSlice]:
    """Return the newest file slices of the table at the path *table*; warnings are printed on standard error."""
    with print_warnings():  # such as a metadata table that cannot be read
        opened = open_table(table)
        found = opened.file_slices(partition, as_of=as_of)
        if partition is not None and not found:
            known = {one.partition_path for one in opened.file_slices(as_of=as_of)}
            hint = suggest_names(partition, known) or "; `hudiformat stats` lists them"
            raise OptionError(f"--partition: expected a partition of the table, found {partition!r}{hint}")
        return found


def _as_json(file_slice: FileSlice) -> dict[str, Any]:
    return {
        "partition": file_slice.partition_path,
        "file_id": file_slice.file_id,
        "instant": file_slice.base_instant,
        "base_file": None if file_slice.base_file is None else _file(file_slice.base_file),
        "log_files": [_file(log) for log in file_slice.log_files],
        "size": file_slice.size,
    }


def _file(file: BaseFile | LogFile) -> dict[str, Any]:
    return {"name": str(file.name), "size": file.size}
