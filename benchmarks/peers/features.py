"""The features that are compared, with what each has to give, and the rows of all tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

ROWS, CHANGED = 100_000, 1_000
PARTITIONS = 10
SCHEMA = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("p", pa.string()), ("v", pa.int64()), ("w", pa.int64())])


def rows(start: int = 0, count: int = ROWS, *, ts: int = 1, v: int = 0) -> pa.Table:
    """Rows whose ids begin at *start*; their value is *v*, and every tenth row is in the same partition."""
    numbers = range(start, start + count)
    columns = {
        "id": [f"{n:09d}" for n in numbers],
        "ts": [ts] * count,
        "p": [str(n % PARTITIONS) for n in numbers],
        "v": [v] * count,
        "w": [5] * count,
    }
    return pa.table(columns, schema=SCHEMA)


@dataclass(frozen=True)
class Feature:
    """Something to do to a table of ``rows()``, by its name in the peers' classes, and what has to come of it."""

    name: str
    title: str
    expected: Any


ALL = ROWS
FEATURES = (
    Feature("create", "create, and append rows", ALL),
    Feature("read", "read all rows", ALL),
    Feature("upsert", "upsert by key: half new, half there", (ALL + CHANGED // 2, CHANGED)),
    Feature("delete", "delete where", ALL - ALL // PARTITIONS),
    Feature("update", "update where", ALL // PARTITIONS),
    Feature("partial", "update some columns of some keys", (CHANGED, CHANGED)),
    Feature("merge", "merge with conditions: update, insert, delete", (ALL, CHANGED // 2)),
    Feature("overwrite", "overwrite one partition", ALL - ALL // PARTITIONS + 1),
    Feature("travel", "time travel", ALL),
    Feature("incremental", "rows written since a commit, appends", CHANGED),
    Feature("changed", "rows written since a commit, updates too", CHANGED),
    Feature("cdc", "changes with the row before and after", CHANGED),
    Feature("add_column", "add a column", True),
    Feature("rename_column", "rename a column", True),
    Feature("widen_column", "widen a column's type", "int64"),
    Feature("compact", "rewrite small files into larger ones", True),
    Feature("zorder", "sort files along a z-order", True),
    Feature("clean", "delete files that are no longer needed", True),
    Feature("restore", "go back to an earlier commit", ALL),
    Feature("branch", "branches or tags", True),
    Feature("constraint", "constraints on values", True),
    Feature("adopt", "take over Parquet files that are there", ALL),
    Feature("stream", "stream batches in bounded memory", ALL),
    Feature("polars", "query in Polars", (1, 0)),
    Feature("lazy", "lazy scan of Polars, filters pushed down", ALL // PARTITIONS),
    Feature("duckdb", "query in DuckDB", ALL // PARTITIONS),
    Feature("writers", "two writers at once, both succeed", ALL + 2 * CHANGED),
    Feature("verify", "report damaged or missing files", True),
    Feature("simulate", "say what files the next 1,000 commits will leave", True),
    Feature("log_merge", "merge-on-read: write updates to logs, read merged", (ALL, CHANGED)),
)


class Peer:
    """A library: a method per feature, which is missing where the library does not have it.

    ``prepare`` makes the table that the methods get; ``create`` and ``adopt`` get an empty folder.
    """

    name = ""
    package = ""

    def prepare(self, folder: Path, feature: str) -> Any:
        """A table of ``rows()`` in *folder*."""
        raise NotImplementedError


Action = Callable[[Any], Any]


def small(frame: Any) -> tuple[int, int]:
    """How many groups of v there are, and the one value: what a query in Polars gives."""
    values = frame["v"].unique().to_list()
    return len(values), values[0]
