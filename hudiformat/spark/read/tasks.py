"""Which pieces of a query a task reads: many small ones together and a large one alone, as Spark packs files."""

from __future__ import annotations

from collections.abc import Sequence

from hudiformat.spark.read.pieces import Piece

_LARGEST_TASK, _OPEN_COST = 128 * 1024 * 1024, 4 * 1024 * 1024
"""Bytes: the defaults of spark.sql.files.maxPartitionBytes and spark.sql.files.openCostInBytes."""
UNKNOWN_TASKS = 32
"""Tasks of a query that are planned where nobody can say how many run at a time, as in Spark's data sources."""


def share_out(found: Sequence[Piece], tasks: int) -> list[list[Piece]]:
    """Distribute the pieces over about *tasks* tasks, or over more if a task would read more than 128 MiB.

    Each piece costs its bytes and 4 MiB more, the largest come first, and a piece that does not fit begins a new task.
    With two tasks, 500 pieces of 10 KB cost 2,005 MB in all: a task may have 128 MiB, which is 32 pieces.

    Source: org.apache.spark.sql.execution.datasources.FilePartition.
    """
    total = sum(piece.size + _OPEN_COST for piece in found)
    most = min(_LARGEST_TASK, max(_OPEN_COST, total // max(tasks, 1)))
    result: list[list[Piece]] = []
    taken = most
    for piece in sorted(found, key=lambda piece: -piece.size):
        if taken + piece.size > most or not result:
            result.append([])
            taken = 0
        result[-1].append(piece)
        taken += piece.size + _OPEN_COST
    return result
