"""``hudiformat repair``: plan the repairs of a table, and on request make them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict

import click

from hudiformat.check.repair.planning import DEAD_AFTER, repair_table
from hudiformat.check.repair.steps import Repair, RepairStep, StepState
from hudiformat.cli.maintain import seconds_of
from hudiformat.cli.printing import Column, Table, print_json, print_line, print_warnings
from hudiformat.cli.source import json_option, key_and_value

_COLUMNS = (Column("step", 10), Column("path", 60), Column("what"))
_COLOURS = {StepState.REFUSED: "yellow", StepState.FAILED: "red", StepState.DONE: "green"}
_EPILOG = """\b
Examples:
  hudiformat repair TABLE
  hudiformat repair --apply TABLE
  hudiformat repair --set hoodie.table.ordering.fields=ts --apply TABLE
  hudiformat repair --keys TABLE
  hudiformat repair --labels TABLE

\b
Exit codes:
  0  nothing is to be repaired, or all of it was
  1  something is to be repaired; with --apply, something could not be
  2  wrong usage, or no table
"""


def _parse_time(_context: click.Context, _parameter: click.Parameter, value: str) -> float:
    seconds = 0.0 if value.strip("0smhd") == "" else seconds_of(value)
    if seconds is None:
        raise click.BadParameter(f"expected a time such as 30s, 5m or 0, found {value!r}")
    return seconds


@click.command(epilog=_EPILOG)
@click.argument("table", type=click.Path())
@click.option("--apply", is_flag=True, help="Carry the plan out; without it nothing is changed.")
@click.option("--keys", is_flag=True, help="Look for keys in two file groups too, reading all keys.")
@click.option(
    "--labels", is_flag=True, help="Rewrite base files that label times otherwise than the table, for other readers."
)
@click.option(
    "--set",
    "properties",
    multiple=True,
    metavar="KEY=VALUE",
    help="A property of the table that its files do not show; may be repeated.",
)
@click.option(
    "--dead-after",
    default=f"{DEAD_AFTER:g}s",
    metavar="TIME",
    callback=_parse_time,
    help="After so long without a sign of life a writer counts as dead; the default is 10m.",
)
@click.option(
    "-o", "--option", "options", multiple=True, metavar="KEY=VALUE", help="One of Hudi's options; may be repeated."
)
@json_option
def repair(
    table: str,
    *,
    apply: bool,
    keys: bool,
    labels: bool,
    properties: tuple[str, ...],
    dead_after: float,
    options: tuple[str, ...],
    as_json: bool,
) -> int:
    """Say what has to be done so that verify finds nothing wrong with a TABLE, and with --apply do it.

    What is taken away or replaced is kept in the folder .hoodie/.repair of the table, with a list that says whence it
    came and why.  What a writer that may be alive is at work on is refused.  Beside writers, the options of concurrency
    have to be theirs.
    """
    with print_warnings():
        repaired = repair_table(
            table,
            apply=apply,
            keys=keys,
            labels=labels,
            properties=dict(map(key_and_value, properties)),
            options=dict(map(key_and_value, options)),
            dead_after=dead_after,
            told=lambda steps: None if as_json else _print_plan(steps),
        )
    _print(repaired, as_json=as_json)
    return int(bool(repaired.left))


def _print_plan(steps: Sequence[RepairStep]) -> None:
    printed = Table(*_COLUMNS)
    for step in steps:
        _print_step(printed, step)
    print_line("")


def _print(repaired: Repair, *, as_json: bool) -> None:
    if as_json:
        for step in repaired.steps:
            print_json({**asdict(step), "kind": step.kind.name, "state": step.state.name})
        if repaired.taken_away is not None:
            print_json({"taken_away": repaired.taken_away})
        return
    if not repaired.steps:
        print_line("nothing is to be repaired")
        return
    if not repaired.applied:
        _print_plan(repaired.steps)
        print_line(f"{_format_counts(repaired.steps)} to do; --apply does what is not refused")
        return
    for step in repaired.steps:
        reason = f": {step.reason}" if step.reason else ""
        print_line(f"{step.state.value}: {step.kind.value} {step.path}{reason}", colour=_COLOURS.get(step.state))
    if repaired.taken_away is not None:
        print_line(f"what was taken away or replaced is in {repaired.taken_away}")


def _print_step(printed: Table, step: RepairStep) -> None:
    """Print a step in up to four lines: what is done, why, what is lost, and why it is refused."""
    printed.row(step.kind.value, step.path, step.what, colour=_COLOURS.get(step.state))
    for name, text in (("why", step.why), ("lost", step.lost), (step.state.value, step.reason)):
        if text:
            print_line(f"  {name}: {text}", colour="yellow" if name != "why" else None)


def _format_counts(steps: Iterable[RepairStep]) -> str:
    count = len(list(steps))
    return f"{count} step" if count == 1 else f"{count} steps"
