"""``hudiformat salvage``: copy every intact block of a damaged log file to a new file."""

from __future__ import annotations

import click

from hudiformat.cli.printing import print_json, print_line, printable, progress_bar
from hudiformat.cli.results import FindingTable, finding_as_json
from hudiformat.cli.source import file_argument, json_option, open_log
from hudiformat.codec.log import salvage as salvaging
from hudiformat.codec.log.salvage import SalvageReport

_EPILOG = """\b
Examples:
  hudiformat salvage FILE -o /tmp/salvaged
  hudiformat salvage --json FILE -o /tmp/salvaged | jq '.instants'
"""


@click.command(epilog=_EPILOG)
@file_argument
@click.option(
    "-o", "--output", required=True, type=click.Path(), metavar="OUT", help="The new file; there is none yet."
)
@json_option
def salvage(file: str, *, output: str, as_json: bool) -> int:
    """Copy every intact block of a log FILE, byte for byte, to OUT, and say what was recovered and what is lost.

    Recovered are blocks that queries of FILE skip for the damage around them.  FILE stays as it is; OUT is for you to
    put in its place while no query runs.  The exit code is 1 when something is lost.
    """
    with progress_bar("salvaging", open_log(file).size) as progress:
        report = salvaging.salvage(file, output, progress=progress)
    (_print_json if as_json else _print)(report)
    return int(bool(report.lost))


def _print_json(report: SalvageReport) -> None:
    print_json(
        {
            "target": report.target,
            "blocks": report.blocks,
            "size": report.size,
            "recovered": [finding_as_json(finding) for finding in report.recovered],
            "lost": [finding_as_json(finding) for finding in report.lost],
            "instants": list(report.instants),
        }
    )


def _print(report: SalvageReport) -> None:
    lost = sum(finding.length for finding in report.lost)
    print_line(f"kept       {_format_count(report.blocks, 'block')}, {report.size} bytes: {printable(report.target)}")
    print_line(f"recovered  {len(report.recovered)} of them, which queries skip")
    print_line(f"lost       {_format_count(len(report.lost), 'span')}, {lost} bytes")
    if report.lost:
        print_line(f"affected   {', '.join(report.instants) or 'no instant that can be told'}")
    table = FindingTable()
    for finding in (*report.recovered, *report.lost):
        table.row(finding)


def _format_count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
