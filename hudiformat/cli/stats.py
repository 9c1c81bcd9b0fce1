"""``hudiformat stats``: the files and bytes of each partition of a table."""

from __future__ import annotations

from dataclasses import asdict
from itertools import groupby
from typing import Any

import click

from hudiformat.api.stats import SMALL_FILE_LIMIT
from hudiformat.cli.printing import Column, Table, print_json
from hudiformat.cli.slices import newest_slices
from hudiformat.cli.source import json_option
from hudiformat.file_group.slices import SliceTotals

_COLUMNS = (
    Column("partition", 16),
    Column("file groups", 11, right=True),
    Column("base files", 10, right=True),
    Column("small", 6, right=True),
    Column("bytes", 15, right=True, is_bytes=True),
    Column("average", 12, right=True, is_bytes=True),
    Column("log files", 9, right=True),
    Column("bytes", 15, right=True, is_bytes=True),
    Column("logs/base", 9, right=True),
)
_EPILOG = """\b
Examples:
  hudiformat stats TABLE
  hudiformat stats --json TABLE | jq 'select(.partition != null and .log_ratio > 0.5) | .partition'
"""


@click.command(epilog=_EPILOG)
@click.argument("table", type=click.Path())
@click.option("--as-of", metavar="INSTANT", help="As of this instant instead of now.")
@click.option(
    "--small-file-limit",
    type=click.IntRange(min=0),
    default=SMALL_FILE_LIMIT,
    show_default=True,
    help="Base files below so many bytes are small ones.",
)
@json_option
def stats(table: str, *, as_of: str | None, small_file_limit: int, as_json: bool) -> int:
    """Add up the files of a TABLE's newest file slices: a line for each partition, and one for the whole table.

    "logs/base" is bytes of log files per byte of base files.
    """
    printed = None if as_json else Table(*_COLUMNS)
    total = SliceTotals()
    for path, slices in groupby(newest_slices(table, as_of=as_of), key=lambda item: item.partition_path):
        of_partition = SliceTotals.of(slices, small_file_limit=small_file_limit)
        total += of_partition
        _print_totals(printed, path, of_partition)
    _print_totals(printed, None, total)
    return 0


def _print_totals(printed: Table | None, partition: str | None, totals: SliceTotals) -> None:
    if printed is None:
        print_json(_as_json(partition, totals))
        return
    ratio = None if totals.log_ratio is None else f"{totals.log_ratio:.2f}"
    printed.row(
        "all" if partition is None else partition,
        totals.file_groups,
        totals.base_files,
        totals.small_base_files,
        totals.base_bytes,
        totals.average_base_file,
        totals.log_files,
        totals.log_bytes,
        ratio,
        bold=partition is None,
    )


def _as_json(partition: str | None, totals: SliceTotals) -> dict[str, Any]:
    more = {"average_base_file": totals.average_base_file, "log_ratio": totals.log_ratio}
    return {"partition": partition, **asdict(totals), **more}
