"""``hudiformat sql``: run a query, or a statement that changes a table, over tables by their paths."""

from __future__ import annotations

import click

from hudiformat.cli.files import format_option
from hudiformat.cli.printing import print_warnings
from hudiformat.cli.query.output import show_rows
from hudiformat.cli.results import print_commit
from hudiformat.cli.source import json_option, key_and_value
from hudiformat.duckdb.queries import query, rows_of
from hudiformat.duckdb.statements import execute, is_change

_EPILOG = """\b
Examples:
  hudiformat sql "select city, sum(fare) from './trips' group by city"
  hudiformat sql "select * from 'hive://host:9083/db.trips' where fare > 10" -o fares.parquet
  hudiformat sql "update './trips' set fare = 0 where city = 'oslo'"
  hudiformat sql "insert into './trips' select * from 'new/*.parquet'"
"""


@click.command(epilog=_EPILOG)
@click.argument("statement")
@click.option("--as-of", metavar="MOMENT", help="The rows of all tables as of an instant, a date or a datetime.")
@click.option("--option", "options", multiple=True, metavar="KEY=VALUE", help="One of Hudi's options.")
@click.option(
    "-o", "--output", type=click.Path(), metavar="FILE", help="Write to a file, or with - to standard output."
)
@format_option("the file")
@json_option
def sql(
    statement: str,
    *,
    as_of: str | None,
    options: tuple[str, ...],
    output: str | None,
    format_: str | None,
    as_json: bool,
) -> int:
    """Run a STATEMENT in SQL: a query of DuckDB, or one INSERT, UPDATE, DELETE or MERGE of a table.

    Tables are named by their paths, in quotes, with a slash in them, or by their addresses in a catalog.
    """
    chosen = dict(map(key_and_value, options))
    with print_warnings():
        if is_change(statement):
            if as_of is not None or output is not None:
                raise click.UsageError("--as-of and -o go with a query")
            print_commit(execute(statement, options=chosen), as_json=as_json)
            return 0
        found = query(statement, as_of=as_of, options=chosen)
        rows = rows_of(found)
        show_rows(rows.schema, iter(rows), output=output, format_=format_, as_json=as_json)
    return 0
