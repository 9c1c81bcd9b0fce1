"""``hudiformat verify``: the damage in a log file or in a table."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from hudiformat.api.reading import context_of
from hudiformat.api.table import open_table
from hudiformat.check.verify.verification import verify_table
from hudiformat.cli.printing import Column, Table, print_json, print_line, progress_bar
from hudiformat.cli.results import FindingTable, finding_as_json
from hudiformat.cli.source import json_option, open_log
from hudiformat.codec.log.verify import scan_findings

_COLUMNS = (Column("kind", 13), Column("instants", 17), Column("path", 76), Column("message"))
_EPILOG = """\b
Examples:
  hudiformat verify FILE
  hudiformat verify --no-contents TABLE
  hudiformat verify --json FILE | jq -r '.instants[]' | sort -u
"""


@click.command(epilog=_EPILOG)
@click.argument("path", type=click.Path())
@click.option("--contents/--no-contents", default=True, help="Whether to decode every block; the default is yes.")
@click.option("--keys", is_flag=True, help="Of a table: look for keys in two file groups too, reading all keys.")
@click.option(
    "--labels", is_flag=True, help="Of a table: look for base files that label times otherwise than the table, too."
)
@json_option
def verify(path: str, *, contents: bool, keys: bool, labels: bool, as_json: bool) -> int:
    """Say what is wrong with the log file or the table PATH: where, which instants it concerns, and why.

    A torn tail is what a writer leaves that died, or is still writing: readers skip it.  A hidden block is intact, but
    queries skip it for the damage around it, and salvage brings it back.

    Of a table: files of the newest slices that are damaged or missing, files of no instant, instants that are not
    complete, what killed writers have left, a metadata table that lists other files than there are, and times that
    count another unit than their label says.  hudiformat repair mends it.
    """
    if _is_table(path):
        return _verify_table(path, contents=contents, keys=keys, labels=labels, as_json=as_json)
    size = open_log(path).size
    table, count = FindingTable(), 0
    with progress_bar("verifying", size) as progress:
        for finding in scan_findings(path, contents=contents, progress=progress):
            count += 1
            if as_json:
                print_json(finding_as_json(finding))
            else:
                table.row(finding)
    if not as_json and not count:
        print_line(f"nothing is wrong, in {size} bytes")
    return int(count > 0)


def _is_table(path: str) -> bool:
    """Return whether *path* is a table, a folder or a URI, and not a log file."""
    return "://" in path or Path(path).is_dir()


def _verify_table(path: str, *, contents: bool, keys: bool, labels: bool, as_json: bool) -> int:
    printed: Table | None = None
    count = 0
    bar = partial(progress_bar, "verifying")
    for finding in verify_table(context_of(open_table(path)), contents=contents, keys=keys, labels=labels, bar=bar):
        count += 1
        if as_json:
            kind, instants = finding.kind.name, list(finding.instants)
            print_json({"kind": kind, "path": finding.path, "instants": instants, "message": finding.message})
            continue
        printed = printed or Table(*_COLUMNS)
        printed.row(finding.kind.value, ",".join(finding.instants), finding.path, finding.message)
    if not as_json and not count:
        print_line("nothing is wrong")
    return int(count > 0)
