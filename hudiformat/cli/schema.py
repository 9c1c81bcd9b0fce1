"""``hudiformat schema``: print the columns of a table, or change them."""

from __future__ import annotations

import json

import click

from hudiformat.api.reading import context_of
from hudiformat.api.table import open_table
from hudiformat.cli.printing import Column, Table, print_json, print_warnings
from hudiformat.cli.source import column_types, json_option, key_and_value, pairs
from hudiformat.schema.table_schema import TableSchema

_EPILOG = """\b
Examples:
  hudiformat schema TABLE
  hudiformat schema TABLE --add "price=decimal(10,2)" --widen amount=bigint --comment "amount=in cents"
  hudiformat schema TABLE -o hoodie.schema.on.read.enable=true --rename vlaue=value --drop unused

Types are those of Spark SQL: boolean, int, bigint, float, double, string, binary, date, timestamp, timestamp_ntz and
decimal(P,S).
"""
_COLUMNS = (Column("column", 32), Column("type", 24), Column("null", 4), Column("comment"))


@click.command(epilog=_EPILOG)
@click.argument("table", type=click.Path())
@click.option("--add", multiple=True, metavar="COLUMN=TYPE", help="A new column, the last one; it may be null.")
@click.option("--rename", multiple=True, metavar="OLD=NEW", help="Another name for a column.")
@click.option("--widen", multiple=True, metavar="COLUMN=TYPE", help="A wider type for a column.")
@click.option("--nullable", multiple=True, metavar="COLUMN", help="A column that may be null from now on.")
@click.option("--drop", multiple=True, metavar="COLUMN", help="A column that goes.")
@click.option("--comment", multiple=True, metavar="COLUMN=TEXT", help="What a column means.")
@click.option("-o", "--option", "options", multiple=True, metavar="KEY=VALUE", help="One of Hudi's options.")
@json_option
def schema(
    table: str,
    *,
    add: tuple[str, ...],
    rename: tuple[str, ...],
    widen: tuple[str, ...],
    nullable: tuple[str, ...],
    drop: tuple[str, ...],
    comment: tuple[str, ...],
    options: tuple[str, ...],
    as_json: bool,
) -> int:
    """Show the columns of a TABLE, after changing them in one commit where changes are given; no file is rewritten.

    Nested columns have dotted names, as address.city.  Renaming and dropping need hoodie.schema.on.read.enable=true.
    """
    opened = open_table(table, options=dict(map(key_and_value, options)))
    if add or rename or widen or nullable or drop or comment:
        with print_warnings():  # such as services that fail
            opened.evolve(
                add=column_types("--add", add),
                rename=pairs("--rename", rename),
                widen=column_types("--widen", widen),
                nullable=nullable,
                drop=drop,
                comment=pairs("--comment", comment),
            )
    _print(context_of(opened).state().schema, as_json=as_json)
    return 0


def _print(columns: TableSchema, *, as_json: bool) -> None:
    comments = {field["name"]: field.get("doc") for field in json.loads(columns.avro)["fields"]}
    printed = None if as_json else Table(*_COLUMNS)
    for field in columns.arrow:
        comment = comments.get(field.name)
        if printed is None:
            print_json({"column": field.name, "type": str(field.type), "nullable": field.nullable, "comment": comment})
        else:
            printed.row(field.name, field.type, "yes" if field.nullable else "no", comment or "")
