"""What a commit did, file by file."""

from __future__ import annotations

from typing import Any

from hudiformat.cli.output import Column, Table, say, say_json
from hudiformat.naming import base_name
from hudiformat.timeline import WriteStat
from hudiformat.transaction import Commit

_FILES = (Column("partition", 16), Column("file", 76), Column("records", 9, right=True), Column("size", 12, right=True))


def say_commit(commit: Commit, *, as_json: bool) -> None:
    """Print a commit and the files that it made."""
    if as_json:
        said = {"instant": commit.instant, "action": commit.action}
        counts = {"writes": commit.num_writes, "deletes": commit.num_deletes}
        say_json({**said, **counts, "files": [_described(stat) for stat in commit.stats]})
        return
    say(f"{commit.instant} {commit.action}: {commit.num_writes} written, {commit.num_deletes} deleted")
    printed = Table(*_FILES)
    for stat in commit.stats:
        name = base_name(stat.path or "")
        printed.row(stat.partition_path, name, stat.num_writes, stat.file_size_in_bytes)


def _described(stat: WriteStat) -> dict[str, Any]:
    return {"path": stat.path, "records": stat.num_writes, "size": stat.file_size_in_bytes}
