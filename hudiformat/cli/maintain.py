"""``hudiformat maintain``: all services of a table that are due, once or every few minutes, beside its writers."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import partial
from types import FrameType

import click

from hudiformat.api.reading import context_of
from hudiformat.api.table import Table as HudiTable
from hudiformat.api.table import open_table
from hudiformat.cli.printing import Column, Table, print_json, print_line, print_warnings, printable, warn
from hudiformat.cli.source import json_option, key_and_value
from hudiformat.errors import HudiFormatError, LockError, StorageError
from hudiformat.services.deciding import Service
from hudiformat.services.running import maintain as run_maintenance
from hudiformat.services.running import parse_services
from hudiformat.services.service_result import MaintenanceReport, ServiceReport, TableSize

_COLUMNS = (
    Column("service", 14),
    Column("", 7),
    Column("seconds", 8, right=True),
    Column("files", 16, right=True),
    Column("bytes", 25, right=True),
    Column("why"),
)
_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LOOK_AGAIN = 0.1
"""Seconds between checks whether the process has to end."""
_EPILOG = """\b
"files" and "bytes" are those that a query reads, before and after; with --json also those on storage.
With --json, the first object has the headline, and one follows for each service.
Compaction, ttl, clean and archive follow Hudi's options; clustering and log-compaction are turned on by
hoodie.clustering.async.enabled=true and hoodie.log.compaction.enable=true, or by --only.

\b
Examples:
  hudiformat maintain --dry-run TABLE
  hudiformat maintain --every 5m -o hoodie.write.concurrency.mode=OPTIMISTIC_CONCURRENCY_CONTROL TABLE
  hudiformat maintain --only clustering,clean TABLE
  hudiformat maintain --only ttl -o hoodie.partition.ttl.strategy.days.retain=30 TABLE

\b
Exit codes:
  0  fine
  1  a service failed; with --every, in the last run
  2  wrong usage, a table that cannot be read, or a single writer that is writing
"""


def seconds_of(text: str) -> float | None:
    """Return the seconds of a time such as 90, 30s, 5m or 1.5h; None if the text is not a time, or is zero."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([smhd]?)", text.strip().lower())
    return (float(found[1]) * _SECONDS[found[2]] or None) if found else None


def _parse_interval(_context: click.Context, _parameter: click.Parameter, value: str | None) -> float | None:
    seconds = None if value is None else seconds_of(value)
    if value is not None and seconds is None:
        raise click.BadParameter(f"expected a time such as 30s, 5m or 1h, found {value!r}")
    return seconds


@click.command(epilog=_EPILOG)
@click.argument("table", type=click.Path())
@click.option(
    "-o", "--option", "options", multiple=True, metavar="KEY=VALUE", help="One of Hudi's options; may be repeated."
)
@click.option("--every", metavar="TIME", callback=_parse_interval, help="Again and again, as 30s, 5m or 1h.")
@click.option("--only", metavar="NAMES", help=f"These services alone: {', '.join(one.value for one in Service)}.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and change nothing.")
@json_option
def maintain(
    table: str, *, options: tuple[str, ...], every: float | None, only: str | None, dry_run: bool, as_json: bool
) -> int:
    """Run the services of a TABLE that are due, and say what was done and why.

    Beside writers, the options of concurrency have to be theirs.  SIGTERM and Ctrl-C end it after the service that is
    running.  The first line is that of advise.
    """
    chosen = parse_services([name.strip() for name in (only or "").split(",") if name.strip()])
    opened = open_table(table, options=dict(map(key_and_value, options)))
    headline = _headline(opened)
    with _catch_stop_signals() as is_stopped:
        run = partial(run_maintenance, context_of(opened), only=chosen, dry_run=dry_run, is_stopped=is_stopped)
        if every is None:
            return _run(run, headline, as_json=as_json)
        return _repeat(run, every, is_stopped, headline, as_json=as_json)


def _headline(table: HudiTable) -> str:
    """Return the headline of ``advise``; none of a table that cannot be read: the services say why."""
    with print_warnings(), suppress(HudiFormatError):
        return table.advise().headline
    return ""


def _run(run: Callable[[], MaintenanceReport], headline: str = "", *, as_json: bool) -> int:
    """Run the services once and print the report below the *headline*; return 1 if a service failed, else 0."""
    with print_warnings():
        report = run()
    if headline and as_json:
        print_json({"headline": headline})
    elif headline:
        print_line(printable(headline), bold=True)
    print_report(report, as_json=as_json)
    return 1 if report.failed else 0


def _repeat(
    run: Callable[[], MaintenanceReport],
    every: float,
    is_stopped: Callable[[], bool],
    headline: str,
    *,
    as_json: bool,
) -> int:
    """Run the services every *every* seconds until *is_stopped* is true; return the code of the last run.

    A LockError or a StorageError is printed and does not end the loop: the table may be busy or unreachable for now.
    """
    code = 0
    while not is_stopped():
        began = time.monotonic()
        try:
            code = _run(run, headline, as_json=as_json)
            headline = ""
        except (LockError, StorageError) as error:
            warn(str(error))
            code = 1
        while not is_stopped() and time.monotonic() < began + every:
            time.sleep(min(_LOOK_AGAIN, every))
    return code


@contextmanager
def _catch_stop_signals() -> Iterator[Callable[[], bool]]:
    """Yield a function that tells whether SIGTERM or SIGINT has been received; a second signal interrupts at once."""
    received: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield lambda: bool(received)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def print_report(report: MaintenanceReport, *, as_json: bool) -> None:
    """Print the result of each service."""
    if as_json:
        for one in report.services:
            print_json({**_as_json(one), "is_dry_run": report.is_dry_run})
        return
    table = Table(*_COLUMNS)
    for one in report.services:
        failed = one.error is not None
        table.row(*_cells(one, report), colour="red" if failed else None, bold=bool(one.done))
    if report.failed:
        print_line(f"{len(report.failed)} of {len(report.services)} services failed", colour="red")


def _as_json(one: ServiceReport) -> dict[str, object]:
    sizes = {"before": one.before and asdict(one.before), "after": one.after and asdict(one.after)}
    ran = {"done": one.done, "instants": list(one.instants), "seconds": one.seconds}
    return {"service": one.service, "is_due": one.is_due, "why": one.why, **ran, **sizes, "error": one.error}


def _cells(one: ServiceReport, report: MaintenanceReport) -> tuple[object, ...]:
    state = "failed" if one.error is not None else "done" if one.done else "due" if one.is_due else "no"
    result = f": {one.error or one.done}" if one.error or one.done else ""
    sizes = (None, None) if report.is_dry_run else (_change(one, "files"), _change(one, "bytes"))
    return one.service, state, f"{one.seconds:.2f}", *sizes, f"{one.why}{result}"


def _change(one: ServiceReport, what: str) -> str | None:
    def of(size: TableSize | None) -> str:
        return "?" if size is None else str(getattr(size, what))

    return None if one.before is None else f"{of(one.before)} > {of(one.after)}"
