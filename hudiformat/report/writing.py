"""Make a report about a table, and write it to a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hudiformat.errors import StorageError
from hudiformat.report.facts import TableFacts
from hudiformat.report.gathering import gather
from hudiformat.report.page import page_of
from hudiformat.storage.local import LocalStorage
from hudiformat.table.state import TableContext


@dataclass(frozen=True, slots=True)
class TableReport:
    """A report about the state of a table at one moment.

    ``headline`` says what to do next, and ``command`` is the command for it, empty if there is nothing to do.
    ``facts`` are the values that the page shows, as JSON values; sizes in them are bytes.  ``path`` is the file of the
    page, or None if no page was written.

    Source: spec/services.md, "Reports".
    """

    headline: str
    command: str
    facts: Mapping[str, Any] = field(hash=False, repr=False)
    path: str | None = None


def report_table(context: TableContext, path: str | os.PathLike[str] | None = None, *, verify: bool) -> TableReport:
    """Make a report about a table, and write its page to the local file *path*, if one is given.

    Raises:
        StorageError: the file cannot be written, or the table cannot be listed.
    """
    facts = gather(context, verify=verify)
    if path is not None:
        write_page(page_of(facts), path)
    return report_of(facts, path)


def report_of(facts: TableFacts, path: str | os.PathLike[str] | None) -> TableReport:
    """Return *facts* as the public report."""
    first = facts.advice[0]
    return TableReport(first.headline, first.command, facts.as_json(), None if path is None else os.fspath(path))


def write_page(page: str, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
    """Write the HTML of a page atomically to a local file.

    Raises:
        StorageError: the file cannot be written, or it exists and *overwrite* is false.
    """
    target = Path(path)
    if target.is_dir():
        raise StorageError(f"{target} is a folder: expected the name of a file", path=str(target))
    if not target.parent.is_dir():
        raise StorageError(f"{target}: there is no folder {target.parent}", path=str(target))
    LocalStorage(target.parent).create(target.name, page.encode(), overwrite=overwrite, sync=False)
