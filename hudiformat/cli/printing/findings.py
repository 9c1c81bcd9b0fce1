"""Print the findings of a log file, for ``verify`` and ``salvage``."""

from __future__ import annotations

from typing import Any

from hudiformat.cli.printing.output import Column, Table
from hudiformat.codec.log.verify import LogFinding

_COLUMNS = (
    Column("kind", 13),
    Column("offset", 12, right=True),
    Column("length", 11, right=True),
    Column("type", 12),
    Column("instants", 17),
    Column("message"),
)


class FindingTable:
    """A table of findings, whose heading is printed with the first finding."""

    def __init__(self) -> None:
        self._table: Table | None = None

    def row(self, finding: LogFinding) -> None:
        """Print a finding."""
        self._table = self._table or Table(*_COLUMNS)
        kind = finding.type.name if finding.type is not None else None
        instants = ",".join(finding.instants) or None
        self._table.row(finding.kind.value, finding.offset, finding.length, kind, instants, finding.message)


def finding_as_json(finding: LogFinding) -> dict[str, Any]:
    """Return a finding as a JSON object."""
    return {
        "kind": finding.kind.name,
        "offset": finding.offset,
        "length": finding.length,
        "type": finding.type.name if finding.type is not None else None,
        "instants": list(finding.instants),
        "message": finding.message,
    }
