"""The command with its subcommands, and what an error, an interrupt or a closed pipe ends in."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

import click

import hudiformat
from hudiformat.cli.blocks import blocks
from hudiformat.cli.output import warn
from hudiformat.cli.plan import plan
from hudiformat.cli.read import read
from hudiformat.cli.records import records
from hudiformat.cli.salvage import salvage
from hudiformat.cli.services import clean, compact, rollback
from hudiformat.cli.slices import slices
from hudiformat.cli.stats import stats
from hudiformat.cli.timeline import timeline
from hudiformat.cli.verify import verify
from hudiformat.cli.write import write
from hudiformat.errors import HudiFormatError

UNREADABLE = 2
INTERRUPTED = 130
CLOSED_PIPE = 141
"""What a shell reports of a program that a closed pipe, or Ctrl-C above, has ended."""
_EPILOG = """\b
Exit codes:
  0  fine
  1  findings: damage that was found, passed over or lost
  2  wrong usage, or a file that cannot be read
"""


@click.group(epilog=_EPILOG, no_args_is_help=False)
@click.version_option(hudiformat.__version__, prog_name="hudiformat")
def app() -> None:
    """Look into Apache Hudi's log files, sound ones and damaged ones, and into its tables.

    With --json every command prints JSON Lines: one object per block, record, finding or instant, as soon as it is
    known; salvage, whose result is known at the end, prints one object.  There, binary values are hex, decimals, dates
    and timestamps text, and numbers that are none "NaN", "Infinity" and "-Infinity".
    """


for command in (blocks, records, read, timeline, slices, stats, verify, salvage, plan, write, compact, clean, rollback):
    app.add_command(command)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line with *arguments*, by default the process's, and give back the exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # what a terminal cannot show is no reason to stop
    try:
        return _invoke(sys.argv[1:] if arguments is None else list(arguments))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _let_go_of_stdout()
        return CLOSED_PIPE
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "hudiformat"
        warn(f"{error.format_message().rstrip('.')} (see {path} --help)")
    except HudiFormatError as error:
        warn(str(error))
    except OSError as error:  # of standard output: a full disk
        _let_go_of_stdout()
        warn(f"cannot write: {error.strerror or error}")
    return UNREADABLE


def _invoke(arguments: list[str]) -> int:
    """As ``app.main``, which prints on an interrupt, and takes a TruncatedBlockError, an EOFError, for one."""
    try:
        with app.make_context("hudiformat", arguments) as context:
            code: int = app.invoke(context)
            return code
    except click.exceptions.Exit as done:  # --help and --version
        return done.exit_code


def _let_go_of_stdout() -> None:
    """Have what is left in the buffer go nowhere: Python writes it at exit, and would complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
