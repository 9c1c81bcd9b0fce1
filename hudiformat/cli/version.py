"""``hudiformat version``: print the version of a table, or change it."""

from __future__ import annotations

import click

from hudiformat.api.table import open_table
from hudiformat.cli.printing import print_json, print_line, print_warnings
from hudiformat.cli.source import json_option
from hudiformat.timeline.config_files import SUPPORTED_VERSIONS

_VERSIONS = click.Choice([str(version) for version in SUPPORTED_VERSIONS])


@click.command()
@click.argument("table", type=click.Path())
@click.option("--to", "wanted", type=_VERSIONS, help="Upgrade or downgrade the table to this version.")
@json_option
def version(table: str, *, wanted: str | None, as_json: bool) -> int:
    """Show the version of a TABLE; with --to change it.

    Hudi 0.14 and 0.15 read and write version 6, Hudi 1.0 version 8, and Hudi 1.1 and 1.2 version 9; each also reads
    older ones.  All log files are merged before a change.
    """
    opened = open_table(table)
    before = opened.config.version
    if wanted is not None:
        with print_warnings():  # such as a metadata table that is deleted
            opened.change_version(int(wanted))
    now = opened.config.version
    if as_json:
        print_json({"version": now, "before": before})
    elif now != before:
        print_line(f"changed from version {before} to version {now}")
    else:
        print_line(f"version {now}")
    return 0
