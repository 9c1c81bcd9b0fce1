"""``hudiformat advise``: what to change about a table or the settings of its writers, and what comes of it."""

from __future__ import annotations

import click

from hudiformat.advice.advice import NOTHING_TO_DO, Advice, Severity
from hudiformat.advice.facts import NEXT_COMMITS
from hudiformat.api.table import open_table
from hudiformat.cli.printing import print_json, print_line, print_warnings, printable
from hudiformat.cli.source import json_option, key_and_value
from hudiformat.numbers import size_text

_COLOURS = {Severity.HIGH: "red", Severity.MEDIUM: "yellow", Severity.LOW: None}
_EPILOG = """\b
Examples:
  hudiformat advise TABLE
  hudiformat advise -o hoodie.parquet.small.file.limit=0 TABLE
  hudiformat advise --fail-on high s3://bucket/table
  hudiformat advise --json TABLE | jq -r 'select(.finding == "micro-partitions").command'

\b
Exit codes:
  0  fine, whatever there is to do
  1  findings: an advice is as grave as --fail-on says, or graver
  2  wrong usage, or a table that cannot be read
"""


@click.command(epilog=_EPILOG)
@click.argument("table", type=click.Path())
@click.option(
    "-o", "--option", "options", multiple=True, metavar="KEY=VALUE", help="One of the writers' options; repeat it."
)
@click.option(
    "--commits",
    type=click.IntRange(1),
    default=NEXT_COMMITS,
    show_default=True,
    help="For how many more commits effects are computed.",
)
@click.option(
    "--fail-on",
    type=click.Choice([one.value for one in Severity]),
    help="End with code 1 if there is advice of this severity, or a graver one.",
)
@json_option
def advise(table: str, *, options: tuple[str, ...], commits: int, fail_on: str | None, as_json: bool) -> int:
    """Say what to change about a TABLE or the settings of its writers: at most five changes, the gravest first.

    Each has its effect in numbers, what it costs once, and its reason.  The settings are Hudi's defaults, unless the
    table's properties or -o say otherwise.  Nothing is changed.
    """
    opened = open_table(table, options=dict(map(key_and_value, options)))
    with print_warnings():
        found = opened.advise(commits=commits)
    if as_json:
        for one in found:
            print_json(one.as_json())
        print_json({"not_examined": list(found.not_examined)})
    else:
        for number, one in enumerate(found, 1):
            _print(number, one)
        if not found:
            print_line(NOTHING_TO_DO)
        print_line(f"not examined: {printable('; '.join(found.not_examined))}")
    return 0 if fail_on is None else int(any(one.severity.rank <= Severity(fail_on).rank for one in found))


def _print(number: int, one: Advice) -> None:
    print_line(
        f"{number}. {printable(one.headline)} ({one.severity.value}, {one.finding})", colour=_COLOURS[one.severity]
    )
    for effect in one.effects:
        print_line(f"   {effect}")
    print_line(f"   {printable(one.reason)}")
    for key, value in one.properties.items():
        print_line(f"   set {key}={value}")
    for command in one.command.split(" && ") if one.command else ():
        print_line(f"   run {printable(command)}")
    if one.cost_bytes:
        print_line(f"   once: about {size_text(one.cost_bytes)} to write")
