"""The command with its subcommands, and the exit code after an error, an interrupt or a closed pipe."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click
from click.shell_completion import shell_complete

import hudiformat
from hudiformat.cli.printing import warn
from hudiformat.errors import HudiFormatError

UNREADABLE = 2
INTERRUPTED = 130
CLOSED_PIPE = 141
"""The exit codes that a shell reports for a program that ended by Ctrl-C or by a closed pipe."""
_COMPLETE = "_HUDIFORMAT_COMPLETE"
"""The variable by which a shell asks for completions: eval "$(_HUDIFORMAT_COMPLETE=bash_source hudiformat)"."""

_EPILOG = """\b
Exit codes:
  0  fine
  1  findings: damage that was found, passed over or lost
  2  wrong usage, or a file that cannot be read
"""


_COMMANDS = {
    "adopt": ("create", "Make a table of Parquet files that are there."),
    "advise": ("sizing.advise", "Say what to change about a table, and what comes of it."),
    "blocks": ("log.blocks", "List the blocks of a log file."),
    "clean": ("services", "Delete files that are no longer kept."),
    "cluster": ("services", "Rewrite small files into larger, sorted ones."),
    "compact": ("services", "Merge log files into base files."),
    "create": ("create", "Make a table."),
    "diff": ("timeline.diff", "Show the rows and files that two moments of a table differ in."),
    "doctor": ("doctor", "Print the versions and settings that a report of a bug needs."),
    "history": ("timeline.timeline", "List the commits of a table, and what each did."),
    "index": ("index", "Show, build or drop indexes of a table."),
    "maintain": ("maintain", "Run all services that are due, once or regularly."),
    "metadata": ("table.metadata", "Look into the metadata table of a table."),
    "plan": ("sizing.plan", "Say where new rows would go, and why."),
    "read": ("query.read", "Print the rows of a table, or write them to a file."),
    "records": ("log.records", "Print the records and deletes of a log file."),
    "repair": ("repair", "Repair a table: a plan first, and on request its doing."),
    "report": ("report", "Write a page about a table: its layout, timeline, log blocks, what to do next."),
    "restore": ("services", "Go back to a commit."),
    "rollback": ("services", "Take the newest write out of a table again."),
    "salvage": ("log.salvage", "Copy what is intact of a log file to a new one."),
    "savepoint": ("services", "Keep the files of a commit, so that the table can be restored to it."),
    "schema": ("schema", "Show or change the columns of a table."),
    "set": ("table.properties", "Set properties of a table."),
    "show": ("timeline.show", "Show the plan and the metadata of an instant."),
    "simulate": ("sizing.simulate", "Play a workload forward, and say what files it leaves."),
    "slices": ("slices", "List the file slices of a table."),
    "sql": ("query.sql", "Run a query in SQL over tables, or a statement that changes one."),
    "stats": ("stats", "Add up the files of a table."),
    "store": ("store", "Say what a storage can do for tables."),
    "sync": ("sync", "Tell a catalog, such as a Hive Metastore, of a table."),
    "timeline": ("timeline.timeline", "List what happened to a table."),
    "unschedule": ("timeline.unschedule", "Take a planned compaction, or a file group of it, off the timeline."),
    "unset": ("table.properties", "Take properties of a table out."),
    "verify": ("verify", "Say what is wrong with a log file or a table."),
    "version": ("version", "Show or change the version of a table."),
    "write": ("write", "Write the rows of a file into a table."),
}
"""Each command with its module, which is imported when the command is run, and its line in the help."""


_FUNCTIONS = {"set": "set_"}
"""The functions of commands that have the names of Python's own."""


class _Commands(click.Group):
    """The group of commands; the help imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click passes it
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(f"hudiformat.cli.{_COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, _FUNCTIONS.get(cmd_name, cmd_name))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click passes it
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


@click.group(epilog=_EPILOG, cls=_Commands, no_args_is_help=False)
@click.version_option(hudiformat.__version__, prog_name="hudiformat")
def app() -> None:
    """Look into Apache Hudi's log files, sound ones and damaged ones, and into its tables.

    With --json every command prints JSON Lines: one object per block, record, finding or instant, as soon as it is
    known; salvage, whose result is known at the end, prints one object.  There, binary values are hex, decimals, dates
    and timestamps text, and numbers that are none "NaN", "Infinity" and "-Infinity".
    """


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line with *arguments*, by default those of the process, and return the exit code."""
    if asked := os.environ.get(_COMPLETE):
        return shell_complete(app, {}, "hudiformat", _COMPLETE, asked)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # escapes characters that a terminal cannot show
    try:
        given = sys.argv[1:] if arguments is None else list(arguments)
        return _invoke(given or ["--help"])
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
    except UnicodeEncodeError as error:  # an argument that is not text, or a file name that the locale cannot encode
        warn(f"{error}; a locale of UTF-8, or PYTHONUTF8=1, takes all names")
    except OSError as error:  # a write failed: without a file name, to standard output, as on a full disk
        if error.filename is None:
            _discard_stdout()
        where = "" if error.filename is None else f" {error.filename}"
        warn(f"cannot write{where}: {error.strerror or error}")
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
