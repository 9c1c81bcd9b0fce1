"""What commands on log files share: the file that they open, and the option for JSON."""

from __future__ import annotations

from pathlib import Path

import click

from hudiformat.errors import StorageError
from hudiformat.logfile import LogReader

file_argument = click.argument("file", type=click.Path())
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON Lines, one object per line, instead of a table."
)


def open_log(file: str) -> LogReader:
    """The log file at the path *file*; its blocks are read when they are asked for.

    Raises:
        StorageError: there is no such file, it is none, or it cannot be read.
    """
    path = Path(file)
    if path.is_dir():
        raise StorageError(f"{file} is a folder: expected a log file; whole tables are not taken here", path=file)
    if path.exists() and not path.is_file():
        raise StorageError(f"{file} is a pipe or device: expected a log file, which can be mapped", path=file)
    return LogReader(file)


def key_and_value(option: str) -> tuple[str, str]:
    """The two parts of an option that was given as ``KEY=VALUE``; a UsageError for anything else."""
    key, separator, value = option.partition("=")
    if not separator:
        raise click.UsageError(f"-o {option}: expected KEY=VALUE")
    return key, value


def split(_context: click.Context, _parameter: click.Parameter, value: str | None) -> list[str] | None:
    """The names in an option's text, each once, as click's callback; None where the option is not given."""
    return None if value is None else list(dict.fromkeys(value.split(",")))
