"""Arguments and options of several commands: the log file, JSON output, ``KEY=VALUE`` and column names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click
import pyarrow as pa

from hudiformat.cli.printing import WIDE
from hudiformat.codec.log.reader import LogReader
from hudiformat.errors import StorageError

_Command = TypeVar("_Command", bound=Callable[..., Any])
_TYPES = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")

file_argument = click.argument("file", type=click.Path())


def json_option(command: _Command) -> _Command:
    """Add the options --json and --wide, which set how a command prints."""
    wide = click.option(
        "--wide", is_flag=True, expose_value=False, callback=_note_wide, help="Print whole values, wherever lines end."
    )
    as_json = click.option(
        "--json", "as_json", is_flag=True, help="Print JSON Lines, one object per line, instead of a table."
    )
    return as_json(wide(command))


def _note_wide(context: click.Context, _parameter: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's
    context.meta[WIDE] = value


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


def key_and_value(option: str, *, of: str = "-o") -> tuple[str, str]:
    """Split a value ``KEY=VALUE`` of the option *of* into its two parts.

    Raises:
        UsageError: there is no ``=``.
    """
    key, separator, value = option.partition("=")
    if not separator:
        raise click.UsageError(f"{of} {option}: expected KEY=VALUE")
    return key, value


def refuse_options(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    """Return the file that an option names, and refuse one of Hudi's options in its place; a callback for click.

    With other commands -o is for options, so that a page would be written to a file with the name of one.

    Raises:
        BadParameter: the value is no file.
    """
    if value is not None and value.startswith(("hoodie.", "hudiformat.")) and "=" in value:
        raise click.BadParameter(f"expected a file, found an option; write --option {value}")
    return value


def split(_context: click.Context, _parameter: click.Parameter, value: str | None) -> list[str] | None:
    """Return the distinct names in the text of an option, or None without the option; a callback for click."""
    return None if value is None else list(dict.fromkeys(value.split(",")))


def pairs(option: str, texts: Iterable[str]) -> dict[str, str]:
    """Split each of *texts*, values ``NAME=VALUE`` of an option, into its two parts.

    Raises:
        UsageError: a text does not have two parts.
    """
    found = [text.partition("=") for text in texts]
    for name, separator, value in found:
        if not (name and separator and value):
            raise click.UsageError(f"{option} {name}{separator}{value}: expected two parts with = between them")
    return {name: value for name, _, value in found}


def column_types(option: str, texts: Iterable[str]) -> dict[str, pa.DataType]:
    """Return the types of columns that *texts*, values ``NAME=TYPE`` of an option, give.

    Raises:
        UsageError: there is no such type.
    """
    return {name: _type(word.strip().lower()) for name, word in pairs(option, texts).items()}


def _type(word: str) -> pa.DataType:
    if found := _DECIMAL.fullmatch(word):
        try:
            return pa.decimal128(int(found[1]), int(found[2]))
        except ValueError as error:
            raise click.UsageError(f"{word}: {error}") from error
    if word not in _TYPES:
        raise click.UsageError(f"expected a type of {', '.join(_TYPES)} or decimal(P,S), found {word!r}")
    return _TYPES[word]
