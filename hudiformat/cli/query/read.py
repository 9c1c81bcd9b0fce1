"""``hudiformat read``: print the rows of a table, or write them to a file."""

from __future__ import annotations

import click
import pyarrow as pa

from hudiformat.api.table import Table as HudiTable
from hudiformat.api.table import open_table
from hudiformat.cli.files import Batches, format_option
from hudiformat.cli.printing import print_warnings
from hudiformat.cli.query.output import show_rows
from hudiformat.cli.source import json_option, key_and_value, split
from hudiformat.file_group.damage import DamageMode

_QUERIES = ("snapshot", "read_optimized", "incremental", "cdc")
_EVER = "000"
_DAMAGE = "hudiformat.damage"
_EPILOG = """\b
Examples:
  hudiformat read --columns id,fare --limit 10 TABLE
  hudiformat read --where "city = 'chennai' and fare > 10" TABLE
  hudiformat read --query incremental --begin 20260101000000000 --json TABLE
  hudiformat read --as-of 2026-01-01 -o january.parquet TABLE
  hudiformat read -o - --format arrow TABLE | other-program
"""


@click.command(epilog=_EPILOG)
@click.argument("table", type=click.Path())
@click.option("--query", type=click.Choice(_QUERIES), default="snapshot", show_default=True, help="What to ask for.")
@click.option("--as-of", metavar="MOMENT", help="The rows as of an instant, a date or a datetime.")
@click.option("--begin", metavar="MOMENT", help="Changes after this moment; without it, all there are.")
@click.option("--end", metavar="MOMENT", help="Changes up to this moment.")
@click.option("--columns", callback=split, metavar="A,B", help="Only these columns, in this order.")
@click.option("--where", metavar="CONDITION", help="Only rows for which this is true, such as \"p = 'x' and v > 0\".")
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="At most so many rows.")
@click.option(
    "-o", "--output", type=click.Path(), metavar="FILE", help="Write to a file, or with - to standard output."
)
@format_option("the file")
@click.option(
    "--damage",
    type=click.Choice([mode.value for mode in DamageMode]),
    default=DamageMode.HUDI.value,
    show_default=True,
    help="What to do about damage: as Hudi; fail; or skip it all and warn of what is lost.",
)
@click.option("--option", "options", multiple=True, metavar="KEY=VALUE", help="One of Hudi's options.")
@json_option
def read(
    table: str,
    *,
    query: str,
    as_of: str | None,
    begin: str | None,
    end: str | None,
    columns: list[str] | None,
    where: str | None,
    limit: int | None,
    output: str | None,
    format_: str | None,
    damage: str,
    options: tuple[str, ...],
    as_json: bool,
) -> int:
    """Print the rows of a TABLE: the newest, those of its base files alone, those that changed, or what changed them.

    Long values are cut in the table, and whole with --json.  A file is there whole or not at all.
    """
    changes = query in ("incremental", "cdc")
    if changes == (as_of is not None) and as_of is not None:
        raise click.UsageError(f"--as-of goes with snapshot and read_optimized, not with {query}")
    if not changes and (begin or end):
        raise click.UsageError(f"--begin and --end go with incremental and cdc, not with {query}")
    with print_warnings():  # such as a metadata table that cannot be read, or damaged blocks that are skipped
        opened = open_table(table, options={_DAMAGE: damage, **dict(map(key_and_value, options))})
        schema, batches = _run_query(
            opened, query, as_of=as_of, begin=begin or _EVER, end=end, columns=columns, where=where
        )
        show_rows(schema, _limit(batches, limit), output=output, format_=format_, as_json=as_json)
    return 0


def _run_query(
    table: HudiTable,
    query: str,
    *,
    as_of: str | None,
    begin: str,
    end: str | None,
    columns: list[str] | None,
    where: str | None,
) -> tuple[pa.Schema, Batches]:
    if query == "incremental":
        rows = table.incremental(begin, end, columns=columns, filter=where)
        return rows.schema, iter(rows.to_batches())
    if query == "cdc":
        rows = table.cdc(begin, end, columns=columns, filter=where)
        return rows.schema, iter(rows.to_batches())
    scan = table.scan(as_of=as_of, columns=columns, filter=where, with_logs=query == "snapshot")
    return scan.schema, iter(scan)


def _limit(batches: Batches, limit: int | None) -> Batches:
    remaining = limit
    for batch in batches:
        if remaining is not None and remaining <= 0:
            return
        shown = batch if remaining is None else batch.slice(0, min(remaining, batch.num_rows))
        yield shown
        remaining = None if remaining is None else remaining - shown.num_rows
