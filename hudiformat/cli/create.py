"""``hudiformat create`` and ``hudiformat adopt``: make a table, empty or of Parquet files that are there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
import pyarrow as pa

from hudiformat.api.adopt import TABLE_FOLDER, Adoption, plan_adoption
from hudiformat.api.create import create_table
from hudiformat.cli.files import file_format, open_rows
from hudiformat.cli.printing import format_size, print_json, print_line, print_warnings, progress_bar
from hudiformat.cli.source import column_types, json_option, key_and_value, split
from hudiformat.codec.avro.schema import avro_to_arrow
from hudiformat.errors import StorageError

_Command = TypeVar("_Command", bound=Callable[..., Any])

_EPILOG = """\b
Examples:
  hudiformat create rides --column id=string --column ts=bigint --column city=string
      --record-key id --ordering ts --partition-by city
  hudiformat create rides --like rides.parquet --record-key id --type COPY_ON_WRITE
  hudiformat create rides --like rides.avsc --record-key id -o hoodie.metadata.enable=true

Types are those of Spark SQL: boolean, int, bigint, float, double, string, binary, date, timestamp, timestamp_ntz and
decimal(P,S).
"""
_TYPES = ("MERGE_ON_READ", "COPY_ON_WRITE")
_RECORD_KEY = click.option(
    "--record-key",
    required=True,
    callback=split,
    metavar="A,B",
    help="The columns that tell records apart; '' for none.",
)
_ORDERING = click.option(
    "--ordering", callback=split, metavar="A,B", help="Of two records with one key the higher one wins."
)
_VERSION = click.option("--version", type=int, default=9, show_default=True, help="The table version: 9, 8 or 6.")
_OPTIONS = click.option("-o", "--option", "options", multiple=True, metavar="KEY=VALUE", help="One of Hudi's options.")


def _type_option(default: str) -> Callable[[_Command], _Command]:
    return click.option("--type", "table_type", type=click.Choice(_TYPES), default=default, show_default=True)


@click.command(epilog=_EPILOG)
@click.argument("table", type=click.Path())
@click.option("--column", "columns", multiple=True, metavar="NAME=TYPE", help="A column, in this order.")
@click.option("--like", type=click.Path(), metavar="FILE", help="The columns of a file of rows or an Avro schema.")
@_RECORD_KEY
@_ORDERING
@click.option("--partition-by", callback=split, metavar="A,B", help="The columns whose values name folders.")
@_type_option("MERGE_ON_READ")
@_VERSION
@click.option("--name", help="The table's name; by default that of its folder.")
@_OPTIONS
@json_option
def create(
    table: str,
    *,
    columns: tuple[str, ...],
    like: str | None,
    record_key: list[str],
    ordering: list[str] | None,
    partition_by: list[str] | None,
    table_type: str,
    version: int,
    name: str | None,
    options: tuple[str, ...],
    as_json: bool,
) -> int:
    """Make an empty TABLE, with columns that are named or those of a file."""
    if bool(columns) == (like is not None):
        raise click.UsageError("expected either --column or --like")
    schema = _schema_of(like) if like is not None else pa.schema(list(column_types("--column", columns).items()))
    with print_warnings():
        made = create_table(
            table,
            name=name or table.rstrip("/").rpartition("/")[2],
            schema=schema,
            record_key=[one for one in record_key if one],
            ordering=ordering or (),
            partition_by=partition_by or (),
            table_type=table_type,
            version=version,
            options=dict(map(key_and_value, options)),
        )
    if as_json:
        print_json({"path": made.path, "name": made.config.name, "columns": made.schema.names})
    else:
        print_line(
            f"{made.config.table_type.value} table {made.config.name} of {len(made.schema)} columns at {made.path}"
        )
    return 0


def _schema_of(path: str) -> pa.Schema:
    if path.endswith(".avsc"):
        return avro_to_arrow(_text(path))
    with open_rows(path, file_format(path, None, of="--like"), pa.schema([])) as rows:
        return rows.schema


def _text(path: str) -> str:
    try:
        return Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise StorageError(f"cannot read {path}: {error}", path=path) from error


_ADOPT_EPILOG = """\b
Examples:
  hudiformat adopt rides --record-key id --partition-by day --dry-run
  hudiformat adopt rides --record-key id --partition-by day --ordering ts
  hudiformat adopt s3://lake/rides --record-key id --into s3://lake/rides_table --copy

Without a copy, whoever reads the table with hudiformat names the folder of the files:
  hudiformat read rides/_hudi --option hoodie.bootstrap.base.path=rides
"""


@click.command(epilog=_ADOPT_EPILOG)
@click.argument("folder", type=click.Path())
@_RECORD_KEY
@click.option("--partition-by", callback=split, metavar="A,B", help="The columns that folders stand for, in order.")
@_ORDERING
@click.option(
    "--into", type=click.Path(), metavar="TABLE", help=f"The folder of the table; by default {TABLE_FOLDER} in FOLDER."
)
@click.option(
    "--copy/--no-copy", default=None, help="Copy the rows, or refuse to; by default only where Hudi needs it."
)
@_type_option("COPY_ON_WRITE")
@_VERSION
@click.option("--name", help="The table's name; by default that of FOLDER.")
@_OPTIONS
@click.option("--dry-run", is_flag=True, help="Check all rows and say what would be done; write nothing.")
@json_option
def adopt(
    folder: str,
    *,
    record_key: list[str],
    partition_by: list[str] | None,
    ordering: list[str] | None,
    into: str | None,
    copy: bool | None,
    table_type: str,
    version: int,
    name: str | None,
    options: tuple[str, ...],
    dry_run: bool,
    as_json: bool,
) -> int:
    """Make a table of the Parquet files in FOLDER, which stay as they are.

    Without a copy, the table reads the rows from these files from then on: they must not change.  Names of folders are
    the values of the columns of --partition-by, as in day=2024-01-05/ or 2024-01-05/.
    """
    keys, paths = [one for one in record_key if one], partition_by or ()
    with print_warnings():
        planned = plan_adoption(
            folder,
            record_key=keys,
            partition_by=paths,
            ordering=ordering or (),
            into=into,
            copy=copy,
            name=name,
            table_type=table_type,
            version=version,
            options=dict(map(key_and_value, options)),
        )
        with progress_bar("checking" if dry_run else "adopting", planned.size) as progress:
            if dry_run:
                planned.check(progress)
            else:
                planned.run(progress)
    _print_adoption(planned, dry_run=dry_run, as_json=as_json)
    return 0


def _print_adoption(planned: Adoption, *, dry_run: bool, as_json: bool) -> None:
    if as_json:
        facts = {name: getattr(planned, name) for name in ("path", "files", "rows", "size", "copied_because")}
        partitions, columns = list(planned.partitions), planned.schema.names
        print_json({**facts, "partitions": partitions, "columns": columns, "dry_run": dry_run})
        return
    what = f"{planned.files} Parquet files in {len(planned.partitions)} folders, {planned.rows} rows"
    how = "stay where they are" if planned.copied_because is None else f"are copied: {planned.copied_because}"
    print_line(f"{what}, {format_size(planned.size)}: {how}")
    print_line(f"columns: {', '.join(f'{one.name} {one.type}' for one in planned.schema)}")
    print_line(f"{'the table would be' if dry_run else 'the table is'} {planned.path}")
