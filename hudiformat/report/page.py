"""The page of a report: one HTML file that needs no other file, and is not allowed to load any.

All texts from the table are in the page as JSON only, in which no tag can begin or end; the script of the page inserts
them as text.  The content security policy of the page allows only its own script and style, by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import resources
from pathlib import Path
from typing import Any

from hudiformat.errors import StorageError
from hudiformat.progress import notebook_bar
from hudiformat.report.facts import TableFacts
from hudiformat.report.gathering import gather
from hudiformat.storage.local import LocalStorage
from hudiformat.table.state import TableContext

_COMMON = ("format.js", "elements.js", "cursor.js", "lists.js", "curves.js", "charts.js", "theme.js")
_UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")
"""Characters that are escaped in JSON; lone surrogates, which file names may contain, cannot be encoded in UTF-8."""
_PLACE = re.compile(r"\{\{(\w+)\}\}")


def page_of(facts: TableFacts) -> str:
    """Return the HTML of the page, which has to be encoded in UTF-8."""
    return fill_page("report.html", ("treemap.js", "sections.js", "start.js"), facts.as_json())


def fill_page(main: str, scripts: Sequence[str], facts: Mapping[str, object]) -> str:
    """Return the HTML of a page: the sections of the file *main*, the style, the *scripts*, and their *facts*."""
    style, script = _asset("page.css"), _script((*_COMMON, *scripts))
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )
    parts = {"policy": policy, "style": style, "script": script, "main": _asset(main), "data": embed_json(facts)}
    return _PLACE.sub(lambda place: parts[place[1]], _asset("frame.html"))


def embed_json(value: Mapping[str, object]) -> str:
    """Format *value* as JSON for a ``script`` element: it contains no tag, entity or line separator of JavaScript."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


@cache
def _script(names: tuple[str, ...]) -> str:
    parts = "\n".join(_asset(name) for name in names)
    return f'(() => {{\n"use strict";\n{parts}\n}})();\n'


@cache
def _asset(name: str) -> str:
    return (resources.files("hudiformat.report") / "page" / name).read_text("utf-8")


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


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
    facts = gather(context, verify=verify, bar=partial(notebook_bar, "verifying"))
    if path is not None:
        write_page(page_of(facts), path)
    return report_of(facts, path)


def report_of(facts: TableFacts, path: str | os.PathLike[str] | None) -> TableReport:
    """Return *facts* as the public report."""
    first = facts.as_json()["advice"][0]
    return TableReport(first["headline"], first["command"], facts.as_json(), None if path is None else os.fspath(path))


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
