"""``hudiformat verify``: what is wrong with a log file."""

from __future__ import annotations

import click

from hudiformat.cli.findings import FindingTable, described
from hudiformat.cli.output import say, say_json
from hudiformat.cli.progress import progress_bar
from hudiformat.cli.source import json_option, open_log
from hudiformat.logfile import findings_of

_EPILOG = """\b
Examples:
  hudiformat verify FILE
  hudiformat verify --no-contents FILE
  hudiformat verify --json FILE | jq -r '.instants[]' | sort -u
"""


@click.command(epilog=_EPILOG, short_help="Say what is wrong with a log file.")
@click.argument("path", type=click.Path())
@click.option("--contents/--no-contents", default=True, help="Whether to decode every block; the default is yes.")
@json_option
def verify(path: str, *, contents: bool, as_json: bool) -> int:
    """Say what is wrong with the log file PATH: where, which instants it concerns, and why.

    A torn tail is what a writer leaves that died, or is still writing: readers skip it.  A hidden block is intact, but
    queries skip it for the damage around it, and salvage brings it back.
    """
    size = open_log(path).size
    table, count = FindingTable(), 0
    with progress_bar("verifying", size) as progress:
        for finding in findings_of(path, contents=contents, progress=progress):
            count += 1
            if as_json:
                say_json(described(finding))
            else:
                table.row(finding)
    if not as_json and not count:
        say(f"nothing is wrong, in {size} bytes")
    return int(count > 0)
