"""The page of a report: one HTML file that needs nothing else, and may load nothing else.

What the table says is in the page as JSON alone, in which no tag can end or begin; the script of the page puts it in
place as text.  The page's policy lets only its own script and style run, by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources

from hudiformat.report.facts import TableFacts

_SCRIPTS = ("format.js", "elements.js", "cursor.js", "lists.js", "treemap.js", "charts.js", "sections.js", "start.js")
_UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")
"""Characters that are escaped in JSON: lone surrogates, which a name on storage may have, are no text of UTF-8."""
_PLACE = re.compile(r"\{\{(\w+)\}\}")


def page_of(facts: TableFacts) -> str:
    """The HTML of the page, in UTF-8 once it is encoded."""
    style, script = _asset("page.css"), _script()
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )
    parts = {"policy": policy, "style": style, "script": script, "data": embedded(facts.as_json())}
    return _PLACE.sub(lambda place: parts[place[1]], _asset("page.html"))


def embedded(value: Mapping[str, object]) -> str:
    """*value* as JSON that can stand in a ``script`` element: no tag, entity or line end of JavaScript's is in it."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


@cache
def _script() -> str:
    parts = "\n".join(_asset(name) for name in _SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}\n}})();\n'


@cache
def _asset(name: str) -> str:
    return (resources.files("hudiformat.report") / "page" / name).read_text("utf-8")


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
