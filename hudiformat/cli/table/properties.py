"""``hudiformat set`` and ``unset``: properties of a table."""

from __future__ import annotations

import click

from hudiformat.api.table import Table, open_table
from hudiformat.cli.printing import print_json, print_line, print_warnings
from hudiformat.cli.source import json_option, key_and_value

_table = click.argument("table", type=click.Path())
_options = click.option("-o", "--option", "options", multiple=True, metavar="KEY=VALUE", help="One of Hudi's options.")


@click.command("set")
@_table
@click.argument("properties", nargs=-1, required=True, metavar="KEY=VALUE...")
@_options
@json_option
def set_(table: str, *, properties: tuple[str, ...], options: tuple[str, ...], as_json: bool) -> int:
    """Set properties of a TABLE, under its lock.

    Of Hudi's properties those can change that no file depends on: hoodie.table.name, hoodie.database.name,
    hoodie.table.type, hoodie.table.cdc.enabled, hoodie.table.cdc.supplemental.logging.mode and
    hoodie.partition.metafile.use.base.format.  A table with log files cannot become copy-on-write.  Properties that do
    not begin with "hoodie." are free.
    """
    opened = _open(table, options)
    changes = dict(map(key_and_value, properties))
    before = dict(opened.config.properties)
    with print_warnings():
        opened.set_properties(changes)
    _print(opened, before, list(changes), as_json=as_json)
    return 0


@click.command()
@_table
@click.argument("keys", nargs=-1, required=True, metavar="KEY...")
@_options
@json_option
def unset(table: str, *, keys: tuple[str, ...], options: tuple[str, ...], as_json: bool) -> int:
    """Take properties of a TABLE out, so that their defaults count."""
    opened = _open(table, options)
    before = dict(opened.config.properties)
    with print_warnings():
        opened.unset_properties(keys)
    _print(opened, before, list(keys), as_json=as_json)
    return 0


def _open(table: str, options: tuple[str, ...]) -> Table:
    return open_table(table, options=dict(map(key_and_value, options)))


def _print(table: Table, before: dict[str, str], keys: list[str], *, as_json: bool) -> None:
    for key in keys:
        now = table.config.properties.get(key)
        if as_json:
            print_json({"property": key, "before": before.get(key), "now": now})
        else:
            print_line(f"{key}: {before.get(key, 'not set')} -> {'not set' if now is None else now}")
