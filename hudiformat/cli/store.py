"""``hudiformat store check``: what a storage can do for tables."""

from __future__ import annotations

from dataclasses import fields

import click

from hudiformat.cli.printing import Column, Table, print_json, print_line, print_warnings
from hudiformat.cli.source import json_option, pairs
from hudiformat.storage.checks import StoreOutcome, check_store
from hudiformat.storage.opening import open_storage
from hudiformat.storage.protocol import Capabilities

_EPILOG = """\b
Examples:
  hudiformat store check s3://bucket/folder
  hudiformat store check --json hdfs://namenode:8020/tables
  hudiformat store check --storage-option account_key=... abfs://container@account.dfs.core.windows.net/tables

\b
Exit codes:
  0  everything works that a table needs
  1  the storage is wrong in something
  2  wrong usage, or a storage that cannot be opened
"""
_COLOURS = {StoreOutcome.WORKS: None, StoreOutcome.LACKS: "yellow", StoreOutcome.WRONG: "red"}


@click.group()
def store() -> None:
    """Say what the place can do where tables lie."""


@store.command(epilog=_EPILOG)
@click.argument("uri", type=click.Path())
@click.option(
    "--storage-option", "options", multiple=True, metavar="NAME=VALUE", help="Of the storage; may be repeated."
)
@json_option
def check(uri: str, *, options: tuple[str, ...], as_json: bool) -> int:
    """Try each call that a table makes in a new folder below URI, which is deleted at the end.

    "lacks" is what the storage does not have and does not promise: tables work, with fewer writers or slower.  "wrong"
    is what would lose rows or commits.
    """
    with print_warnings():
        storage = open_storage(uri, storage_options=pairs("--storage-option", options))
        table = None if as_json else Table(Column("", 5), Column("seconds", 7, right=True), Column("check"))
        wrong = 0
        for found in check_store(storage):
            wrong += found.outcome is StoreOutcome.WRONG
            if table is None:
                print_json(
                    {
                        "check": found.name,
                        "outcome": found.outcome.value,
                        "detail": found.detail,
                        "seconds": round(found.seconds, 3),
                    }
                )
            else:
                text = f"{found.name}: {found.detail}" if found.detail else found.name
                table.row(found.outcome.value, f"{found.seconds:.2f}", text, colour=_COLOURS[found.outcome])
    can = {one.name: bool(getattr(storage.capabilities, one.name)) for one in fields(Capabilities)}
    if as_json:
        print_json({"capabilities": can, "wrong": wrong})
    else:
        print_line(f"{storage.root}: {', '.join(name for name, has in can.items() if has) or 'whole files'}")
    return 1 if wrong else 0
