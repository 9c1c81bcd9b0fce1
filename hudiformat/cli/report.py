"""``hudiformat report``: a page of HTML about a table."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import click

from hudiformat.advice.advice import NOTHING_TO_DO
from hudiformat.api.reading import context_of
from hudiformat.api.table import open_table
from hudiformat.cli.files import is_device
from hudiformat.cli.printing import print_json, print_line, print_warnings, printable, progress_bar
from hudiformat.cli.source import json_option, key_and_value, refuse_options
from hudiformat.errors import StorageError
from hudiformat.report.advice import is_damaged
from hudiformat.report.facts import TableFacts
from hudiformat.report.gathering import gather
from hudiformat.report.page import page_of, write_page

_STANDARD_OUTPUT = "-"
_EPILOG = """\b
Examples:
  hudiformat report TABLE -o report.html
  hudiformat report --no-verify s3://bucket/table -o - > report.html
  hudiformat report --json TABLE | jq -r '.advice[0].command'

\b
Exit codes:
  0  fine, whatever there is to do
  1  findings: something is damaged or missing
  2  wrong usage, a table that cannot be read, or a file that is there
"""


@click.command(epilog=_EPILOG)
@click.argument("table", type=click.Path())
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    default="report.html",
    callback=refuse_options,
    show_default=True,
    help="Where to write the page; - is standard output.",
)
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@click.option(
    "--verify/--no-verify", default=True, help="Whether to read the files, as verify does; the default is yes."
)
@click.option("--option", "options", multiple=True, metavar="KEY=VALUE", help="One of Hudi's options; may be repeated.")
@json_option
def report(table: str, *, output: str, force: bool, verify: bool, options: tuple[str, ...], as_json: bool) -> int:
    """Write a page about a TABLE: what to do next, layout, sizes, timeline, growth, log blocks, services, findings.

    The page is one file that needs no network.  With --json the facts are printed as one object instead, and no file is
    written.  Options such as hoodie.parquet.max.file.size are what the table is measured by.
    """
    if not as_json and output != _STANDARD_OUTPUT and not force and Path(output).exists():
        raise StorageError(f"{output} exists: --force replaces it, -o names another file", path=output)
    opened = open_table(table, options=dict(map(key_and_value, options)))
    with print_warnings():
        facts = gather(context_of(opened), verify=verify, bar=partial(progress_bar, "verifying"))
    if as_json:
        print_json(facts.as_json())
        return int(is_damaged(facts))
    if output == _STANDARD_OUTPUT:
        sys.stdout.buffer.write(page_of(facts).encode())
        sys.stdout.flush()
        return int(is_damaged(facts))
    if is_device(Path(output)):
        Path(output).write_text(page_of(facts), "utf-8")
    else:
        write_page(page_of(facts), output, overwrite=force)
    _print_advice(facts, output)
    return int(is_damaged(facts))


def _print_advice(facts: TableFacts, output: str) -> None:
    """Print what to do next, and where the page is."""
    print_line(printable(facts.advice[0].headline if facts.advice else NOTHING_TO_DO), bold=True)
    if facts.advice and facts.advice[0].command:
        print_line(f"  {printable(facts.advice[0].command)}")
    print_line(f"written: {printable(output)}")
