"""``hudiformat schema``: the columns of a table, and changing them by themselves."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

import click
import pyarrow as pa

from hudiformat.api import open_table
from hudiformat.cli.printing.output import Column, Table, print_json, printed_warnings
from hudiformat.cli.source import json_option, key_and_value
from hudiformat.table import TableSchema

_EPILOG = """\b
Examples:
  hudiformat schema TABLE
  hudiformat schema TABLE --add "price=decimal(10,2)" --widen amount=bigint --comment "amount=in cents"
  hudiformat schema TABLE -o hoodie.schema.on.read.enable=true --rename vlaue=value --drop unused

Types are those of Spark SQL: boolean, int, bigint, float, double, string, binary, date, timestamp, timestamp_ntz and
decimal(P,S).
"""
_TYPES = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
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
        with printed_warnings():  # such as services that fail
            opened.evolve(
                add=_types(add),
                rename=_pairs("--rename", rename),
                widen=_types(widen),
                nullable=nullable,
                drop=drop,
                comment=_pairs("--comment", comment),
            )
    _print(opened.context.state().schema, as_json=as_json)
    return 0


def _pairs(option: str, texts: Iterable[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    for name, separator, value in pairs:
        if not (name and separator and value):
            raise click.UsageError(f"{option} {name}{separator}{value}: expected two parts with = between them")
    return {name: value for name, _, value in pairs}


def _types(texts: Iterable[str]) -> dict[str, pa.DataType]:
    return {name: _type(word.strip().lower()) for name, word in _pairs("--add or --widen", texts).items()}


def _type(word: str) -> pa.DataType:
    if found := _DECIMAL.fullmatch(word):
        try:
            return pa.decimal128(int(found[1]), int(found[2]))
        except ValueError as error:
            raise click.UsageError(f"{word}: {error}") from error
    if word not in _TYPES:
        raise click.UsageError(f"expected a type of {', '.join(_TYPES)} or decimal(P,S), found {word!r}")
    return _TYPES[word]


def _print(columns: TableSchema, *, as_json: bool) -> None:
    comments = {field["name"]: field.get("doc") for field in json.loads(columns.avro)["fields"]}
    printed = None if as_json else Table(*_COLUMNS)
    for field in columns.arrow:
        comment = comments.get(field.name)
        if printed is None:
            print_json({"column": field.name, "type": str(field.type), "nullable": field.nullable, "comment": comment})
        else:
            printed.row(field.name, field.type, "yes" if field.nullable else "no", comment or "")
