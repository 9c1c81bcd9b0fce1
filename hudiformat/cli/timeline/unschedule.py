"""``hudiformat unschedule``: a planned compaction, or one file group of it."""

from __future__ import annotations

import click

from hudiformat.api.table import open_table
from hudiformat.cli.printing import print_json, print_line, print_warnings
from hudiformat.cli.source import json_option, key_and_value

_EPILOG = """\b
Examples:
  hudiformat unschedule TABLE 20261121060123455
  hudiformat unschedule TABLE 20261121060123455 --file-id 5e5df4a3-62f5-4d4a-9a4c-0bc1bb5a3d49-0
"""


@click.command(epilog=_EPILOG)
@click.argument("table", type=click.Path())
@click.argument("instant")
@click.option("--file-id", metavar="ID", help="Take only this file group out of the plan.")
@click.option("--partition", metavar="PATH", help="The partition of the file group, if two have that id.")
@click.option("-o", "--option", "options", multiple=True, metavar="KEY=VALUE", help="One of Hudi's options.")
@json_option
def unschedule(
    table: str,
    instant: str,
    *,
    file_id: str | None,
    partition: str | None,
    options: tuple[str, ...],
    as_json: bool,
) -> int:
    """Take the planned compaction INSTANT of a TABLE off its timeline.

    With --file-id the plan stays, without that file group.  A compaction that another process runs is left alone.
    """
    opened = open_table(table, options=dict(map(key_and_value, options)))
    with print_warnings():
        done = opened.unschedule_compaction(instant, file_id=file_id, partition=partition)
    if as_json:
        print_json({"instant": instant, "file_id": file_id, "is_planned": bool(done)})
    else:
        print_line(done.done)
    return 0
