"""Making a report of a table, and writing it to a file."""

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
    """A report about a table as it was at one moment.

    ``headline`` says what to do next, ``command`` how, empty where there is nothing to do.  ``facts`` are the values
    that the page shows, as JSON values; sizes in them are bytes.  ``path`` is where the page was written, if it was.

    Source: spec/services.md, "Reports".
    """

    headline: str
    command: str
    facts: Mapping[str, Any] = field(hash=False, repr=False)
    path: str | None = None


def report_table(context: TableContext, path: str | os.PathLike[str] | None = None, *, verify: bool) -> TableReport:
    """A report about a table, written to the local file *path* if there is one.

    Raises:
        StorageError: the file cannot be written, or the table cannot be listed.
    """
    facts = gather(context, verify=verify)
    if path is not None:
        write_page(page_of(facts), path)
    return report_of(facts, path)


def report_of(facts: TableFacts, path: str | os.PathLike[str] | None) -> TableReport:
    """*facts* as the value that users get."""
    first = facts.advice[0]
    return TableReport(first.headline, first.command, facts.as_json(), None if path is None else os.fspath(path))


def write_page(page: str, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
    """Write the HTML of a page to a local file, which is there complete or not at all.

    Raises:
        StorageError: it cannot be written; or it exists, without *overwrite*.
    """
    target = Path(path)
    if target.is_dir():
        raise StorageError(f"{target} is a folder: expected the name of a file", path=str(target))
    if not target.parent.is_dir():
        raise StorageError(f"{target}: there is no folder {target.parent}", path=str(target))
    LocalStorage(target.parent).create(target.name, page.encode(), overwrite=overwrite, sync=False)
