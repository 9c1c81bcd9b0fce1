"""The command with its subcommands, and the exit code after an error, an interrupt or a closed pipe."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

import click

import hudiformat
from hudiformat.cli.blocks import blocks
from hudiformat.cli.history import history
from hudiformat.cli.index import index
from hudiformat.cli.maintain import maintain
from hudiformat.cli.output import warn
from hudiformat.cli.plan import plan
from hudiformat.cli.read import read
from hudiformat.cli.records import records
from hudiformat.cli.salvage import salvage
from hudiformat.cli.schema import schema
from hudiformat.cli.services import clean, cluster, compact, restore, rollback, savepoint
from hudiformat.cli.slices import slices
from hudiformat.cli.stats import stats
from hudiformat.cli.timeline import timeline
from hudiformat.cli.verify import verify
from hudiformat.cli.version import version
from hudiformat.cli.write import write
from hudiformat.errors import HudiFormatError

UNREADABLE = 2
INTERRUPTED = 130
CLOSED_PIPE = 141
"""The exit codes that a shell reports for a program that ended by Ctrl-C or by a closed pipe."""
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


for command in (
    *(blocks, records, read, timeline, slices, stats, verify, salvage, plan, write, compact, cluster, clean, rollback),
    *(history, index, maintain, restore, savepoint, schema, version),
):
    app.add_command(command)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line with *arguments*, by default those of the process, and return the exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # characters that a terminal cannot show are escaped
    try:
        return _invoke(sys.argv[1:] if arguments is None else list(arguments))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _discard_stdout()
        return CLOSED_PIPE
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "hudiformat"
        warn(f"{error.format_message().rstrip('.')} (see {path} --help)")
    except HudiFormatError as error:
        warn(str(error))
    except OSError as error:  # from writing to standard output, as on a full disk
        _discard_stdout()
        warn(f"cannot write: {error.strerror or error}")
    return UNREADABLE


def _invoke(arguments: list[str]) -> int:
    """Invoke the command.

    ``app.main`` would print on an interrupt, and treat a TruncatedBlockError, which is an EOFError, as an interrupt.
    """
    try:
        with app.make_context("hudiformat", arguments) as context:
            code: int = app.invoke(context)
            return code
    except click.exceptions.Exit as exit_:  # --help and --version
        return exit_.exit_code


def _discard_stdout() -> None:
    """Discard the rest of the output buffer, which Python would write at exit, with an error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
