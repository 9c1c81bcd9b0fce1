"""Print a commit with the files that it wrote."""

from __future__ import annotations

from typing import Any

from hudiformat.cli.printing.output import Column, Table, print_json, print_line
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
