"""The table of changes in spec/schema-evolution.md, from Hudi's answers: ``python -m tools.schema_page`` writes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "spec" / "schema-evolution.md"
ANSWERS = ROOT / "tests" / "schema_answers.json"
_BEGIN, _END = "<!-- made by tools/schema_page.py -->\n", "<!-- end -->\n"
BETTER = {
    "columns may be dropped: a missing field of an array's structs": "accepted",
    "validated: a missing field of an array's structs": "accepted",
    "validated, columns may be dropped: a missing field of an array's structs": "accepted",
}
"""What hudiformat does where Hudi fails on a bug of its own: on copy-on-write tables."""
REFUSED = {
    "l: int64 to timestamp[us, tz=UTC]": "refused: Hudi reads the old values as seconds, and takes them for"
    " microseconds when it rewrites their files",
}
"""What hudiformat does not do, as what Hudi does changes values."""


def table() -> str:
    """The table of the page: what Hudi does with each change, and hudiformat."""
    lines = ["| change | Hudi 1.2.0 | hudiformat |", "|---|---|---|"]
    for change, found in json.loads(ANSWERS.read_text()).items():
        theirs = "; ".join(f"{_kinds(one['kinds']) if len(found) > 1 else ''}{_outcome(one)}" for one in found)
        lines.append(f"| {change} | {theirs} | {(BETTER | REFUSED).get(change, 'the same')} |")
    return "\n".join(lines) + "\n"


def _kinds(kinds: list[str]) -> str:
    return f"{', '.join(kinds)}: "


def _outcome(answer: Mapping[str, Any]) -> str:
    if problem := answer.get("unreadable"):
        return f"accepted, cannot be read ({problem.split(':')[0].rpartition('.')[2]})"
    if problem := answer.get("refused"):
        return f"refused ({problem.removeprefix(': ').split(':')[0].rpartition('.')[2]})"
    columns = ", ".join(f"`{one}`" for one in answer.get("columns", ()))
    return f"accepted{': ' if columns else ''}{columns}"


def with_table(page: str) -> str:
    """The page with the table as it is by now."""
    before, _, rest = page.partition(_BEGIN)
    return f"{before}{_BEGIN}{table()}{_END}{rest.partition(_END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text()))
