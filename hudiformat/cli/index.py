"""``hudiformat index``: the indexes of a table's metadata table, building and dropping them."""

from __future__ import annotations

import click

from hudiformat.api.reading import context_of
from hudiformat.api.table import open_table
from hudiformat.cli.printing import print_json, print_line, print_warnings, progress_bar
from hudiformat.cli.source import json_option, key_and_value
from hudiformat.progress import BarOfEach
from hudiformat.services.indexing import create_index

_EPILOG = """\b
Examples:
  hudiformat index TABLE
  hudiformat index TABLE --create column_stats --columns price,day
  hudiformat index TABLE --create record_index
  hudiformat index TABLE --drop bloom_filters
  hudiformat index TABLE --drop record_index --dependents
"""


@click.command(epilog=_EPILOG)
@click.argument("table", type=click.Path())
@click.option("--create", "created", metavar="NAME", help="Build this index for the rows that are there.")
@click.option("--columns", default="", metavar="A,B", help="The columns of column_stats; the default is the first 32.")
@click.option("--drop", "dropped", metavar="NAME", help="Drop this index.")
@click.option("--dependents", is_flag=True, help="Drop the secondary indexes too that need record_index.")
@click.option("-o", "--option", "options", multiple=True, metavar="KEY=VALUE", help="One of Hudi's options.")
@json_option
def index(
    table: str,
    *,
    created: str | None,
    columns: str,
    dropped: str | None,
    dependents: bool,
    options: tuple[str, ...],
    as_json: bool,
) -> int:
    """Show the indexes of a TABLE; with --create build one, with --drop drop one.

    Indexes are files, which is the metadata table with its list of files, column_stats, partition_stats,
    bloom_filters and record_index.  What an index needs is built first.  Secondary and expression indexes can be
    dropped, by the names of their partitions or by those that Spark SQL made them with.
    """
    if created and dropped:
        raise click.UsageError("expected --create or --drop, found both")
    if columns and not created:
        raise click.UsageError("expected --create column_stats with --columns")
    if dependents and not dropped:
        raise click.UsageError("expected --drop record_index with --dependents")
    opened = open_table(table, options=dict(map(key_and_value, options)))
    before = context_of(opened).state().config.metadata_partitions
    # A warning is that the metadata table is dropped.
    with print_warnings(), BarOfEach(progress_bar, "building") as progress:
        if created:
            names = [name.strip() for name in columns.split(",") if name.strip()]
            create_index(context_of(opened), created, columns=names, progress=progress)
        if dropped:
            opened.drop_index(dropped, dependents=dependents)
    now = context_of(opened).state().config.metadata_partitions
    if as_json:
        print_json({"indexes": list(now), "before": list(before)})
        return 0
    for name in sorted({*now, *before}):
        print_line(f"{name}{_change(name, before, now)}")
    if not (now or before):
        print_line("no indexes")
    return 0


def _change(name: str, before: tuple[str, ...], now: tuple[str, ...]) -> str:
    if name not in before:
        return ": built"
    return "" if name in now else ": dropped"
