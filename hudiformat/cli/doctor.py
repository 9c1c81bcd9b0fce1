"""``hudiformat doctor``: what a report of a bug needs, about this installation and about a table, and no data."""

from __future__ import annotations

import platform
import re
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any

import click

import hudiformat
from hudiformat.cli.printing import print_json, print_line, printable
from hudiformat.cli.source import json_option
from hudiformat.errors import HudiFormatError
from hudiformat.kernels import LOAD_AFTER, VARIABLE, has_numba, jit_setting
from hudiformat.kernels.ahead import find_library
from hudiformat.storage.opening import open_storage
from hudiformat.storage.protocol import Storage
from hudiformat.timeline.config_files import load_table_config
from hudiformat.timeline.table_config import TableConfig
from hudiformat.timeline.timeline import load_timeline

_NAME = re.compile(r"[\w.-]+")
_EXTRA = re.compile(r"""extra\s*==\s*['"]([\w-]+)['"]""")
_OF_USERS = ("spark", "sql", "s3", "fsspec", "hive", "glue", "gcs", "zookeeper", "dynamodb", "azure", "hdfs", "lance",
             "jit", "kernels", "cli")  # fmt: skip
_SECRET = re.compile("password|secret|token|credential|account.key|access.key", re.IGNORECASE)
_SCHEMA = "hoodie.table.create.schema"
_EPILOG = """\b
Examples:
  hudiformat doctor
  hudiformat doctor path/to/table
  hudiformat doctor --json path/to/table > doctor.json
"""


@click.command(epilog=_EPILOG)
@click.argument("table", type=click.Path(), required=False)
@json_option
def doctor(table: str | None, *, as_json: bool) -> int:
    """Print the versions and settings here, and the properties and timeline of a TABLE, for a report of a bug.

    There are no rows in it and no passwords; of columns there are those that a property names.  The exit code is 1 if
    the table cannot be read.
    """
    facts: dict[str, Any] = {**_installation(), **({} if table is None else {"table": _table(table)})}
    if as_json:
        print_json(facts)
    else:
        _print(facts, "")
    return int("error" in facts.get("table", {}))


def _installation() -> dict[str, Any]:
    free_threaded = ", free-threaded" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
    return {
        "hudiformat": hudiformat.__version__,
        "python": f"{platform.python_implementation()} {platform.python_version()}{free_threaded}",
        "platform": platform.platform(),
        "byteorder": sys.byteorder,
        "kernels": _kernels(),
        "packages": dict(_packages()),
    }


def _kernels() -> str:
    """Say whether the compiled kernels of the codec are in use, and which."""
    if jit_setting() == "0":
        return f"not used: {VARIABLE}=0"
    library, reason = find_library()
    if library is not None:
        return "used at once, compiled ahead"
    if not has_numba():
        return f"not used: numba is not installed, or not for this Python, numpy or machine; {reason}"
    when = "at once" if jit_setting() == "1" else f"after {LOAD_AFTER >> 20} MB of records"
    return f"used {when}, compiled by numba; {reason}"


def _packages() -> Iterator[tuple[str, str | None]]:
    """Yield each package that hudiformat or an extra for users needs, with its version; None if it is not there."""
    names: dict[str, None] = {}  # in their order
    for requirement in requires("hudiformat") or ():
        extra, found = _EXTRA.search(requirement), _NAME.match(requirement)
        if found is not None and found[0] != "hudiformat" and (extra is None or extra[1] in _OF_USERS):
            names[found[0]] = None
    for name in names:
        try:
            yield name, version(name)
        except PackageNotFoundError:  # noqa: PERF203 - an extra that is not installed
            yield name, None


def _table(uri: str) -> dict[str, Any]:
    """Describe a table as far as it can be read; an error is a fact, too."""
    try:
        storage = open_storage(uri)
        found: dict[str, Any] = {"storage": type(storage).__name__, "can": _capabilities(storage)}
    except HudiFormatError as error:
        return {"error": str(error)}
    try:
        config = load_table_config(storage)
        found |= {"properties": _properties(config), "timeline": _timeline(storage, config)}
    except HudiFormatError as error:
        found["error"] = str(error)
    return found


def _capabilities(storage: Storage) -> list[str]:
    can = storage.capabilities
    return [name for name in type(can).__dataclass_fields__ if getattr(can, name)]


def _properties(config: TableConfig) -> dict[str, str]:
    """Return the properties, without the values that are nobody's business: columns are only counted."""
    shown = {key: "***" if _SECRET.search(key) else value for key, value in config.properties.items()}
    if config.create_schema is not None:
        shown[_SCHEMA] = f"{len(config.create_schema)} characters"
    return dict(sorted(shown.items()))


def _timeline(storage: Storage, config: TableConfig) -> dict[str, Any]:
    timeline = load_timeline(storage, config)
    counts = Counter(f"{one.action.value} {one.state.name}" for one in timeline.instants)
    return {
        "layout": config.layout_version,
        "first": timeline.instants[0].time if timeline.instants else None,
        "last": timeline.instants[-1].time if timeline.instants else None,
        "instants": dict(sorted(counts.items())),
        "pending": [str(one) for one in timeline.pending],
    }


def _print(facts: Mapping[str, Any], indent: str) -> None:
    for name, value in facts.items():
        if isinstance(value, Mapping):
            print_line(f"{indent}{name}", bold=not indent)
            _print(value, indent + "  ")
        else:
            text = ", ".join(map(str, value)) if isinstance(value, list) else value
            print_line(f"{indent}{name}: {'-' if text in (None, '') else printable(str(text))}")
