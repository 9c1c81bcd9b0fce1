"""``hudiformat sync``."""

from __future__ import annotations

import click

from hudiformat.api.table import open_table
from hudiformat.catalogs.sync import SyncedTable, SyncReport
from hudiformat.cli.printing import print_json, print_line, print_warnings
from hudiformat.cli.source import json_option, key_and_value

_CHANGES = ("added", "moved", "dropped", "touched")


@click.command()
@click.argument("table", type=click.Path())
@click.option(
    "--metastore", metavar="URI", help="The catalog, such as thrift://host:9083; by default the one that -o names."
)
@click.option("--database", default="", metavar="NAME", help="The database there; by default that of the table.")
@click.option("--table", "name", default="", metavar="NAME", help="The table's name there; by default its own.")
@click.option("--full", is_flag=True, help="Compare all partitions, not only those of the commits since the last sync.")
@click.option(
    "-o", "--option", "options", multiple=True, metavar="KEY=VALUE", help="One of Hudi's options; may be repeated."
)
@json_option
def sync(
    table: str,
    *,
    metastore: str | None,
    database: str,
    name: str,
    full: bool,
    options: tuple[str, ...],
    as_json: bool,
) -> int:
    """Tell a catalog, such as a Hive Metastore, of a TABLE.

    The catalog gets its columns, its partitions and its newest commit.  The options hoodie.datasource.hive_sync.* say
    what else it gets.
    """
    with print_warnings():
        opened = open_table(table, options=dict(map(key_and_value, options)))
        report = opened.sync_catalog(metastore, database=database, table=name, full=full)
    if as_json:
        for one in report.tables:
            print_json(_as_json(report, one))
    else:
        for one in report.tables:
            print_line(f"{one.name}: {_text_of(one)}")
    return 0


def _as_json(report: SyncReport, one: SyncedTable) -> dict[str, object]:
    changes = {name: list(getattr(one, name)) for name in _CHANGES}
    told = {"catalog": report.catalog, "table": one.name, "commit": report.commit}
    return {**told, "created": one.created, "altered": one.altered, **changes}


def _text_of(one: SyncedTable) -> str:
    """Return what was changed, in a line."""
    flags = [name for name in ("created", "altered") if getattr(one, name)]
    counted = [f"{len(getattr(one, name))} partitions {name}" for name in _CHANGES if getattr(one, name)]
    return ", ".join([*flags, *counted]) or "nothing new"
