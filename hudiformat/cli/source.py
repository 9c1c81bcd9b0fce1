"""The arguments and options that several commands have: the log file, JSON output, ``KEY=VALUE`` and column names."""

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
    """Open the log file at the path *file*; each block is read when it is needed.

    Raises:
        StorageError: there is no such file, it is not a regular file, or it cannot be read.
    """
    path = Path(file)
    if path.is_dir():
        raise StorageError(f"{file} is a folder: expected a log file; whole tables are not taken here", path=file)
    if path.exists() and not path.is_file():
        raise StorageError(f"{file} is a pipe or device: expected a log file, which can be mapped", path=file)
    return LogReader(file)


def key_and_value(option: str) -> tuple[str, str]:
    """Split an option ``KEY=VALUE`` into its two parts.

    Raises:
        UsageError: there is no ``=``.
    """
    key, separator, value = option.partition("=")
    if not separator:
        raise click.UsageError(f"-o {option}: expected KEY=VALUE")
    return key, value


def split(_context: click.Context, _parameter: click.Parameter, value: str | None) -> list[str] | None:
    """Return the distinct names in the text of an option, or None without the option; a callback for click."""
    return None if value is None else list(dict.fromkeys(value.split(",")))
