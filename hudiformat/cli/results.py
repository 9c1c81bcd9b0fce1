"""Print what a commit did, and what was found wrong with a log file."""

from __future__ import annotations

from typing import Any

from hudiformat.cli.printing import Column, Table, print_json, print_line
from hudiformat.codec.log.verify import LogFinding
from hudiformat.naming.file_names import base_name
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.write.commit.transaction import Commit

_FILES = (Column("partition", 16), Column("file", 76), Column("records", 9, right=True), Column("size", 12, right=True))


def print_commit(commit: Commit, *, as_json: bool) -> None:
    """Print a commit and the files that it wrote."""
    if as_json:
        instant = {"instant": commit.instant, "action": commit.action}
        counts = {"writes": commit.num_writes, "deletes": commit.num_deletes}
        print_json({**instant, **counts, "files": [_as_json(stat) for stat in commit.stats]})
        return
    print_line(f"{commit.instant} {commit.action}: {commit.num_writes} written, {commit.num_deletes} deleted")
    table = Table(*_FILES)
    for stat in commit.stats:
        name = base_name(stat.path or "")
        table.row(stat.partition_path, name, stat.num_writes, stat.file_size_in_bytes)


def _as_json(stat: WriteStat) -> dict[str, Any]:
    return {"path": stat.path, "records": stat.num_writes, "size": stat.file_size_in_bytes}


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
