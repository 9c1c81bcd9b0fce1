"""``hudiformat write``: write the rows of a file into a table."""

from __future__ import annotations

import click

from hudiformat.api.table import open_table
from hudiformat.cli.files import file_format, format_option, open_rows
from hudiformat.cli.printing import print_warnings
from hudiformat.cli.results import print_commit
from hudiformat.cli.source import json_option, key_and_value

_OPERATIONS = ("upsert", "insert", "bulk_insert", "delete")
_EPILOG = """\b
Examples:
  hudiformat write TABLE rows.parquet
  hudiformat write --operation delete TABLE keys.csv
  other-program | hudiformat write TABLE -
  hudiformat write -o hoodie.parquet.max.file.size=67108864 --operation bulk_insert TABLE rows.jsonl
"""


@click.command(epilog=_EPILOG)
@click.argument("table", type=click.Path())
@click.argument("input_", metavar="INPUT", type=click.Path())
@click.option("--operation", type=click.Choice(_OPERATIONS), default="upsert", show_default=True)
@click.option("-o", "--option", "options", multiple=True, metavar="KEY=VALUE", help="One of Hudi's options.")
@format_option("INPUT")
@json_option
def write(
    table: str, input_: str, *, operation: str, options: tuple[str, ...], format_: str | None, as_json: bool
) -> int:
    """Write the rows of INPUT, a .parquet, .arrow, .csv or .jsonl file, or - for standard input, in one commit.

    Columns of CSV and JSON files are read as what they are in the table: of JSON, dates are texts, bytes hex
    digits and maps objects, as read prints them, and a line may lack columns that others have; of CSV, only an empty
    field is null.
    """
    with print_warnings():  # such as a metadata table that is dropped, or a service that fails
        opened = open_table(table, options=dict(map(key_and_value, options)))
        with open_rows(input_, file_format(input_, format_), opened.schema) as rows:
            commit = getattr(opened, operation)(rows)
    print_commit(commit, as_json=as_json)
    return 0
