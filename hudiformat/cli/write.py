"""``hudiformat write``: write the rows of a file into a table."""

from __future__ import annotations

from pathlib import Path

import click
import pyarrow as pa
import pyarrow.csv as csv_files
import pyarrow.json as json_files
import pyarrow.parquet as pq

from hudiformat.api import open_table
from hudiformat.cli.printing.commits import print_commit
from hudiformat.cli.printing.output import printed_warnings
from hudiformat.cli.source import json_option, key_and_value
from hudiformat.errors import DataError, StorageError

_OPERATIONS = ("upsert", "insert", "bulk_insert", "delete")
_EPILOG = """\b
Examples:
  hudiformat write TABLE rows.parquet
  hudiformat write --operation delete TABLE keys.csv
  hudiformat write -o hoodie.parquet.max.file.size=67108864 --operation bulk_insert TABLE rows.jsonl
"""


@click.command(epilog=_EPILOG)
@click.argument("table", type=click.Path())
@click.argument("input_", metavar="INPUT", type=click.Path())
@click.option("--operation", type=click.Choice(_OPERATIONS), default="upsert", show_default=True)
@click.option("-o", "--option", "options", multiple=True, metavar="KEY=VALUE", help="One of Hudi's options.")
@json_option
def write(table: str, input_: str, *, operation: str, options: tuple[str, ...], as_json: bool) -> int:
    """Write the rows of INPUT, a .parquet, .arrow, .csv or .jsonl file, into a TABLE, in one commit.

    Columns of CSV and JSON files are read as what they are in the table.
    """
    with printed_warnings():  # such as a metadata table that is dropped, or services that fail
        opened = open_table(table, options=dict(map(key_and_value, options)))
        rows = _rows(Path(input_), opened.schema)
        commit = getattr(opened, operation)(rows)
    print_commit(commit, as_json=as_json)
    return 0


def _rows(path: Path, schema: pa.Schema) -> pa.Table:
    readers = {
        ".parquet": lambda: pq.read_table(path),
        ".arrow": lambda: _read_arrow(path),
        ".csv": lambda: csv_files.read_csv(path, convert_options=_csv_types(schema)),
        ".jsonl": lambda: json_files.read_json(path, parse_options=json_files.ParseOptions(explicit_schema=schema)),
    }
    read = readers.get(path.suffix)
    if read is None:
        raise click.UsageError(f"{path}: expected a file that ends in {', '.join(readers)}")
    try:
        return read()
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror or error}", path=str(path)) from error
    except pa.ArrowException as error:
        raise DataError(f"{path}: cannot be read as {path.suffix}: {error}") from error


def _csv_types(schema: pa.Schema) -> csv_files.ConvertOptions:
    return csv_files.ConvertOptions(column_types=schema, strings_can_be_null=True, quoted_strings_can_be_null=False)


def _read_arrow(path: Path) -> pa.Table:
    """Read an Arrow file or an Arrow stream."""
    with pa.memory_map(str(path)) as source:
        try:
            return pa.ipc.open_file(source).read_all()
        except pa.ArrowInvalid:
            source.seek(0)
            return pa.ipc.open_stream(source).read_all()
